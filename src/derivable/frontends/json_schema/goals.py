"""From goals to facts: the boolean structure of a schema, worked off as a list of cases.

A goal is a conjunction of schemas that must hold or fail. `expand` takes schemas apart keyword by keyword: assertions
change the `Facts`, conjunctions (`allOf`, `$ref`, siblings) add to the work, disjunctions (`anyOf`, `oneOf`, `if`,
`not`) wait. When only disjunctions are left, options that the facts already decide are struck out, and the smallest
disjunction that is left splits the work into cases. What comes out are alternatives; their union is the goal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import GrammarError, LimitError
from .facts import ALL, OBJECT, TYPES, Facts, Goal, Literal, Some
from .resources import Sub
from .unevaluated import settle_unevaluated
from .values import type_name

if TYPE_CHECKING:
    from .compiler import Compiler

__all__ = ["Change", "Disjunction", "Option", "Work", "expand", "missing_or_wrong"]

_LOOKS = 50
"""Times `Limits.max_cases`: how often, in all cases, an option or a row of members may be looked at."""

Change = tuple[Any, ...]
"""(method of `Facts`, arguments...)."""


class Option:
    """One way to satisfy a disjunction: schemas that hold or fail, and changes of the facts."""

    __slots__ = ("changes", "entries")

    def __init__(self, entries: tuple[Literal, ...] = (), changes: tuple[Change, ...] = ()) -> None:
        self.entries, self.changes = entries, changes


class Disjunction:
    """Options, one of which must hold; or (`negated`) a schema that must fail, taken apart once the type is known."""

    __slots__ = ("chain", "collectors", "negated", "options", "order")

    def __init__(self, options: list[Option] | None, negated: Sub | None, work: Work) -> None:
        self.options, self.negated = options, negated
        self.collectors, self.chain, self.order = work.collectors, work.chain, work.order

    def with_options(self, options: list[Option]) -> Disjunction:
        other = object.__new__(Disjunction)
        other.options, other.negated = options, None
        other.collectors, other.chain, other.order = self.collectors, self.chain, self.order
        return other


Chain = tuple[Any, ...] | None
"""The schemas that references led through without consuming anything, newest first."""
Order = tuple[int, ...]
"""Where in the text of the schema something stands; members are listed in this order."""
Entry = tuple[Sub, bool, tuple[Sub, ...], Chain, Order]


class Work:
    """One case under way."""

    __slots__ = (
        "chain",
        "collectors",
        "compiler",
        "disjunctions",
        "done",
        "facts",
        "known",
        "order",
        "signs",
        "todo",
        "told",
    )

    def __init__(self, compiler: Compiler, facts: Facts, todo: list[Entry]) -> None:
        self.compiler = compiler
        self.facts = facts
        self.todo = todo
        self.disjunctions: list[Disjunction] = []
        self.done: set[tuple[int, bool, tuple[Sub, ...]]] = set()
        self.known: list[Literal] = []
        self.signs: dict[tuple[int, str], bool] = {}  # of `known`, the first `told` of them
        self.told = 0
        self.collectors: tuple[Sub, ...] = ()
        self.chain: Chain = None
        self.order: Order = ()

    def fork(self, types: int) -> Work:
        other = Work(self.compiler, self.facts.copy(), list(self.todo))
        other.facts.types &= types
        other.disjunctions = list(self.disjunctions)
        other.done = set(self.done)
        other.known = list(self.known)
        other.signs = dict(self.signs)
        other.told = self.told
        return other

    def sign(self, sub: Sub) -> bool | None:
        """Whether a schema is known to hold or to fail."""
        meaning = self.compiler.meaning
        for known, holds in self.known[self.told :]:
            self.signs.setdefault(meaning(known), holds)
        self.told = len(self.known)
        return self.signs.get(meaning(sub))

    def look(self, count: int) -> None:
        """Counts what is looked at: cases alone bound no time, for each looks at every disjunction."""
        compiler = self.compiler
        compiler.looks += count
        most = compiler.limits.max_cases * _LOOKS
        if compiler.looks > most:
            detail = f"options looked at in all combinations, which are bounded by {_LOOKS} times max_cases"
            raise LimitError("max_cases", compiler.looks, most, detail)

    # What keyword functions ask for.

    def also(self, sub: Sub, holds: bool = True) -> None:
        """Another schema about the same value."""
        self.todo.append((sub, holds, self.collectors, self.chain, (*self.order, len(self.todo))))

    def follow(self, sub: Sub, target: Sub, holds: bool = True) -> None:
        """A reference. One that leads back to itself without having consumed anything means nothing."""
        link = self.chain
        while link is not None:
            if link[0] is target:
                raise GrammarError(
                    f"the reference at {sub.pointer()} leads back to itself without describing anything",
                    hint="A recursive schema must go through properties or items.",
                )
            link = link[1]
        self.todo.append((target, holds, self.collectors, (target, self.chain), self.order))

    def either(self, options: list[Option]) -> None:
        self.disjunctions.append(Disjunction(options, None, self))

    def fails(self, sub: Sub) -> None:
        self.disjunctions.append(Disjunction(None, sub, self))

    def apply(self, disjunction: Disjunction, option: Option) -> bool:
        """Takes an option; says whether the facts can still hold."""
        for holds_sub, holds in option.entries:
            self.todo.append((holds_sub, holds, disjunction.collectors, disjunction.chain, disjunction.order))
        return all(getattr(self.facts, name)(*arguments) for name, *arguments in option.changes)


def expand(compiler: Compiler, goal: Goal) -> list[Facts]:
    """The alternatives of a goal; none if it has no instance.

    Raises:
        LimitError: more cases than `Limits.max_cases`, or too much to look at in them.
    """
    work = Work(
        compiler,
        Facts(ALL),
        [(goal[i][0], goal[i][1], (), (goal[i][0], None), (i,)) for i in range(len(goal) - 1, -1, -1)],
    )
    # The overwhelmingly common case: nothing to decide.
    if not absorb(work):
        return []
    if not work.disjunctions:
        facts = finish(work, goal)
        return [facts] if facts else []
    results: list[Facts] = []
    stack = [work]
    while stack:
        compiler.cases += 1
        if compiler.cases > compiler.limits.max_cases:
            raise LimitError(
                "max_cases", compiler.cases, compiler.limits.max_cases, f"the combinations at {_place(goal)}"
            )
        work = stack.pop()
        if not absorb(work):
            continue
        if work.facts.values is not None:  # decided by looking at each value
            facts = finish(work, goal)
            if facts:
                results.append(facts)
            continue
        single = work.facts.types & (work.facts.types - 1) == 0
        if not single and any(d.options is None or len(work.disjunctions) > 1 for d in work.disjunctions):
            bits = [1 << i for i in range(5, -1, -1) if work.facts.types >> i & 1]
            stack += [work.fork(bit) for bit in bits]
            continue
        if single:
            state = simplify(work)
            if state is False:
                continue
            if work.todo:
                stack.append(work)
                continue
        if not work.disjunctions:
            facts = finish(work, goal)
            if facts:
                results.append(facts)
            continue
        chosen = min(work.disjunctions, key=lambda d: len(d.options or ()))
        work.disjunctions.remove(chosen)
        stack += reversed(_forks(work, chosen))
    return results


def _forks(work: Work, chosen: Disjunction) -> list[Work]:
    """A case for each option. Where one is no more than a key's presence, the key is absent in those after it: cases that
    exclude one another decide more of what is still open, and give no text two derivations."""
    options = [(_presence(work, option), option) for option in chosen.options or ()]
    options.sort(key=lambda pair: pair[0] is None)
    forks = []
    absent: list[str] = []
    for key, option in options:
        fork = work.fork(ALL)
        if fork.facts.forbid(*absent) and fork.apply(chosen, option):
            forks.append(fork)
        if key is not None:
            absent.append(key)
    return forks


def _presence(work: Work, option: Option) -> str | None:
    """The key whose presence is all that an option asks for."""
    if option.entries or not option.changes or option.changes[0][0] != "require":
        return None
    _, key = option.changes[0]
    return key if all(_change_state(work, change, (key,)) is True for change in option.changes[1:]) else None


def _place(goal: Goal) -> str:
    return goal[0][0].pointer() if goal else "#"


def absorb(work: Work) -> bool:
    """Takes apart every schema of the work; says whether the facts can still hold."""
    facts = work.facts
    todo = work.todo
    compiler = work.compiler
    while todo:
        sub, holds, collectors, chain, order = todo.pop()
        schema = sub.schema
        if type(schema) is bool:
            if schema is not holds:
                return False
            continue
        key = (id(sub), holds, collectors)
        if key in work.done:
            continue
        work.done.add(key)
        if not schema:
            if not holds:
                return False
            continue
        work.collectors, work.chain, work.order = collectors, chain, order
        # Of what refers elsewhere, that too would seem to be known, and be dropped.
        if "$ref" not in compiler.keywords(sub) or compiler.target(sub) is sub:
            work.known.append((sub, holds))
        if not holds:
            if not _simple_failure(work, sub):
                work.fails(sub)
        else:
            mark = len(todo)
            compiler.assert_keywords(sub, work)
            if len(todo) - mark > 1:  # in the order of the text: it becomes the order of members
                todo[mark:] = todo[mark:][::-1]
        if not facts.types:
            return False
    return facts.types != 0


def _simple_failure(work: Work, sub: Sub) -> bool:
    """A schema of `type`, `enum` or `const` alone can fail without a choice."""
    keywords = work.compiler.keywords(sub)
    if len(keywords) != 1:
        return False
    (keyword,) = keywords
    facts = work.facts
    if keyword == "type":
        wanted = sub.schema["type"]
        names = wanted if type(wanted) is list else [wanted]
        if "integer" in names and "number" not in names:
            return False
        for name in names:
            facts.types &= ~TYPES.get(name, 0)
        return True
    if keyword in ("enum", "const"):
        work.compiler.exclude(work, sub, sub.schema["enum"] if keyword == "enum" else [sub.schema["const"]])
        return True
    return False


def finish(work: Work, goal: Goal) -> Facts | None:
    """The facts with `values` decided and `unevaluated*` turned into rows; `None` if nothing is left."""
    facts, compiler = work.facts, work.compiler
    if facts.values is not None:
        if _lists_values(work):
            facts.values = [v for v in facts.values if TYPES[type_name(v)] & facts.types]
        else:
            facts.values = [v for v in facts.values if compiler.validator.satisfies(goal, v)]
        return facts if facts.values else None
    if facts.unevaluated:
        settle_unevaluated(facts)
    return facts if facts.types else None


def _lists_values(work: Work) -> bool:
    """Whether the goal says no more than one list of values, and perhaps their types."""
    lists = 0
    for sub, holds in work.known:
        for keyword in work.compiler.keywords(sub):
            if keyword == "enum" or keyword == "const":
                lists += 1
            elif keyword == "type":
                holds = holds and type(sub.schema["type"]) is str and sub.schema["type"] != "integer"
            elif keyword != "$ref":
                return False
        if not holds:
            return False
    return lists == 1 and not work.disjunctions


# Disjunctions that the facts already decide.


def simplify(work: Work) -> bool:
    """Strikes out options that cannot hold and disjunctions that do; `False` if one has no option left.

    The work has a single type. Options that are the last of their disjunction are applied.
    """
    changed = True
    while changed:
        changed = False
        pending, work.disjunctions = work.disjunctions, []
        for place, disjunction in enumerate(pending):
            if disjunction.options is None:
                assert disjunction.negated is not None
                work.collectors, work.chain, work.order = disjunction.collectors, disjunction.chain, disjunction.order
                disjunction = Disjunction(work.compiler.deny_keywords(disjunction.negated, work), None, work)
            options: list[Option] = []
            held = False
            work.look(len(disjunction.options or ()))
            for option in disjunction.options or ():
                state = _option_state(work, option)
                if state is None:
                    options.append(option)
                elif state and disjunction.collectors and option.entries:
                    options = [option]  # it holds, and what it evaluates is still to be noted
                    break
                elif state:
                    held = True
                    break
            if held:
                continue
            if not options:
                return False
            if len(options) == 1:
                if not work.apply(disjunction, options[0]):
                    return False
                work.disjunctions += pending[place + 1 :]
                if work.todo:
                    return True
                changed = True
                break
            clauses = _clauses(options)
            if clauses is not None and work.facts.types == OBJECT:
                for clause in clauses:
                    work.facts.clause(clause)
                continue
            # A new one: other cases hold the same object.
            work.disjunctions.append(disjunction.with_options(options))
    return True


def _clauses(options: list[Option]) -> list[frozenset[tuple[str, bool]]] | None:
    """A disjunction that only says which members are there, in conjunctive form."""
    terms: list[list[tuple[str, bool]]] = []
    for option in options:
        if option.entries or any(change[0] not in ("require", "forbid") for change in option.changes):
            return None
        terms.append([(key, change[0] == "require") for change in option.changes for key in change[1:]])
    size = 1
    for term in terms:
        size *= len(term)
        if size > 64:
            return None
    clauses: list[frozenset[tuple[str, bool]]] = [frozenset()]
    for term in terms:
        clauses = [clause | {literal} for clause in clauses for literal in term]
    return [c for c in clauses if not any((key, not there) in c for key, there in c)]


def missing_or_wrong(options: list[Option]) -> list[Option]:
    """The same options, where a key that may be missing or there with a value that fails is one: its value, if any, fails."""
    absent = {option.changes for option in options if option.changes and option.changes[0][0] == "forbid"}
    merged: list[Option] = []
    for option in options:
        match option.changes:
            case (("require", key), ("member_row", _)) if (("forbid", key),) in absent:
                absent.remove((("forbid", key),))
                merged.append(Option(changes=option.changes[1:]))
            case _:
                merged.append(option)
    return [o for o in merged if not o.changes or o.changes[0][0] != "forbid" or o.changes in absent]


def _option_state(work: Work, option: Option) -> bool | None:
    """Whether the facts imply (`True`) or exclude (`False`) an option, or leave it open."""
    state: bool | None = True
    for sub, holds in option.entries:
        decided = _entry_state(work, sub, holds)
        if decided is False:
            return False
        if decided is None:
            state = None
    there: tuple[str, ...] = ()
    for change in option.changes:
        decided = _change_state(work, change, there)
        if decided is False:
            return False
        if decided is None:
            state = None
        if change[0] == "require":
            there = change[1:]
    return state


def _entry_state(work: Work, sub: Sub, holds: bool) -> bool | None:
    schema = sub.schema
    if type(schema) is bool:
        return schema is holds
    if not schema:
        return holds
    compiler = work.compiler
    if not compiler.shallow_types(sub) & work.facts.types:
        return not holds
    sign = work.sign(sub)
    if sign is not None:
        return sign is holds
    if compiler.is_type(sub) and not work.facts.types & ~compiler.shallow_types(sub):
        return holds
    return None


def _change_state(work: Work, change: Change, there: tuple[str, ...] = ()) -> bool | None:
    """Whether the facts imply or exclude a change, or leave it open, where keys are `there` besides those required."""
    facts = work.facts
    name = change[0]
    if name == "require":
        keys = [key for key in change[1:] if key not in facts.required]
        if facts.max_properties is not None and len(facts.required) + len(keys) > facts.max_properties:
            return False
        if any(key in facts.forbidden or work.compiler.impossible(_member_goal(work, key)) for key in keys):
            return False
        return None if keys else True
    if name == "forbid":
        if any(key in facts.required for key in change[1:]):
            return False
        known = (key in facts.forbidden or work.compiler.impossible(_member_goal(work, key)) for key in change[1:])
        return True if all(known) else None
    if name == "member_row":
        state: bool | None = True
        for key, goal in change[1].properties.items():
            decided = True if key in facts.forbidden else _goal_state(work, _member_goal(work, key), goal)
            if decided is False and (key in there or key in facts.required):
                return False
            if not decided:
                state = None
        return state
    if name == "somewhere":
        return _some_state(work, change[1])
    return None


def _member_goal(work: Work, key: str) -> Goal:
    work.look(len(work.facts.rows))
    return work.compiler.member_goal(work.facts.rows, key)


def _goal_state(work: Work, known: Goal, asked: Goal) -> bool | None:
    """Whether every (or no) value that satisfies `known` satisfies `asked` too, as far as a quick look tells."""
    implied, question = work.compiler.implied, (known, asked)
    if question not in implied:  # PERF: cases ask the same again and again
        implied[question] = _implies(work.compiler, known, asked)
    return implied[question]


def _implies(compiler: Compiler, known: Goal, asked: Goal) -> bool | None:
    values = compiler.candidates(known)
    if values is not None:
        holds = not values or compiler.validator.satisfies(asked, values[0])
        return holds if all(compiler.validator.satisfies(asked, v) is holds for v in values[1:]) else None
    types = ALL
    for sub, sign in known:
        if sign:
            types &= compiler.shallow_types(sub)
    answer: bool | None = True
    for sub, sign in asked:
        schema = sub.schema
        if type(schema) is bool or not schema:
            if bool(schema is True or schema == {}) is not sign:
                return False
        elif not compiler.shallow_types(sub) & types:
            if sign:
                return False
        elif compiler.is_type(sub) and not types & ~compiler.shallow_types(sub):
            if not sign:
                return False
        else:
            for other, other_sign in known:
                if compiler.same(sub, other):
                    if other_sign is not sign:
                        return False
                    break
            else:
                answer = None
    return answer


def _some_state(work: Work, some: Some) -> bool | None:
    compiler = work.compiler
    facts = work.facts
    for key in facts.required:
        if compiler.some_applies(some, key) and _goal_state(work, _member_goal(work, key), some.goal) is True:
            return True
    if some.row is not None and some.pattern is None and some.name is None:
        for row in facts.rows:
            closed = len(row.additional) == 1 and row.additional[0][1] and row.additional[0][0].schema is False
            if closed and not row.patterns:
                # Whatever may stand here is listed: is any of it outside the other row?
                outside = [k for k in row.properties if k not in facts.forbidden and compiler.some_applies(some, k)]
                if not outside:
                    return False
    return None
