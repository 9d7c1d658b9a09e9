"""What each keyword means."""
