"""The front ends behind one name: `Grammar.from_regex`, `Grammar.from_json_schema` and so on.

A grammar is data (`derivable.rules`). `derivable.lowering` turns it into numbered productions for the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .combining import Combining, check_relax
from .limits import Limits
from .rules import MOST_TOKENS, Indentation, Lexing, Rules, SpecialTokens, Terminal
from .support.arguments import instance, integer, items, texts
from .support.caches import remembered, text_of
from .values.reader import Reader

if TYPE_CHECKING:
    from .frontends.javascript_names import JavaScriptNames
    from .frontends.python_names import PythonNames, PythonStyle

__all__ = ["Grammar", "Indentation", "Lexing", "SpecialTokens", "Terminal"]


@dataclass(frozen=True, repr=False)
class Grammar(Combining):
    """Rules, terminals and how text is cut into lexemes. Immutable; made by the `from_*` constructors.

    What it holds are the attributes of `derivable.rules.Rules`.
    """

    # The constructors import their front end when called: nobody pays at import time for one that is not used.

    @staticmethod
    def from_regex(pattern: str, *, flags: int = 0, limits: Limits = Limits()) -> Grammar:  # noqa: B008
        """Text that matches a regular expression in Python's syntax from beginning to end.

        What a group `(?P<name>...)` matched is captured (`Constraint.captures`), unless there is look-around, or a
        reference back to a group. Such references are a meaning of the grammar (docs/names.md).

        Args:
            pattern: as `re.compile` takes it; conditionals are refused.
            flags: `re` flags (`re.I | re.S ...`).
            limits: bounds on its size and nesting.

        Raises:
            GrammarSyntaxError: the pattern cannot be parsed (caret at the place).
            UnsupportedFeatureError: it is not regular, or its references cannot be enforced exactly.
            LimitError: it is longer or deeper than `limits` allows.

        Example:
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b"20", b"24-", b"x", None], eos=[3])
            >>> dv.compile(dv.Grammar.from_regex(r"\\d{4}-\\d\\d"), vocab).matcher().allowed_tokens().tolist()
            [0]
        """
        from .frontends.regex import grammar_from_regex

        instance("limits", limits, Limits, "Limits(...)")
        flags = integer("flags", flags)
        return _remembered(("regex", pattern, flags, limits), lambda: grammar_from_regex(pattern, flags, limits=limits))

    @staticmethod
    def from_choices(choices: Sequence[str], *, limits: Limits = Limits()) -> Grammar:  # noqa: B008
        """Exactly one of the given strings.

        Raises:
            GrammarError: no choices, or one that is not a string.
            LimitError: they are longer together than `limits.max_source`.

        Example:
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b"yes", b"n", b"o", b"maybe", None], eos=[4])
            >>> dv.compile(dv.Grammar.from_choices(["yes", "no"]), vocab).matcher().allowed_tokens().tolist()
            [0, 1]
        """
        from .frontends.choices import grammar_from_choices

        instance("limits", limits, Limits, "Limits(...)")
        return Grammar.of(grammar_from_choices(choices, limits=limits))

    @staticmethod
    def from_gbnf(text: str, *, start: str = "root", limits: Limits = Limits()) -> Grammar:  # noqa: B008
        """A grammar in llama.cpp's GBNF.

        Args:
            text: the grammar.
            start: the start rule.
            limits: bounds on its size and nesting.

        Raises:
            GrammarSyntaxError, GrammarError: with the place.
            LimitError: it is longer or deeper than `limits` allows.

        Example:
            >>> import derivable as dv
            >>> grammar = dv.Grammar.from_gbnf('root ::= "[" [0-9]+ ("," [0-9]+)* "]"')
            >>> vocab = dv.Vocabulary.from_bytes([b"[", b"12", b",3]", b"]", None], eos=[4])
            >>> dv.compile(grammar, vocab).matcher().allowed_tokens().tolist()
            [0]
        """
        from .frontends.gbnf import grammar_from_gbnf

        texts(text=text, start=start)
        instance("limits", limits, Limits, "Limits(...)")
        return _remembered(("gbnf", text, start, limits), lambda: grammar_from_gbnf(text, start, limits=limits))

    @staticmethod
    def from_ebnf(text: str, *, start: str = "root", root: str = "", limits: Limits = Limits()) -> Grammar:  # noqa: B008
        """A grammar in xgrammar's EBNF: GBNF with macros (`TagDispatch`, `Token`, `Regex`, ...) and free new lines.

        Args:
            text: the grammar. `derivable.frontends.ebnf` says how it is read.
            start: the start rule.
            root: the same by xgrammar's name, if it is not empty.
            limits: bounds on its size and nesting.

        Raises:
            GrammarSyntaxError, GrammarError: with the place.
            UnsupportedFeatureError: options of rules.
            LimitError: it is longer or deeper than `limits` allows.

        Example:
            >>> import derivable as dv
            >>> grammar = Grammar.from_ebnf('root ::= Regex("[0-9]+") (unit | "%"){0,1}\\nunit ::= "k" "g"')
            >>> vocab = dv.Vocabulary.from_bytes([b"1", b"k", b"kg", b"%%", None], eos=[4])
            >>> matcher = dv.compile(grammar, vocab).matcher()
            >>> matcher.advance(0)
            >>> matcher.allowed_tokens().tolist()
            [0, 1, 2, 4]
        """
        from .frontends.ebnf import grammar_from_ebnf

        texts(text=text, start=start, root=root)
        first = root or start
        instance("limits", limits, Limits, "Limits(...)")
        return _remembered(("ebnf", text, first, limits), lambda: grammar_from_ebnf(text, first, limits=limits))

    @staticmethod
    def from_lark(
        text: str,
        *,
        start: str = "start",
        lexing: Lexing | None = None,
        dialect: Literal["lark", "llguidance"] | None = None,
        grammars: Mapping[str, Rules | Path | str | dict[str, Any] | bool] | None = None,
        profile: Literal["spec", "practical"] = "spec",
        declared: Mapping[str, Terminal] | None = None,
        indentation: Indentation | None = None,
        import_paths: Sequence[str] = (),
        limits: Limits = Limits(),  # noqa: B008
    ) -> Grammar:
        """A grammar in Lark's language (templates, imports, `%ignore`, priorities, `%declare`, aliases), or in
        llguidance's dialect of it (`%json`, attributes of rules, tokens), which docs/dialects.md describes.

        Args:
            text: the grammar. A model may write what it ignores for ever: `with_max_blanks` bounds that.
            start: the start rule.
            lexing: `longest` (Lark's contextual lexer made a true longest match), `basic` or `scannerless`; by default
                the first, in the dialect the last, which is the only one there.
            dialect: which of the two; by default llguidance's where the text has something that Lark has not.
            grammars: what `@name` means in the dialect: grammars, Lark files, texts in it, or JSON Schemas. In Lark
                itself, grammars or Lark files that `%import derivable.name` imports, besides those that are built in.
            profile: how the JSON of `%json` is written; see `from_json_schema`.
            declared: what the terminals that the grammar only `%declare`s are, such as
                ``{"END": Terminal(Special("<|end|>"))}``.
            import_paths: directories to import rules and languages from, before those that come with Lark.
            limits: bounds on its size and nesting.
            indentation: what Lark leaves to a `postlex` such as its `Indenter`. A grammar that declares `_INDENT` and
                `_DEDENT` and uses `_NEWLINE` or `_NL` needs none: it is read as Lark's `PythonIndenter` reads it.

        Raises:
            GrammarSyntaxError, GrammarError, UnsupportedFeatureError: with the place where known.
            LimitError: it is longer or deeper than `limits` allows.

        Example:
            >>> import derivable as dv
            >>> text = ['start: "let" NAME "=" NAME', "NAME: /[a-z]+/", '%ignore " "']
            >>> grammar = dv.Grammar.from_lark(chr(10).join(text))
            >>> vocab = dv.Vocabulary.from_bytes([b"let", b" x", b" =", b"1", None], eos=[4])
            >>> matcher = dv.compile(grammar, vocab).matcher()
            >>> matcher.advance(0)
            >>> matcher.allowed_tokens().tolist()  # where only a name can stand, `let` is one
            [0, 1]
        """
        from .frontends.dialects import grammar_from_lark

        texts(text=text, start=start, profile=profile)
        instance("grammars", grammars, Mapping | None, "a mapping of names to grammars, or None")
        instance("limits", limits, Limits, "Limits(...)")
        instance("declared", declared, Mapping | None, "a mapping of names to terminals, or None")
        instance("indentation", indentation, Indentation | None, "Indentation(...), or None")
        for path in items("import_paths", import_paths, "a list of folders"):
            instance("import_paths", path, str, "a list of folders, each a str")
        of_lark: dict[str, Any] = {
            "declared": declared,
            "indentation": indentation,
            "import_paths": tuple(import_paths),
        }
        of_dialect: dict[str, Any] = {"grammars": grammars, "schemas": {"profile": profile}}
        return Grammar.of(grammar_from_lark(text, start, lexing, dialect, limits=limits, **of_dialect, **of_lark))

    @staticmethod
    def from_structural_tag(
        tag: Any,
        *,
        profile: Literal["spec", "practical"] = "practical",
        special_tokens: SpecialTokens = "token",
        limits: Limits = Limits(),  # noqa: B008
    ) -> Grammar:
        """Free text in which triggers begin constrained parts: tool calls, reasoning, parallel calls.

        Args:
            tag: xgrammar's form, ``{"type": "structural_tag", "format": {...}}`` or the format alone, or vLLM's and
                SGLang's first one, ``{"structures": [...], "triggers": [...]}``: a `dict`, JSON text, or an object of
                xgrammar's. `derivable.frontends.structural_tag` lists the formats.
            profile: how JSON is written in it; see `from_json_schema`.
            special_tokens: what its texts mean that spell special tokens of the vocabulary, `begin` and `end` above
                all: `token` those tokens, by their ids; `text` the letters; `either` both.
            limits: bounds; tags are untrusted.

        Raises:
            GrammarError: not a structural tag (JSON pointer in the message).
            UnsupportedFeatureError: a format or field that cannot be enforced exactly (`feature`, `pointer`).
            LimitError: a bound was reached.

        Example:
            >>> import derivable as dv
            >>> add = {"begin": "<f=add>", "schema": {"type": "array", "items": {"type": "integer"}}, "end": "</f>"}
            >>> grammar = Grammar.from_structural_tag({"structures": [add], "triggers": ["<f="]})
            >>> vocab = dv.Vocabulary.from_bytes([b"Hello. ", b"<f", b"=", b"add>", b"[1]</f>", b"x", None], eos=[6])
            >>> m = dv.compile(grammar, vocab).matcher()
            >>> m.advance_bytes(b"Hello. <f")  # still free text
            >>> m.allowed_tokens().tolist()
            [0, 1, 2, 3, 4, 5, 6]
            >>> m.advance_bytes(b"=")
            >>> m.allowed_tokens().tolist()
            [3]
        """
        from .frontends.structural_tag import grammar_from_structural_tag

        instance("limits", limits, Limits, "Limits(...)")
        texts(special_tokens=special_tokens, profile=profile)
        key, schemas = ("structural tag", text_of(tag), special_tokens, limits, profile), {"profile": profile}
        return _remembered(
            key, lambda: grammar_from_structural_tag(tag, special_tokens, limits=limits, schemas=schemas)
        )

    structural_tag = from_structural_tag

    @staticmethod
    def from_tools(
        tools: Sequence[Any],
        model: str,
        *,
        tool_choice: Any = "auto",
        parallel: bool = True,
        reasoning: bool | Literal["auto"] = False,
        reasoning_tokens: int | None = None,
        profile: Literal["spec", "practical"] = "practical",
        special_tokens: SpecialTokens = "token",
        limits: Limits = Limits(),  # noqa: B008
        relax: Sequence[str] | Mapping[str, Sequence[str]] = (),
        contents: Mapping[str, Rules | str] | Literal["builtin"] | None = None,
    ) -> Grammar:
        """What a model may write when it may call functions, in the form that it was trained on.

        Args:
            tools: functions, each as OpenAI's JSON (``{"type": "function", "function": {"name", "parameters"}}``), a
                pydantic model, or a function.
            model: whose form: `llama-3.1`, `qwen-3`, `qwen-3-coder`, `deepseek-v3.1`, `harmony`, `kimi-k2`, ...;
                `docs/tools.md` lists the families. `_`, `.` and capitals do not matter.
            tool_choice: as in OpenAI's API: `"auto"`: text, and calls in it; `"required"`: at least one call;
                `"none"`: no call; the name of a tool, or ``{"type": "function", "function": {"name": ...}}``: one call
                of it; ``{"type": "allowed_tools", ...}``.
            parallel: there may be more than one call.
            reasoning: whether the text begins with reasoning: `True`, `False`, or `"auto"` where it may.
            reasoning_tokens: so many tokens a reasoning lies in at most, as `with_max_tokens` counts them.
            profile: how arguments are written; see `from_json_schema`.
            special_tokens: see `with_special_tokens`.
            limits: bounds; schemas are untrusted.
            relax: as in `from_json_schema`, for all tools, or for some by name: ``{"find": ["pattern"]}``. In `relaxed`
                stands ``"find: pattern"``.
            contents: what strings hold, by media type; see `from_json_schema`.

        Raises:
            GrammarError: an unknown model or choice, or something that is no tool.
            UnsupportedFeatureError, LimitError: as `from_json_schema`, with the name of the tool.

        Its texts stand for a `derivable.tools.ToolMessage` (`Generation.value`, `Constraint.read`), and
        `derivable.tools.ToolParser` reads them piece by piece.

        Example:
            >>> import derivable as dv
            >>> def add(a: int, b: int) -> int: ...
            >>> grammar = Grammar.from_tools([add], "qwen-3", tool_choice="required")
            >>> vocab = dv.Vocabulary.from_bytes([b"<tool", b"_call>", b"x", None], eos=[3])
            >>> dv.compile(grammar, vocab).matcher().allowed_tokens().tolist()
            [0]
        """
        from .frontends.tool_reader import ToolReader
        from .frontends.tools import grammar_from_tools

        instance("limits", limits, Limits, "Limits(...)")
        texts(model=model, special_tokens=special_tokens, profile=profile)
        instance("parallel", parallel, bool, "True or False")
        most = None if reasoning_tokens is None else integer("reasoning_tokens", reasoning_tokens, 0, MOST_TOKENS)
        check_relax(relax)
        made = grammar_from_tools(
            *(tools, model, tool_choice, parallel, reasoning, special_tokens),
            reasoning_tokens=most,
            limits=limits,
            profile=profile,
            relax=relax,
            contents=_contents(contents),
        )
        return Grammar.of(made, ToolReader(tools, model, reasoning))

    @staticmethod
    def free_text(until: str | Sequence[str] = (), *, max_tokens: int | None = None) -> Grammar:
        """Any text (valid UTF-8, the empty one too) that does not contain `until`, or any of several texts.

        Args:
            until: what it does not contain.
            max_tokens: so many tokens it lies in at most, as `with_max_tokens` counts them.

        Raises:
            ArgumentError: `max_tokens` is no number of 0 or more.
            GrammarError: an empty text.

        Example:
            >>> import derivable as dv
            >>> thoughts = Grammar.free_text(until="</think>") + "</think>" + Grammar.from_regex("yes|no")
            >>> vocab = dv.Vocabulary.from_bytes([b"<", b"/think>", b"yes", b"hm ", None], eos=[4])
            >>> m = dv.compile(thoughts, vocab).matcher()
            >>> m.advance_bytes(b"hm </think>")
            >>> m.allowed_tokens().tolist()
            [2]
        """
        from .frontends.free_text import grammar_of_free_text

        if not isinstance(until, str):
            until = items("until", until, "a str, or a list of them")
        most = None if max_tokens is None else integer("max_tokens", max_tokens, 0, MOST_TOKENS)
        return Grammar.of(grammar_of_free_text(until, most))

    @staticmethod
    def builtin(
        name: str,
        *,
        version: str | None = None,
        extend: str = "",
        database: object = None,
        verbs: Collection[str] | None = None,
        tables: Collection[str] | None = None,
        columns_denied: Collection[str] | None = None,
        parameters: Collection[str] | None = None,
        names: PythonNames | JavaScriptNames | None = None,
        style: PythonStyle | None = None,
        well_formed: bool = False,
        limits: Limits = Limits(),  # noqa: B008
    ) -> Grammar:
        """A grammar that comes with the library; `docs/library.md` describes each. Cost: 20 to 150 ms (Python), once.

        Args:
            name: of the language.
            version: of Python. In the fields of format strings `"3.12"` allows the quotation marks around them,
                `"3.11"` neither these nor the end of a line, and `None` no such marks, but the end of a line.
            extend: in Lark's notation, read behind the grammar: `%override rule: ...`, `%extend rule: ...`, new rules.
            database: for `"sql"` and `"postgresql"`: where all that is named exists (`docs/sql.md`). A dict of tables
                and their columns, `CREATE` statements, an SQLAlchemy `MetaData`, or an open connection.
            verbs: what statements may do there: some of `select`, `insert`, `update`, `delete`; by default all.
            tables, columns_denied: tables that may be named (by default all); columns that may not, `"table.column"`.
            parameters: those that may stand: names, written `:name`, or numbers, written `$1`; by default any.
            names: names that are there: `PythonNames` (`docs/python_names.md`), or, for `"javascript"` and
                `"typescript"`, `JavaScriptNames` (`docs/javascript_names.md`).
            style: for `"python"`: one layout.
            well_formed: for `"xml"` and `"html"`: end tags repeat the open element's name, attributes of a tag differ.
            limits: bounds on all text together.

        Raises:
            GrammarError: there is none of that name or version; nothing may be named; or as for `from_lark`.
            ArgumentError: a database, verb, table, column or `names` is none.

        Example:
            >>> Grammar.builtin("sql", database={"users": ["id", "name"]}, verbs={"select"}).meaning
            SqlMeaning(users: id, name)
        """
        from .frontends.with_names import builtin_for

        texts(name=name, extend=extend, version="" if version is None else version)
        options: dict[str, Any] = {"version": version, "extend": extend, "limits": limits}
        instance("well_formed", well_formed, bool, "True or False")
        named: dict[str, Any] = {"database": database, "names": names, "style": style}
        named |= {"well_formed": well_formed or None}
        named |= {"verbs": verbs, "tables": tables, "columns_denied": columns_denied, "parameters": parameters}
        if any(given is not None for given in named.values()):
            return Grammar.of(builtin_for(name, **options, **named))
        return _remembered(("builtin", name, *options.values()), lambda: builtin_for(name, **options))

    @staticmethod
    def from_json_schema(
        schema: Any,
        *,
        draft: Literal["draft4", "draft6", "draft7", "2019-09", "2020-12"] | None = None,
        whitespace: Literal["any", "none", "single", "practical"] | int | None = None,
        separators: tuple[str, str] | None = None,
        key_order: Literal["listed", "preferred", "any"] = "listed",
        formats: Literal["assert", "annotation", "strict"] = "assert",
        registry: Any = None,
        limits: Limits = Limits(),  # noqa: B008
        relax: Sequence[str] = (),
        profile: Literal["spec", "practical"] = "practical",
        contents: Mapping[str, Rules | str] | Literal["builtin"] | None = None,
        references: bool = False,
    ) -> Grammar:
        """The JSON texts of the values that a JSON Schema describes, as they are written. `docs/json_schema.md` has the
        details.

        Args:
            schema: a `dict`, a `bool`, JSON text (numbers are read exactly), or anything pydantic can describe: a
                model, dataclass, `TypedDict`, enum, `Literal`, or a function (its arguments).
            draft: how to read it; by default as `$schema` says, and without one as 2020-12 with the keywords of
                earlier drafts understood too.
            whitespace: `"practical"`: a space in brackets and after `,` and `:`, or a line break and its indentation in
                brackets and after `,`; `"any"` insignificant white space anywhere; at most so many characters in one
                place (a number); `"none"`; `"single"`: a space after `,` and `:` only, as `json.dumps` writes. By
                default as `profile` has it.
            separators: exactly these instead, e.g. `(",", ": ")`.
            key_order: `"listed"`: keys in the order in which the schema lists them, other keys anywhere; `"any"`: free;
                `"preferred"`: free, too, but where the text is forced (`Matcher.forced_tokens`) as listed.
            formats: `"assert"` the formats that are known; `"annotation"`: none; `"strict"`: refuse unknown ones.
            registry: a `referencing.Registry` for references (`$ref`) to other documents. Nothing is downloaded.
            limits: bounds; schemas are untrusted.
            relax: features that may be left unenforced where they are not supported; `Grammar.relaxed` lists those
                that were.
            profile: `"practical"`: JSON as programs and people write it. Objects that list their keys have no others
                unless the schema says so; strings and numbers are spelled as `json.dumps` does, with numbers of bounded
                digits. `"spec"`: all that the specification allows (RFC 8259), in every spelling.
            contents: what strings hold whose schema has a `contentMediaType`: grammars (or names of built-in ones) by
                media type, or `"builtin"`: all that are built in, and JSON (`contentSchema`). Without it these keywords
                are annotations.
            references: `x-refers-to` and `x-unique-by`, which no standard has, are enforced: `docs/json_schema.md`.

        Cost: about 15 µs a property.

        Raises:
            GrammarError: not a schema (JSON pointer in the message), or no value satisfies it.
            UnsupportedFeatureError: a keyword that cannot be enforced exactly (`feature`, `pointer`).
            LimitError: a bound was reached.

        Example:
            >>> grammar = Grammar.from_json_schema({"type": "object", "properties": {"n": {"type": "integer"}}})
            >>> sorted(name for name in grammar.terminals if name.startswith('"'))
            ['"n"']
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b'{"n": ', b"5", b".0", b"}", b", ", None], eos=[5])
            >>> for profile in ("practical", "spec"):
            ...     grammar = Grammar.from_json_schema({"properties": {"n": {"type": "integer"}}}, profile=profile)
            ...     matcher = dv.compile(grammar, vocab).matcher()
            ...     matcher.advance_bytes(b'{"n": 5')
            ...     print(matcher.allowed_tokens().tolist())
            [1, 3]
            [1, 2, 3, 4]
        """
        from .frontends.json_schema import grammar_from_json_schema

        instance("limits", limits, Limits, "Limits(...)")
        for feature in items("relax", relax, "a list of features"):
            texts(relax=feature)
        instance("draft", draft, str | None, "the name of a draft, or None")
        options: dict[str, Any] = {"draft": draft, "whitespace": whitespace, "separators": separators}
        options |= {"key_order": key_order, "formats": formats, "relax": tuple(relax), "profile": profile}
        instance("references", references, bool, "True or False")
        options |= {"contents": _contents(contents), "references": references}

        def make() -> Rules:
            return grammar_from_json_schema(schema, registry=registry, limits=limits, **options)

        def read() -> Grammar:
            return Grammar.of(make(), Reader.of(schema))

        return (
            read() if registry is not None else remembered(("json", text_of(schema), limits, *options.values()), read)
        )


def _contents(given: object) -> object:
    """The option `contents`, checked; grammars that only mention JSON import nothing for it."""
    if given is None:
        return None
    from .frontends.languages import Contents

    return Contents.of(given)


def _remembered(key: tuple[Any, ...], make: Callable[[], Rules]) -> Grammar:
    return remembered(key, lambda: Grammar.of(make()))
