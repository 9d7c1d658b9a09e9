"""The compiled index outside of the kernel: saving it, and filling it ahead of time."""
