"""Writes src/derivable/frontends/code_points.txt: which characters have which property of Unicode.

    pip install regex fonttools && python tools/code_points.py

The values are those that the package `regex` has, the names of scripts those of `fontTools`; the version of Unicode is
theirs (`fontTools.unicodedata` names it). The names of properties are those of ECMA-262, tables 65 to 67.
"""

from __future__ import annotations

import re
from pathlib import Path

import regex
from fontTools.unicodedata import Scripts

TARGET = Path(__file__).parents[1] / "src/derivable/frontends/code_points.txt"

CATEGORIES = """
L Letter|LC Cased_Letter|Lu Uppercase_Letter|Ll Lowercase_Letter|Lt Titlecase_Letter|Lm Modifier_Letter|Lo Other_Letter
M Mark Combining_Mark|Mn Nonspacing_Mark|Mc Spacing_Mark|Me Enclosing_Mark|N Number|Nd Decimal_Number digit
Nl Letter_Number|No Other_Number|P Punctuation punct|Pc Connector_Punctuation|Pd Dash_Punctuation|Ps Open_Punctuation
Pe Close_Punctuation|Pi Initial_Punctuation|Pf Final_Punctuation|Po Other_Punctuation|S Symbol|Sm Math_Symbol
Sc Currency_Symbol|Sk Modifier_Symbol|So Other_Symbol|Z Separator|Zs Space_Separator|Zl Line_Separator
Zp Paragraph_Separator|C Other|Cc Control cntrl|Cf Format|Co Private_Use|Cn Unassigned
"""
BINARY = """
ASCII_Hex_Digit AHex|Alphabetic Alpha|Bidi_Control Bidi_C|Bidi_Mirrored Bidi_M|Case_Ignorable CI|Cased
Changes_When_Casefolded CWCF|Changes_When_Casemapped CWCM|Changes_When_Lowercased CWL
Changes_When_NFKC_Casefolded CWKCF|Changes_When_Titlecased CWT|Changes_When_Uppercased CWU|Dash
Default_Ignorable_Code_Point DI|Deprecated Dep|Diacritic Dia|Emoji|Emoji_Component EComp|Emoji_Modifier EMod
Emoji_Modifier_Base EBase|Emoji_Presentation EPres|Extended_Pictographic ExtPict|Extender Ext|Grapheme_Base Gr_Base
Grapheme_Extend Gr_Ext|Hex_Digit Hex|IDS_Binary_Operator IDSB|IDS_Trinary_Operator IDST|ID_Continue IDC|ID_Start IDS
Ideographic Ideo|Join_Control Join_C|Logical_Order_Exception LOE|Lowercase Lower|Math|Noncharacter_Code_Point NChar
Pattern_Syntax Pat_Syn|Pattern_White_Space Pat_WS|Quotation_Mark QMark|Radical|Regional_Indicator RI
Sentence_Terminal STerm|Soft_Dotted SD|Terminal_Punctuation Term|Unified_Ideograph UIdeo|Uppercase Upper
Variation_Selector VS|White_Space space|XID_Continue XIDC|XID_Start XIDS
"""
DERIVED = {
    "LC": r"[\p{Lu}\p{Ll}\p{Lt}]",
    # `regex` has no such property. What neither normalization nor case folding changes stays as it is.
    "Changes_When_NFKC_Casefolded": r"[\p{NFKC_QC=N}\p{CWCF}\p{DI}]",
}
MORE_NAMES = {"Copt": ("Qaac",), "Zinh": ("Qaai",)}

EVERY = "".join(chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF)
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def number(value: int) -> str:
    """In base 36, as `int(text, 36)` reads it."""
    text = ""
    while value >= 36:
        value, digit = divmod(value, 36)
        text = DIGITS[digit] + text
    return DIGITS[value] + text


def ranges(source: str) -> str:
    """Of the characters that a class of `regex` holds: how many to pass over, how many to take, and so on.

    Surrogates are passed over as if they were not there.
    """
    out: list[str] = []
    end = 0
    for found in regex.finditer(f"(?:{source})+", EVERY):
        out += [number(found.start() - end), number(found.end() - found.start())]
        end = found.end()
    return " ".join(out)


def rows(text: str) -> list[list[str]]:
    """Names of properties, each with its other names."""
    return [row.split() for row in re.split(r"[|\n]", text.strip())]


def main() -> None:
    """Writes the file."""
    version = re.search(r"Scripts-([\d.]+)\.txt", Path(Scripts.__file__).read_text(encoding="utf-8"))
    assert version
    lines = [
        f"# Unicode {version[1]}, by tools/code_points.py. Data (c) Unicode, Inc.: https://www.unicode.org/license.txt",
        "# kind names: characters to pass over and to take, in turn, in base 36, surrogates left out",
    ]
    for kind, text in (("gc", CATEGORIES), ("is", BINARY)):
        for names in rows(text):
            class_ = DERIVED.get(names[0], rf"\p{{{names[0]}}}")
            lines.append(f"{kind} {' '.join(names)}: {ranges(class_)}")
    for short, long in sorted(Scripts.NAMES.items()):
        names = " ".join(dict.fromkeys((short, long, *MORE_NAMES.get(short, ()))))
        plain, extended = ranges(rf"\p{{sc={long}}}"), ranges(rf"\p{{scx={long}}}")
        if not plain:
            continue
        lines.append(f"{'sc' if plain != extended else 'sc,scx'} {names}: {plain}")
        if plain != extended:
            lines.append(f"scx {names}: {extended}")
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
