"""What every room uses and no user imports: checks of arguments, files, what a process remembers, the collector."""
