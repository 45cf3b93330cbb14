"""The language a route admits, as expressions over bytes. Knows bytes only, never a token."""

from .automaton import accepts, advance, forced
from .expr import END, State

__all__ = ["END", "State", "accepts", "advance", "forced"]
