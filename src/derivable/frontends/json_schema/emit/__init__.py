"""Cases to rules and terminals."""
