"""Processes with others below them."""

from __future__ import annotations

import os
import signal
import subprocess

__all__ = ["end_group"]


def end_group(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    """Ends the group that a process leads: at first it is asked to, and after 30 s it is killed."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
    except ProcessLookupError:  # all of them have ended
        return
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
