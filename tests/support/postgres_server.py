"""A PostgreSQL server of Debian's package, for as long as tests need it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

__all__ = ["NAME_STATES", "Server", "needs_postgres", "running"]

_FOLDERS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
needs_postgres = pytest.mark.skipif(not _FOLDERS or not shutil.which("runuser"), reason="needs Debian's postgresql")

NAME_STATES = {
    "42P01": "undefined_table",
    "42703": "undefined_column",
    "42702": "ambiguous_column",
    "42712": "duplicate_alias",
    "42P09": "ambiguous_alias",
    "42701": "duplicate_column",
    "42704": "undefined_object",
    "3F000": "invalid_schema_name",
}
"""PostgreSQL's states of errors about names. That of functions and operators is also one of their types."""

# PREPARE finds the names of a statement, and what its parameters are. Nothing is run.
_REFUSAL = """
CREATE FUNCTION refusal(statement text) RETURNS text LANGUAGE plpgsql AS $body$
DECLARE message text;
BEGIN
  EXECUTE 'PREPARE asked AS ' || statement;
  DEALLOCATE asked;
  RETURN '';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS message = MESSAGE_TEXT;
  RETURN SQLSTATE || ' ' || translate(message, E'\\n\\r', '  ');
END $body$;
"""


class Server:
    """A server, and a database of it.

    Attributes:
        folder: of its socket.
        database: name.
    """

    def __init__(self, folder: str, database: str) -> None:
        self.folder, self.database = folder, database
        self._functions: frozenset[str] = frozenset()

    def run(self, statements: str) -> list[str]:
        """Lines of what they give."""
        command = ["psql", "-h", self.folder, "-U", "postgres", "-d", self.database, "-XAtq", "-v", "ON_ERROR_STOP=1"]
        made = subprocess.run(command, input=statements, capture_output=True, text=True, check=False, timeout=300)
        assert not made.returncode, made.stderr
        return made.stdout.removesuffix("\n").split("\n")

    def create(self, database: str, statements: str) -> Server:
        """A new database."""
        self.run(f"CREATE DATABASE {database}")
        made = Server(self.folder, database)
        made.run(_REFUSAL + statements)
        return made

    def refusals(self, texts: Iterable[str]) -> list[str | None]:
        """What it has against each of some statements: the state and the message."""
        asked = [f"SELECT refusal(convert_from('\\x{text.encode().hex()}', 'UTF8'));" for text in texts]
        return [line or None for line in self.run("SET client_min_messages = error;\n" + "\n".join(asked))]

    def functions(self) -> frozenset[str]:
        """Names of those that there are when it is first asked."""
        if not self._functions:
            self._functions = frozenset(self.run("SELECT DISTINCT proname FROM pg_proc"))
        return self._functions

    def about_a_name(self, refusal: str | None) -> bool:
        """Something is not there, or is there twice."""
        if refusal is None:
            return False
        if refusal.startswith("42883 function "):
            return refusal.split("function ")[1].split("(")[0].strip('"') not in self.functions()
        return refusal[:5] in NAME_STATES and "text search configuration" not in refusal  # that is a string


@contextmanager
def running() -> Iterator[Server]:
    """A new server, with an empty database."""
    folder = tempfile.mkdtemp(prefix="derivable-postgres-")
    programs, data = _FOLDERS[-1], f"{folder}/data"
    begin: list[str] = []
    if os.geteuid() == 0:  # it refuses to run so
        shutil.chown(folder, "postgres")
        begin = ["runuser", "-u", "postgres", "--"]

    def run(program: str, *options: str) -> None:
        command = [*begin, f"{programs}/{program}", "-D", data, *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120)

    try:
        run("initdb", "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        run("pg_ctl", "-o", options, "-w", "-l", f"{folder}/log", "start")
        try:
            yield Server(folder, "postgres")
        finally:
            run("pg_ctl", "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
