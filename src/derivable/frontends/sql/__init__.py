"""SQL whose tables, columns and functions exist.

database ─▶ grammar ─▶ meaning ─▶ lookup ─▶ scopes
"""
