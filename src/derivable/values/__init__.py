"""From texts to values: of a whole text, and of one that is still being written.

`reader` makes the value of a text that is whole, `progress` follows a JSON text that is not, and `partial` makes the
value of what there is.
"""
