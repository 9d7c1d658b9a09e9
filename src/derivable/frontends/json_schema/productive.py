"""Rules that never end are dropped before the kernel sees them: a member that must recurse for ever has no instance."""

from __future__ import annotations

from ...expr import NOTHING, Alt, Concat, Expr, Ref, Repeat
from ...grammar import Terminal

__all__ = ["all_end", "drop_unproductive"]


def all_end(needs: dict[str, list[str]], choices: dict[str, list[str]]) -> bool:
    """Whether every rule surely ends.

    PERF: an object becomes several rules a key, and this looks at one.

    Args:
        needs: of arrays and objects, names with which they end; their own where that is not so simple.
        choices: names, one of which suffices.
    """
    waiting: dict[str, list[str]] = {}
    missing: dict[str, int] = {}
    ready: list[str] = []
    for table in (needs, choices):
        for name, inner in table.items():
            others = {n for n in inner if n in needs or n in choices}
            missing[name] = len(others) if table is needs else int(len(others) == len(set(inner)))
            if not missing[name]:
                ready.append(name)
            for other in others:
                waiting.setdefault(other, []).append(name)
    ended = 0
    while ready:
        ended += 1
        for name in waiting.get(ready.pop(), ()):
            missing[name] -= 1
            if not missing[name]:
                ready.append(name)
    return ended == len(missing)


def drop_unproductive(rules: dict[str, Expr], terminals: dict[str, Terminal]) -> None:
    """Removes alternatives that lead nowhere (a member that must recurse for ever), and rules that have none left."""
    waiting: dict[str, list[tuple[str, list[int]]]] = {}
    productive: set[str] = set()
    ready: list[str] = []
    for name, expr in rules.items():
        for body in expr.items if type(expr) is Alt else (expr,):
            items = body.items if type(body) is Concat else (body,)
            needed = {item.name for item in items if type(item) is Ref and item.name in rules and item.name != name}
            for item in items:
                if type(item) is not Ref:
                    needed.update(r for r in _required(item) if r in rules)
                elif item.name == name:
                    break  # recursion cannot be what makes a rule productive
            else:
                if not needed:
                    ready.append(name)
                else:
                    cell = [len(needed)]
                    for other in needed:
                        waiting.setdefault(other, []).append((name, cell))
    while ready:
        name = ready.pop()
        if name in productive:
            continue
        productive.add(name)
        for head, cell in waiting.get(name, ()):
            cell[0] -= 1
            if not cell[0]:
                ready.append(head)
    if len(productive) == len(rules):
        return
    for name in list(rules):
        if name not in productive:
            del rules[name]
            continue
        expr = rules[name]
        if isinstance(expr, Alt):
            kept = [b for b in expr.items if all(r in productive or r in terminals for r in _required(b))]
            rules[name] = kept[0] if len(kept) == 1 else Alt(tuple(kept))
    # A repetition that may be empty can still name what is gone.
    for name, expr in rules.items():
        rules[name] = _without(expr, rules, terminals)
    if "root" not in rules:
        rules["root"] = NOTHING


def _required(body: Expr) -> list[str]:
    """The names a body cannot do without."""
    if isinstance(body, Ref):
        return [body.name]
    if isinstance(body, Concat):
        return [name for item in body.items for name in _required(item)]
    if isinstance(body, Repeat):
        return _required(body.item) if body.min else []
    return []


def _without(expr: Expr, rules: dict[str, Expr], terminals: dict[str, Terminal]) -> Expr:
    if isinstance(expr, Repeat):
        gone = any(r not in rules and r not in terminals for r in _required(expr.item))
        return Concat(()) if gone else expr
    if isinstance(expr, Concat):
        return Concat(tuple(_without(item, rules, terminals) for item in expr.items))
    if isinstance(expr, Alt):
        return Alt(tuple(_without(item, rules, terminals) for item in expr.items))
    return expr
