# ruff: noqa: E501 (templates of sentences stay on one line)
"""SQL statements with the question or comment they answer."""

from __future__ import annotations

from . import words
from .common import BOUNDARY, Rng, a, ascii_lower, person

#: table -> columns; the type decides how a condition reads.
TABLES: dict[str, dict[str, str]] = {
    "users": {"id": "int", "name": "text", "age": "int", "email": "text", "city": "city"},
    "customers": {
        "id": "int",
        "name": "text",
        "city": "city",
        "country": "country",
        "email": "text",
        "points": "int",
    },
    "products": {"id": "int", "name": "text", "price": "int", "stock": "int", "color": "color"},
    "orders": {"id": "int", "user_id": "int", "product_id": "int", "quantity": "int", "total": "int"},
    "employees": {"id": "int", "name": "text", "salary": "int", "age": "int", "department_id": "int"},
    "departments": {"id": "int", "name": "text", "budget": "int", "city": "city"},
    "books": {"id": "int", "title": "text", "author": "text", "year": "int", "price": "int"},
    "students": {"id": "int", "name": "text", "grade": "int", "age": "int", "city": "city"},
}
JOINS = [
    ("orders", "user_id", "users", "name"),
    ("orders", "product_id", "products", "name"),
    ("employees", "department_id", "departments", "name"),
]
_SQL_TYPES = {"int": "INTEGER", "text": "TEXT", "city": "TEXT", "country": "TEXT", "color": "TEXT"}


def _condition(rng: Rng, table: str) -> tuple[str, str]:
    """A condition in English and in SQL."""
    column = rng.choice([name for name in TABLES[table] if name != "id"])
    kind = TABLES[table][column]
    n = rng.randint(1, 99) if column in ("age", "quantity", "stock", "grade") else rng.randint(1, 50) * 10
    if kind == "int":
        word, sign = rng.choice(
            [
                ("greater than", ">"),
                ("less than", "<"),
                ("equal to", "="),
                ("at least", ">="),
                ("at most", "<="),
            ]
        )
        return f"whose {column.replace('_', ' ')} is {word} {n}", f"{column} {sign} {n}"
    if kind == "text":
        if rng.random() < 0.3:
            letter = rng.choice("ABCDEFGJKLMPRST")
            return f"whose {column} starts with {letter}", f"{column} LIKE '{letter}%'"
        value = person(rng).first
        return f"whose {column} is {value}", f"{column} = '{value}'"
    value = rng.choice({"city": list(words.CITIES), "country": list(words.CAPITALS), "color": words.COLOURS}[kind])
    return f"whose {column} is {value}", f"{column} = '{value}'"


def _select(rng: Rng) -> tuple[str, str]:
    table = rng.choice(list(TABLES))
    names = list(TABLES[table])
    columns = rng.sample(names, rng.choice([1, 1, 2, 3]))
    english, sql = _condition(rng, table)
    shape = rng.random()
    if shape < 0.15:
        return f"Show all {table}", f"SELECT * FROM {table}"
    if shape < 0.3:
        return f"Find all {table} {english}", f"SELECT * FROM {table} WHERE {sql}"
    if shape < 0.5:
        return (
            f"Find the {' and '.join(columns)} of all {table} {english}",
            f"SELECT {', '.join(columns)} FROM {table} WHERE {sql}",
        )
    if shape < 0.6:
        return f"Count the {table} {english}", f"SELECT COUNT(*) FROM {table} WHERE {sql}"
    number = rng.choice([name for name, kind in TABLES[table].items() if kind == "int" and name != "id"])
    if shape < 0.7:
        word, function = rng.choice([("average", "AVG"), ("highest", "MAX"), ("lowest", "MIN"), ("total", "SUM")])
        return f"What is the {word} {number} of {table}?", f"SELECT {function}({number}) FROM {table}"
    if shape < 0.85:
        order, sign = rng.choice([("ascending", "ASC"), ("descending", "DESC")])
        limit = rng.randint(1, 20)
        return (
            f"List the first {limit} {table} by {number} in {order} order",
            f"SELECT {columns[0]} FROM {table} ORDER BY {number} {sign} LIMIT {limit}",
        )
    english2, sql2 = _condition(rng, table)
    word, operator = rng.choice([("and", "AND"), ("or", "OR")])
    return (
        f"Find the {columns[0]} of {table} {english} {word} {english2}",
        f"SELECT {columns[0]} FROM {table} WHERE {sql} {operator} {sql2}",
    )


def _join(rng: Rng) -> tuple[str, str]:
    table, key, other, name = rng.choice(JOINS)
    english, sql = _condition(rng, other)
    column = rng.choice([column for column in TABLES[table] if column not in ("id", key)])
    if rng.random() < 0.4:
        return (
            f"Count the {table} for each of the {other}",
            f"SELECT {other}.{name}, COUNT(*) FROM {table} JOIN {other} ON {table}.{key} = {other}.id GROUP BY {other}.{name}",
        )
    return (
        f"Show the {column.replace('_', ' ')} of {table} of {other} {english}",
        f"SELECT {table}.{column}, {other}.{name} FROM {table} JOIN {other} ON {table}.{key} = {other}.id WHERE {other}.{sql}",
    )


def _write(rng: Rng) -> tuple[str, str]:
    who = person(rng)
    table = rng.choice(list(TABLES))
    shape = rng.random()
    if shape < 0.35:
        mail = f"{ascii_lower(who.first)}@example.com"
        return (
            f"Add the user {who.name}, {who.age} years old, from {who.city}",
            f"INSERT INTO users (name, age, email, city) VALUES ('{who.name}', {who.age}, '{mail}', '{who.city}')",
        )
    if shape < 0.5:
        thing, price, stock = rng.choice(words.PRODUCTS), rng.randint(1, 300), rng.randint(0, 99)
        return (
            f"Add {a(thing)} that costs {price}",
            f"INSERT INTO products (name, price, stock) VALUES ('{thing}', {price}, {stock})",
        )
    english, sql = _condition(rng, table)
    if shape < 0.65:
        return f"Delete the {table} {english}", f"DELETE FROM {table} WHERE {sql}"
    number = rng.choice([name for name, kind in TABLES[table].items() if kind == "int" and name != "id"])
    value = rng.randint(1, 99)
    if shape < 0.8:
        return (
            f"Set the {number.replace('_', ' ')} to {value} for {table} {english}",
            f"UPDATE {table} SET {number} = {value} WHERE {sql}",
        )
    columns = ", ".join(
        name + " " + _SQL_TYPES[kind] + (" PRIMARY KEY" if name == "id" else " NOT NULL" if rng.random() < 0.2 else "")
        for name, kind in TABLES[table].items()
    )
    return f"Create a table for {table}", f"CREATE TABLE {table} ({columns})"


def sql(rng: Rng) -> str:
    """``Question: ...`` / ``-- ...`` and the statement."""
    style = rng.choice(
        [
            "-- {}\n{};",
            "-- {}\n{};",
            "Question: {}\nSQL: " + BOUNDARY + "{};",
            "Question: {}\nSQL: " + BOUNDARY + "{};",
            "{}.\n```sql\n{};\n```",
            "{}:\n{};",
        ]
    )
    documents = []
    for _ in range(rng.choice([1, 1, 1, 2, 3]) if "```" not in style else 1):
        english, statement = rng.choice([_select, _select, _select, _join, _write])(rng)
        if english.endswith("?") and style[0] == "{":
            english = english[:-1]
        if rng.random() < 0.1:
            statement = statement.replace(" FROM", "\nFROM").replace(" WHERE", "\nWHERE")
        documents.append(style.format(english, statement))
    return "\n\n".join(documents) if style.startswith("--") else "\n".join(documents)
