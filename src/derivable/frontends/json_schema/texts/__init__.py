"""The texts of strings and numbers, which know of no schema."""
