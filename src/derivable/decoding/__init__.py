"""Decoding policies: what to do with a mask once there is a model.

`generate` is the front, `stream` what it gives piece by piece, `decoder` the loop without the model, `policy` how it
goes and why it ends, `language_model` what it asks of one (`models` and `llama_cpp` adapt some). `sampling` chooses,
`speculator` and `drafters` guess, `healing` mends the end of a prompt, `targets` says what a text is to be, `trace`
what happened, `choices` how sure the model was, between what `alternatives` finds in the grammar.
"""
