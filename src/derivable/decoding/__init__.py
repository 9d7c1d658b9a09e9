"""Decoding policies: what to do with a mask once there is a model.

`generate` is the plain loop (one masked step per token); `models` adapts language models to it.
"""
