"""SQL whose tables, columns and functions exist.

database ─▶ grammar ─▶ meaning ─▶ scopes
"""
