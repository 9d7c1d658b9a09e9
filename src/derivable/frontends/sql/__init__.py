"""SQL whose tables, columns and functions exist.

sources ─▶ grammar ─▶ meaning ─▶ lookup ─▶ scopes
"""
