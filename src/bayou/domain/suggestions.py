"""The nearest known word to one that is unknown."""

from collections.abc import Iterable
from difflib import get_close_matches


def suggestion(word: str, known: Iterable[str]) -> str:
    """End a sentence about an unknown word: `; did you mean "x"?`, or nothing where no known word is near."""
    by_folded = {option.casefold(): option for option in known}
    near = get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.55)
    return f'; did you mean "{by_folded[near[0]]}"?' if near else ""
