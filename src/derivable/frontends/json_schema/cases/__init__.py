"""Schemas that must hold or fail, to cases."""
