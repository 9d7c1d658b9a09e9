"""Python whose names exist: `Grammar.builtin("python", names=...)`."""
