"""What the model can say. Knows tokens only, never a grammar."""

from .vocabulary import Vocabulary, following

__all__ = ["Vocabulary", "following"]
