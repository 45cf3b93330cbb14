"""Language × vocabulary: the only place where they meet."""

from .matcher import Matcher
from .table import MaskTable
from .token_mask import TokenMask

__all__ = ["MaskTable", "Matcher", "TokenMask"]
