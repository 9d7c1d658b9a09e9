"""Only the tokenizer's own tokenization: behind which tokens a text has it, and matchers that allow these."""
