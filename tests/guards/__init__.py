"""Hostile input: what it may cost, how it is refused, and a fuzzer over everything that reads it."""
