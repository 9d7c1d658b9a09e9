"""The oracle: brute-force recognisers that say what a mask must be.

Written from `docs/lexing.md` alone, slow and meant to be obviously right. It shares no code with the engine; the only
things imported from `derivable` are the dataclasses of the grammar IR (`derivable.expr`, `derivable.grammar`).

    notation      grammars in short, for test data (regular expressions through the standard library's parser)
    regular       one terminal against text, in the order of `re` and as a full regular language; `re` itself for ASCII
    terminals     sequences of terminals: Earley over the trimmed rules
    indentation   what lexemes lead to where blocks are told by columns
    recognizers   `Recognizer(grammar).member(text)` for each lexing policy
    embedded      languages inside languages
    recursive     grammars that hold themselves
    prefixes      `PrefixOracle`: every member up to a length, hence every prefix, hence every mask
"""
