"""The command line itself: what all verbs hang on, and how errors are shown."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from rich.panel import Panel
from rich.text import Text
from typer.core import TyperGroup

from .. import __version__
from ..errors import DerivableError
from .options import terminal

__all__ = ["app", "main"]


class _Commands(TyperGroup):
    """Shows the errors of Derivable as messages."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except DerivableError as error:
            terminal(stderr=True).print(
                Panel(Text(str(error)), title=type(error).__name__, title_align="left", border_style="red")
            )
            raise typer.Exit(2) from None


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Constrain what a language model can say: regular expressions, grammars, JSON Schemas, choices.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"derivable {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point of the `derivable` command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that cannot show a character gets a question mark, no crash
            stream.reconfigure(errors="replace")
    app(prog_name="derivable")
