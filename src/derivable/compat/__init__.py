"""Other libraries' interfaces on this engine, for code that was written for them."""
