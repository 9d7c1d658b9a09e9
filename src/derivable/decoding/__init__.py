"""Decoding policies: what to do with a mask once there is a model.

`generate` is the front, `decoder` the loop without the model, `language_model` what it asks of one (`models` and
`llama_cpp` adapt some). `sampling` chooses, `speculator` and `drafters` guess, `healing` mends the end of a prompt,
`targets` says what a text is to be, `trace` what happened.
"""
