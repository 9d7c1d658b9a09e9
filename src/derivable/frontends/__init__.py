"""Front ends: each turns one way of writing a language down into a `derivable.rules.Rules`.

`regex`, `choices`, `gbnf` and `lark` need nothing but the grammar's own text; none of them touches the kernel.
`build` holds the few constructors that keep the expressions they make small.
"""
