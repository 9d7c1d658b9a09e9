"""Hosts: one thin adapter per library that runs models. Each module imports its host when it is imported itself.

- `derivable.integrations.transformers`: `DerivableLogitsProcessor` for `model.generate`.
- `derivable.integrations.transformers_decoding`: a decoding loop for it that drafts, and a candidate generator.
- `derivable.integrations.transformers_batching`: a grammar for each request of its continuous batching.
- `derivable.integrations.sglang`: a grammar backend, by an entry point.
- `derivable.integrations.llama_cpp`, `mlx`, `tensorrt_llm`: logits processors.
"""
