"""`apply_token_bitmask_inplace_triton`: the one kernel there is, by the name of xgrammar's."""

from . import apply_bitmask_inplace as apply_token_bitmask_inplace_triton

__all__ = ["apply_token_bitmask_inplace_triton"]
