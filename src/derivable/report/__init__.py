"""What is slow about a grammar and a vocabulary, and why: measured (`report`), and as a page."""

from .situations import Report, Situation, report

__all__ = ["Report", "Situation", "report"]
