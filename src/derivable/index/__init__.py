"""The compiled index seen from outside of the kernel: what it holds, and which of its masks were slow."""
