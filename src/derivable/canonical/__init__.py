"""Only the tokenizer's own tokenization: which tokens have a canonical text behind them, and matchers that allow these."""
