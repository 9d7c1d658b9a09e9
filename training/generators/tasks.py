"""The programming tasks: what a program does and its statements, with random names and numbers."""

from __future__ import annotations

from . import words
from .common import Rng
from .statements import (
    Array,
    Assign,
    Comment,
    Declare,
    For,
    Function,
    If,
    Print,
    Return,
    Statement,
    Task,
    While,
)


def task(rng: Rng) -> Task:
    """A random task with random names and numbers."""
    i, j = rng.choice([("i", "j"), ("i", "j"), ("k", "m"), ("row", "col")])
    x, y = rng.sample(["a", "b", "x", "y", "first", "second", "left", "right"], 2)
    total = rng.choice(["sum", "total", "result", "s"])
    count = rng.choice(["count", "counter", "c"])
    array = rng.choice(["array", "arr", "numbers", "values", "data"])
    n, p, q = rng.randint(3, 20), rng.randint(1, 50), rng.randint(1, 50)
    var = rng.choice(["n", "x", "value", "number"])
    fill = For(
        i,
        "0",
        str(n),
        [Assign(f"{array}[{i}]", rng.choice([i, f"{i} * {i}", f"{i} * {rng.randint(2, 9)}", f"{i} + {p}"]))],
    )
    show = For(i, "0", str(n), [Print("", f"{array}[{i}]")])
    thing = rng.choice(words.PRODUCTS)
    greeting = rng.choice(
        [
            "Hello, world!",
            "Hello, world!",
            f"Hello, {rng.choice(words.FIRST_NAMES[:40])}!",
            f"Good {rng.choice(['morning', 'evening'])}!",
            f"This is a {thing}.",
        ]
    )

    def main(*body: Statement) -> list[Function]:
        return [Function("main", [], list(body))]

    def called(function: Function, *arguments: int) -> list[Function]:
        call = f"{function.name}({', '.join(map(str, arguments))})"
        if rng.random() < 0.5:
            return [function]
        if rng.random() < 0.5:
            return [function, *main(Print("", call))]
        return [function, *main(Declare("answer", call), Print(rng.choice(["", "Result: "]), "answer"))]

    tasks = [
        lambda: Task(f'prints "{greeting}"', main(Print(greeting))),
        lambda: Task(
            "prints the sum of two integers",
            main(
                Declare(x, str(p)),
                Declare(y, str(q)),
                Declare(total, f"{x} + {y}"),
                Print(rng.choice(["", "Sum: ", "The sum is "]), total),
            ),
        ),
        lambda: Task(
            "finds the sum of two integers",
            called(Function(rng.choice(["add", "sum_of"]), [x, y], [Return(f"{x} + {y}")]), p, q),
        ),
        lambda: Task(
            "multiplies two integers",
            called(Function(rng.choice(["multiply", "product"]), [x, y], [Return(f"{x} * {y}")]), p, q),
        ),
        lambda: Task(
            f"fills an array with the numbers 0 to {n - 1} and prints them",
            main(Array(array, n), For(i, "0", str(n), [Assign(f"{array}[{i}]", i)]), show),
        ),
        lambda: Task("iterates over an array of integers and prints each one", main(Array(array, n), fill, show)),
        lambda: Task(
            "computes the sum of an array",
            main(
                Array(array, n),
                fill,
                Declare(total, "0"),
                For(i, "0", str(n), [Assign(total, f"{total} + {array}[{i}]")]),
                Print("", total),
            ),
        ),
        lambda: Task(
            "finds the largest element of an array",
            main(
                Array(array, n),
                fill,
                Declare("max", f"{array}[0]"),
                For(i, "1", str(n), [If(f"{array}[{i}] > max", [Assign("max", f"{array}[{i}]")])]),
                Print("Max: ", "max"),
            ),
        ),
        lambda: Task(
            "sorts an array with bubble sort",
            main(
                Array(array, n),
                For(i, "0", str(n), [Assign(f"{array}[{i}]", f"{n} - {i}")]),
                For(
                    i,
                    "0",
                    str(n),
                    [
                        For(
                            j,
                            "0",
                            f"{n - 1} - {i}",
                            [
                                If(
                                    f"{array}[{j}] > {array}[{j} + 1]",
                                    [
                                        Declare("temp", f"{array}[{j}]"),
                                        Assign(f"{array}[{j}]", f"{array}[{j} + 1]"),
                                        Assign(f"{array}[{j} + 1]", "temp"),
                                    ],
                                )
                            ],
                        )
                    ],
                ),
                show,
            ),
        ),
        lambda: Task(
            "computes the factorial of a number",
            called(
                Function(
                    "factorial",
                    [var],
                    [
                        Declare("result", "1"),
                        For(i, "1", f"{var} + 1", [Assign("result", f"result * {i}")]),
                        Return("result"),
                    ],
                ),
                rng.randint(3, 10),
            ),
        ),
        lambda: Task(
            "computes the factorial recursively",
            called(
                Function(
                    "factorial",
                    [var],
                    [If(f"{var} <= 1", [Return("1")]), Return(f"{var} * factorial({var} - 1)")],
                ),
                rng.randint(3, 10),
            ),
        ),
        lambda: Task(
            "computes Fibonacci numbers",
            called(
                Function(
                    rng.choice(["fib", "fibonacci"]),
                    [var],
                    [
                        Declare("a", "0"),
                        Declare("b", "1"),
                        For(i, "0", var, [Declare("next", "a + b"), Assign("a", "b"), Assign("b", "next")]),
                        Return("a"),
                    ],
                ),
                n,
            ),
        ),
        lambda: Task(
            "returns the larger of two numbers",
            called(Function("max", [x, y], [If(f"{x} > {y}", [Return(x)]), Return(y)]), p, q),
        ),
        lambda: Task(
            "returns the smaller of two numbers",
            called(Function("min", [x, y], [If(f"{x} < {y}", [Return(x)], [Return(y)])]), p, q),
        ),
        lambda: Task(
            "counts down to zero",
            main(
                Declare(count, str(n)),
                While(f"{count} > 0", [Print("", count), Assign(count, f"{count} - 1")]),
            ),
        ),
        lambda: Task(f"prints the numbers from 1 to {n}", main(For(i, "1", str(n + 1), [Print("", i)]))),
        lambda: Task(
            "prints a multiplication table",
            main(For(i, "1", str(n + 1), [For(j, "1", str(n + 1), [Print("", f"{i} * {j}")])])),
        ),
        lambda: Task(
            "computes the square of a number",
            called(Function("square", [var], [Return(f"{var} * {var}")]), p),
        ),
        lambda: Task(
            "computes the absolute value of a number",
            called(
                Function(
                    rng.choice(["abs_value", "absolute"]),
                    [var],
                    [If(f"{var} < 0", [Return(f"-{var}")]), Return(var)],
                ),
                p,
            ),
        ),
        lambda: Task(
            "computes a power",
            called(
                Function(
                    "power",
                    ["base", "exponent"],
                    [
                        Declare("result", "1"),
                        For(i, "0", "exponent", [Assign("result", "result * base")]),
                        Return("result"),
                    ],
                ),
                rng.randint(2, 9),
                rng.randint(2, 5),
            ),
        ),
        lambda: Task(
            "computes the average of two numbers",
            called(Function("average", [x, y], [Comment("integer division"), Return(f"({x} + {y}) / 2")]), p, q),
        ),
        lambda: Task(
            "counts how many times a number can be divided by two",
            called(
                Function(
                    "halvings",
                    [var],
                    [
                        Declare(count, "0"),
                        While(f"{var} > 1", [Assign(var, f"{var} / 2"), Assign(count, f"{count} + 1")]),
                        Return(count),
                    ],
                ),
                p,
            ),
        ),
        lambda: Task(
            "checks whether a number is greater than another",
            main(
                Declare(x, str(p)),
                Declare(y, str(q)),
                If(f"{x} > {y}", [Print(f"{x} is greater")], [Print(f"{y} is greater")]),
            ),
        ),
        lambda: Task(
            f"prints every multiple of {p % 9 + 2} up to {n * 10}",
            main(
                Declare(var, str(p % 9 + 2)),
                While(f"{var} <= {n * 10}", [Print("", var), Assign(var, f"{var} + {p % 9 + 2}")]),
            ),
        ),
        lambda: Task(
            "sums the numbers from 1 to n",
            called(
                Function(
                    rng.choice(["sum_to", "sum_up"]),
                    ["n"],
                    [
                        Declare(total, "0"),
                        For(i, "1", "n + 1", [Assign(total, f"{total} + {i}")]),
                        Return(total),
                    ],
                ),
                n,
            ),
        ),
        lambda: Task(
            f"prints the price of {p % 9 + 2} {thing}s",
            main(
                Comment(f"price of one {thing}"),
                Declare("price", str(q)),
                Declare("quantity", str(p % 9 + 2)),
                Print("Total: ", "price * quantity"),
            ),
        ),
    ]
    return rng.choice(tasks)()
