"""A table as every output shares it: plain text, and marks that point to notes. Renderers add the markup."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass

DAGGER = "†"
UNTRAINED = "untrained: fresh weights were measured, on request; not a result of the trained agent"


@dataclass(frozen=True)
class Entry:
    """What stands in one place of a table."""

    text: str
    marks: tuple[str, ...] = ()
    figures: bool = False
    """Numbers: set in mathematics by LaTeX, and to the right."""
    bold: bool = False
    """The best of its row."""


@dataclass(frozen=True)
class Table:
    """Columns, and rows in groups with a rule between them."""

    title: str
    caption: str
    """What the entries are: the spread, the interval's level and method."""
    columns: tuple[Entry, ...]
    groups: tuple[tuple[tuple[Entry, ...], ...], ...]
    notes: tuple[tuple[str, str], ...] = ()
    """Mark and text. The mark is empty where a note concerns the whole table."""


class Notes:
    """Gives equal notes one mark, in the order of first use: a, b, ..., z, aa, ab, ..."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}
        self._general: list[tuple[str, str]] = []

    def mark(self, text: str) -> str:
        """The mark of a note, new or known."""
        if text not in self._marks:
            self._marks[text] = _letters(sum(mark != DAGGER for mark in self._marks.values()))
        return self._marks[text]

    def untrained(self) -> str:
        """The mark of untrained weights, the same in every output."""
        self._marks[UNTRAINED] = DAGGER
        return DAGGER

    def add(self, texts: Sequence[str]) -> None:
        """Notes on the whole table."""
        self._general += [("", text) for text in texts]

    def all(self) -> tuple[tuple[str, str], ...]:
        """Every note as (mark, text); marked ones first."""
        return (*((mark, text) for text, mark in self._marks.items()), *self._general)


def words(text: str, *marks: str) -> Entry:
    """An entry of text."""
    return Entry(text, marks)


def figures(text: str, *marks: str, bold: bool = False) -> Entry:
    """An entry of numbers."""
    return Entry(text, marks, figures=True, bold=bold)


def _letters(place: int) -> str:
    letters = ""
    place += 1
    while place:
        place, letter = divmod(place - 1, 26)
        letters = string.ascii_lowercase[letter] + letters
    return letters
