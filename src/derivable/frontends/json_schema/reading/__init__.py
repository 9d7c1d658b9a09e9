"""Schemas as they are written."""
