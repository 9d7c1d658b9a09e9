"""Grammars made of grammars: put together, one after the other, one or the other, again and again; or read otherwise.

Together they are scannerless grammars. Operands may be grammars of any front end, or literal text; one under another
lexing policy becomes a terminal, whose texts are cut into lexemes by themselves (docs/lexing.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from .limits import Limits
from .meaning import Meaning
from .recursion import Recursive
from .rules import MOST_TOKENS, Lexing, Rules, SpecialTokens
from .support.arguments import instance, integer, items, number, texts
from .support.caches import remembered, text_of

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Combining", "check_relax"]


def check_relax(relax: object) -> None:
    """The option `relax` of calls, checked."""
    for features in relax.values() if isinstance(relax, Mapping) else (relax,):
        for feature in items("relax", features, "a list of features, or a mapping of tools to such lists"):
            texts(relax=feature)


class Combining(Recursive):
    """Rules that can be put together with others, and read otherwise. `Grammar` is the one class of them."""

    @classmethod
    def concatenate(cls, *operands: Rules | str) -> Self:
        """One operand after the other; also `a + b`. A `str` is that text. Cost: the number of rules.

        Raises:
            GrammarError: an operand is neither a grammar nor a text.
            UnsupportedFeatureError: a scannerless operand ignores terminals, and has text without a name in its rules.

        Example:
            >>> import derivable as dv
            >>> call = "f(" + dv.Grammar.from_json_schema({"type": "integer", "maximum": 9, "minimum": 0}) + ")"
            >>> vocab = dv.Vocabulary.from_bytes([b"f(", b"12", b"1", b")", None], eos=[4])
            >>> m = dv.compile(call, vocab).matcher()
            >>> m.advance_bytes(b"f(1")
            >>> m.allowed_tokens().tolist()
            [3]
        """
        from .frontends.combine import concatenate

        return cls.of(concatenate(operands))

    @classmethod
    def alternate(cls, *operands: Rules | str) -> Self:
        """Any one of the operands; also `a | b`.

        Raises:
            GrammarError: no operands, or one that is neither a grammar nor a text.
            UnsupportedFeatureError: as `concatenate`.

        Example:
            >>> import derivable as dv
            >>> sorted((dv.Grammar.from_regex("[0-9]+") | "none").terminals)
            ['"none"', '[0-9]+']
        """
        from .frontends.combine import alternate

        return cls.of(alternate(operands))

    def with_meaning(self, meaning: Meaning) -> Self:
        """The same grammar, in whose slots only those names stand that there are (`derivable.meaning.Meaning`).

        Args:
            meaning: what says so. It is asked while texts are written, in any thread; docs/names.md says how.

        Example:
            >>> import derivable as dv
            >>> class Lights(dv.Meaning):
            ...     slots = ("NAME",)
            ...     def names(self, state, slot):
            ...         return ["hall", "attic"]
            >>> grammar = dv.Grammar.from_lark('start: "turn on " NAME\\nNAME: /[a-z]+/').with_meaning(Lights())
            >>> vocab = dv.Vocabulary.from_bytes([b"turn on ", b"hall", b"kitchen", None], eos=[3])
            >>> matcher = dv.compile(grammar, vocab).matcher()
            >>> matcher.advance(0)
            >>> matcher.allowed_tokens().tolist()
            [1]

        Raises:
            ArgumentError: no meaning, or its `slots`, `scopes` or `free` are no names.
            GrammarError: a slot is a terminal with back-references; a scope is no rule, or begins or ends with itself;
                or compiling it finds that a slot is no terminal of it, nor a rule that is one.
            UnsupportedFeatureError: compiling it finds other parts that cannot stand beside slots.
        """
        instance("meaning", meaning, Meaning, "a Meaning")
        for option in ("slots", "scopes", "free"):
            for name in items(option, getattr(meaning, option), "names of terminals and rules, as a tuple"):
                instance(option, name, str, "names of terminals and rules, as a tuple of str")
        from .frontends.captured_meaning import with_meaning
        from .frontends.scope_borders import with_scopes

        made, whole = with_scopes(self, meaning)
        return replace(made, meaning=with_meaning(made, whole))

    def capture(self, name: str) -> Self:
        """The same texts; where one stands in a text, it is known by this name: `Generation.captures`,
        `Constraint.captures`.

        A group `(?P<name>...)` of a regular expression does the same within one.

        Raises:
            ArgumentError: `name` is no text.

        Example:
            >>> import derivable as dv
            >>> code = dv.Grammar.builtin("json").capture("code")
            >>> fenced = "```json\\n" + code + "\\n```"
            >>> vocab = dv.Vocabulary.from_bytes([bytes([byte]) for byte in range(128)] + [None], eos=[128])
            >>> dv.compile(fenced, vocab).captures("```json\\n[1, 2]\\n```")["code"]
            '[1, 2]'
        """
        texts(name=name)
        return replace(self, captures={**self.captures, self.start: name})

    def repeat(self, min: int = 0, max: int | None = None) -> Self:
        """This grammar at least `min` and at most `max` times, one after the other (`None`: without bound).

        Raises:
            GrammarError: the bounds are not numbers in ascending order.
            UnsupportedFeatureError: as `concatenate`.

        Example:
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b"ab", b"abab", b"ababab", None], eos=[3])
            >>> dv.compile(dv.Grammar.from_choices(["ab"]).repeat(1, 2), vocab).matcher().allowed_tokens().tolist()
            [0, 1]
        """
        from .frontends.combine import repeated

        return self.of(repeated(self, min, max))

    def optional(self) -> Self:
        """This grammar or the empty text.

        Example:
            >>> import derivable as dv
            >>> vocab = dv.Vocabulary.from_bytes([b"ab", None], eos=[1])
            >>> dv.compile(dv.Grammar.from_regex("ab").optional(), vocab).matcher().is_accepting
            True
        """
        return self.repeat(0, 1)

    def encoded(self, encoding: str, *, spec: bool = False, columns: int | None = None) -> Self:
        """The texts that stand for a text of this grammar where they are written in another format: `"json"` strings,
        `"xml"` (text) and `"xml-attribute"`, `"shell"` words, `"python"` and `"javascript"` strings, `"base64"`, or
        `"indented"` lines. Quotation marks are part of them.

        The grammar sees what is meant: names, line breaks and columns are those of the decoded text. Encodings nest.

        Args:
            encoding: the format. Of `shell`, `python` and `javascript` any kind of quotation marks is meant; one kind
                is `python-long`, `shell-single` and so on.
            spec: every spelling of the format; otherwise what serializers write. docs/lexing.md lists them.
            columns: of `indented`, how many blanks each line begins with.

        Raises:
            GrammarError: there is no such encoding.
            LimitError: more than 64 languages are inside one another.
            UnsupportedFeatureError: the grammar names a token, which stands for nothing but itself.

        Example:
            >>> import derivable as dv
            >>> lines = dv.Grammar.from_regex('a\\n"b"')
            >>> vocab = dv.Vocabulary.from_bytes([b'"a\\\\n', b'\\\\"', b'b', b'"', None], eos=[4])
            >>> m = dv.compile(lines.encoded("json"), vocab).matcher()
            >>> m.advance(0), m.advance(1), m.advance(2), m.advance(1)
            (None, None, None, None)
            >>> m.allowed_tokens().tolist()
            [3]
        """
        from .frontends.encoded import encoded

        return self.of(encoded(self, encoding, spec=spec, columns=columns))

    @classmethod
    def fenced(
        cls,
        languages: str | Sequence[str] | Mapping[str, Rules | str],
        *,
        others: bool = False,
        min: int = 0,
        max: int | None = None,
        front_matter: Rules | str | None = None,
        backticks: int = 3,
    ) -> Self:
        """Prose in Markdown with fences whose code is in the language that they name. docs/languages.md says more.

        Args:
            languages: the name of a built-in language, or several; grammars by the names that their fences have; or
                `"any"`: all that are built in, and `others`.
            others: fences that name another language, or none, may stand there, with any text.
            min, max: how many fences there are.
            front_matter: what the text begins with, between lines of its own: `"yaml"` (between lines of `---`),
                `"toml"` (of `+++`), or a grammar (of `---`).
            backticks: of a fence; 3 to 16. Code in a longer fence may have shorter ones.

        Raises:
            ArgumentError: something that is no grammar, or no such number.
            GrammarError: an unknown language, a name that no fence can have, or bounds that are none.

        Example:
            >>> import derivable as dv
            >>> grammar = dv.Grammar.fenced("python")
            >>> words = [b"Look:\\n", b"```py\\n", b"x = ", b"1\\n", b"```"]
            >>> m = dv.compile(grammar, dv.Vocabulary.from_bytes([*words, None], eos=[5])).matcher()
            >>> m.advance(0), m.advance(1), m.advance(2)
            (None, None, None)
            >>> m.allowed_tokens().tolist()  # the fence cannot end within a statement
            [2, 3]
        """
        from .frontends.fenced import grammar_of_fences

        instance("others", others, bool, "True or False")
        marks = integer("backticks", backticks, 3, 16)
        return cls.of(grammar_of_fences(languages, others, min, max, front_matter, marks))

    def after_reasoning(
        self,
        model: str,
        *,
        reasoning: bool | Literal["auto"] = "auto",
        max_tokens: int | None = None,
        special_tokens: SpecialTokens = "token",
        limits: Limits = Limits(),  # noqa: B008
    ) -> Self:
        """This grammar behind the reasoning of a model, in the form that it was trained on.

        Args:
            model: whose form: `qwen-3`, `deepseek-r1`, `harmony`, `magistral`, ...; docs/languages.md lists them.
            reasoning: `True`: the text begins with reasoning (within it, where the model's prompt has begun it);
                `"auto"`: it may; `False`: only what else stands around an answer.
            max_tokens: so many tokens the reasoning lies in at most, as `with_max_tokens` counts them.
            special_tokens: what the marks around it mean; see `with_special_tokens`.
            limits: bounds.

        Raises:
            GrammarError: no reasoning is known of the model; the message lists those of which it is.

        Example:
            >>> import derivable as dv
            >>> answer = dv.Grammar.from_regex("yes|no").after_reasoning("qwen-3")
            >>> vocab = dv.Vocabulary.from_bytes([b"yes", b"<think>", b"Hm.", b"</think>", b"\\n\\n", None], eos=[5])
            >>> m = dv.compile(answer, vocab).matcher()
            >>> m.allowed_tokens().tolist()
            [0, 1]
            >>> m.advance_bytes(b"<think>Hm.</think>\\n\\n")
            >>> m.allowed_tokens().tolist()
            [0]
        """
        from .frontends.reasoning import after_reasoning

        texts(model=model, special_tokens=special_tokens)
        instance("limits", limits, Limits, "Limits(...)")
        most = None if max_tokens is None else integer("max_tokens", max_tokens, 0, MOST_TOKENS)
        return self.of(after_reasoning(self, model, reasoning, most, special_tokens, limits))

    @classmethod
    def from_turn(
        cls,
        model: str,
        *,
        tools: Sequence[Any] = (),
        tool_choice: Any = "auto",
        parallel: bool = True,
        response: Any = None,
        reasoning: bool | Literal["auto", "required", "none", "begun"] = "auto",
        reasoning_tokens: int | None = None,
        prompt: str | None = None,
        profile: Literal["spec", "practical"] = "practical",
        special_tokens: SpecialTokens = "token",
        limits: Limits = Limits(),  # noqa: B008
        relax: Sequence[str] | Mapping[str, Sequence[str]] = (),
        contents: Mapping[str, Rules | str] | Literal["builtin"] | None = None,
    ) -> Self:
        """All that a model may write in its turn of a chat, from the first token on: reasoning, content, calls, an
        answer, in the form that it was trained on. docs/turn.md says what the language is.

        Args:
            model: whose form; docs/tools.md and docs/turn.md list the families.
            tools, tool_choice, parallel: as in `from_tools`.
            response: what an answer has to be: a schema or type as `from_json_schema` takes it, OpenAI's
                `response_format`, or a grammar; `None`: any content. With one, the turn is calls or an answer.
            reasoning: `"auto"`: it may be there; `"required"` (`True`): it is; `"none"` (`False`): it is not;
                `"begun"`: the prompt ends with its first mark.
            reasoning_tokens: so many tokens it lies in at most, as `with_max_tokens` counts them.
            prompt: the text that stands before the turn, or its end: it shows whether the template has begun or ended
                the reasoning. Without it, what the family's template usually does is assumed.
            profile, special_tokens, limits, contents: as in `from_tools`; for the response, too.
            relax: as in `from_tools`; a list is for the response, too.

        Raises:
            GrammarError: nothing is known of the model; or there is no such turn.
            UnsupportedFeatureError, LimitError: as `from_json_schema`, with the tool or the response.

        Its texts stand for a `derivable.tools.ToolMessage`.

        Example:
            >>> import derivable as dv
            >>> def add(a: int, b: int) -> int: ...
            >>> grammar = dv.Grammar.from_turn("qwen-3", tools=[add], response={"type": "boolean"})
            >>> words = [b"<think>", b"Hm.", b"</think>\\n\\n", b"<tool_call>", b"tr", b"ue", b"Yes", None]
            >>> m = dv.compile(grammar, dv.Vocabulary.from_bytes(words, eos=[7])).matcher()
            >>> m.allowed_tokens().tolist()
            [0, 3, 4]
            >>> m.advance(0), m.advance(1), m.advance(2)
            (None, None, None)
            >>> m.allowed_tokens().tolist()
            [3, 4]
        """
        from .frontends.tool_reader import ToolReader, TurnReader
        from .frontends.turn import grammar_from_turn, response_of

        instance("limits", limits, Limits, "Limits(...)")
        texts(model=model, special_tokens=special_tokens, profile=profile)
        instance("parallel", parallel, bool, "True or False")
        instance("prompt", prompt, str | None, "the text before the turn, or None")
        most = None if reasoning_tokens is None else integer("reasoning_tokens", reasoning_tokens, 0, MOST_TOKENS)
        check_relax(relax)
        of = (tools, model, reasoning, prompt)

        def make() -> Any:
            answer = response_of(response, limits, profile, contents, relax)
            made = grammar_from_turn(
                *(model, tools, tool_choice, parallel, answer, reasoning, special_tokens),
                prompt=prompt,
                reasoning_tokens=most,
                limits=limits,
                profile=profile,
                relax=relax,
                contents=contents,
            )
            return cls.of(made, ToolReader(*of) if answer is None else TurnReader(*of, reader=answer.reader))

        listed = [[*given] if isinstance(given, tuple) else given for given in (tools, relax)]
        asked = [*listed, *(model, reasoning, prompt, tool_choice, parallel, response), most, profile, special_tokens]
        key = text_of([*asked, contents]) if isinstance(contents, str | None) else None
        found: Self = remembered(("turn", key, limits), make)
        return found

    def with_lexing(self, lexing: Lexing) -> Self:
        """The same rules read under another lexing policy.

        Raises:
            GrammarError: there is no such policy.
            UnsupportedFeatureError: the grammar has back-references, which are exact under `scannerless` only.
        """
        from .frontends.captured_meaning import refuse_lexing

        refuse_lexing(self, lexing)
        return replace(self, lexing=lexing)

    def with_special_tokens(self, spelled: SpecialTokens = "token") -> Self:
        """The same rules, in which literals name special tokens.

        Args:
            spelled: what a literal means that spells special tokens of the vocabulary (``"<|python_tag|>{"``): `token`
                them, by their ids; `either` them or their letters; `text` the letters. Patterns are text always.

        Example:
            >>> import derivable as dv
            >>> grammar = dv.Grammar.from_gbnf('root ::= "<|call|>" [a-z]').with_special_tokens()
            >>> vocab = dv.Vocabulary.from_bytes([b"<", b"a", None], eos=[], special={"<|call|>": 2})
            >>> dv.compile(grammar, vocab).matcher().allowed_tokens().tolist()
            [2]
        """
        from .frontends.combine import with_literals_spelled

        return self.of(with_literals_spelled(self, spelled))

    def with_max_blanks(self, most: int) -> Self:
        """The same texts, but those in which more than `most` blanks are ignored in a row: models that are unsure write
        them for ever.

        Blanks are the characters of those ignored terminals that are one character of a class, or any number of them
        (`%ignore " "`, `%ignore /[ \\n]+/`). Other ignored text, such as comments, is not bounded; nor is what
        `indentation` reads. docs/lexing.md has the definition.

        Raises:
            ArgumentError: not a number of 0 or more.
            GrammarError: no blanks are ignored.
            UnsupportedFeatureError: `scannerless` lexing, or another terminal may begin with a blank.

        Example:
            >>> import derivable as dv
            >>> grammar = dv.Grammar.from_lark('start: "a"+\\n%ignore / +/').with_max_blanks(2)
            >>> vocab = dv.Vocabulary.from_bytes([b"a", b" ", b"  ", b" a", None], eos=[4])
            >>> m = dv.compile(grammar, vocab).matcher()
            >>> m.advance_bytes(b"a ")
            >>> m.allowed_tokens().tolist()  # one more blank, not two
            [0, 1, 3, 4]
        """
        from .frontends.blanks import with_max_blanks

        return self.of(with_max_blanks(self, integer("most", most, 0, 1 << 16)))

    def with_max_tokens(self, most: int | Mapping[str, int]) -> Self:
        """The same texts, of which a part may lie in so many tokens at most.

        A token lies in a part if at least one of its bytes does, so one that also holds what comes next counts, too.
        A token is allowed if the part can still be completed with the tokens that are left, one for each byte that it
        lacks. docs/endings.md says more.

        Args:
            most: the number for the whole text, as a part of what this grammar becomes a part of; or the numbers for
                rules or terminals, by their names. Each must be regular.

        Raises:
            ArgumentError: not a number of 1 or more.
            GrammarError: there is no such rule.
            LimitError: the shortest text of a part has more bytes than the part may have tokens (when it is compiled).
            UnsupportedFeatureError: the rule refers to itself, names a token, or counts members; or the grammar is not
                under `scannerless` lexing.

        Cost: the rules. A step costs nothing more; docs/endings.md says what the last masks of a part cost.

        Example:
            >>> import derivable as dv
            >>> thought = dv.Grammar.from_regex("[a-z ]*").with_max_tokens(2)
            >>> vocab = dv.Vocabulary.from_bytes([b"hm", b" ", b"\\n", b"4", b"2", None], eos=[5])
            >>> m = dv.compile(thought + "\\n42", vocab).matcher()
            >>> m.advance(0), m.advance(1)
            (None, None)
            >>> m.allowed_tokens().tolist()  # the line feed, for the thought has had its tokens
            [2]
        """
        from .frontends.bounded import with_max_tokens

        bounds = most if isinstance(most, Mapping) else {self.start: most}
        checked = {name: integer(f"max_tokens of {name!r:.80}", each, 1, MOST_TOKENS) for name, each in bounds.items()}
        return self.of(with_max_tokens(self, checked))

    def with_temperature(self, temperature: float | Mapping[str, float]) -> Self:
        """The same texts, with a temperature to sample this grammar or some of its rules with.

        `Matcher.temperature` says it while such a part is written. `generate` and the integrations for `transformers`
        sample with it; other hosts have to ask the matcher. Masks do not change.

        Args:
            temperature: that of the whole, as a part of what this grammar becomes a part of; or those of rules or
                terminals, by their names. A rule in such a rule has the same, unless it has its own.

        Raises:
            ArgumentError: not a finite number of 0 or more.
            GrammarError: there is no such rule.
            UnsupportedFeatureError: a rule of a grammar with indentation, or one around a slot of a meaning.

        Cost: the rules.

        Example:
            >>> import derivable as dv
            >>> grammar = "I think: " + dv.Grammar.from_regex("[a-z ]+").with_temperature(1.2) + "."
            >>> vocab = dv.Vocabulary.from_bytes([b"I think: ", b"so", b".", None], eos=[3])
            >>> m = dv.compile(grammar, vocab).matcher()
            >>> m.temperature, m.advance(0), m.temperature, m.advance(1), m.advance(2), m.temperature
            (None, None, 1.2, None, None, None)
        """
        from .frontends.temperatures import with_temperatures

        given = temperature if isinstance(temperature, Mapping) else {self.start: temperature}
        checked = {name: number(f"temperature of {name!r:.80}", each, 0) for name, each in given.items()}
        return self.of(with_temperatures(self, checked))

    def __add__(self, other: Rules | str) -> Self:
        return self.concatenate(self, other) if isinstance(other, Rules | str) else NotImplemented

    def __radd__(self, other: str) -> Self:
        return self.concatenate(other, self) if isinstance(other, str) else NotImplemented

    def __or__(self, other: Rules | str) -> Self:
        return self.alternate(self, other) if isinstance(other, Rules | str) else NotImplemented

    def __ror__(self, other: str) -> Self:
        return self.alternate(other, self) if isinstance(other, str) else NotImplemented
