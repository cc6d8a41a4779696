"""The table of learning runs: which are done, and how long they were. Their scores are the suite's affair."""

from __future__ import annotations

from wm_core.reporting.formatting import NONE
from wm_core.reporting.layout import Entry, Notes, Table, figures, words
from wm_core.specs import GameResult, RunReport, SeedResult

ACTED = "the agent does not train: it acted for a whole learning run"
_CAPTION = (
    "Each cell is one learning run, from its first step to its last. What it is worth is computed from its log by the "
    "suite (suite.json, .csv, .md, .tex); a mean return would say something else."
)
_COLUMNS = (words("Game"), words("Seed"), words("Learning run"), figures("Episodes"), figures("Steps"))


def learning_table(report: RunReport, title: str) -> Table:
    """A row a learning run."""
    notes = Notes()
    groups = tuple(tuple(_row(game, seed, notes) for seed in game.seeds) for game in report.games)
    return Table(title, _CAPTION, _COLUMNS, groups, notes.all())


def learning_entry(game: GameResult, notes: Notes) -> Entry:
    """What stands for a game of learning runs in a table of returns."""
    return figures(NONE, notes.mark("learning runs, which the suite scores (suite.md)"))


def _row(game: GameResult, seed: SeedResult, notes: Notes) -> tuple[Entry, ...]:
    record = seed.learning
    if record is None:
        return (words(game.env.id), words(str(seed.seed)), words("not done"), figures(NONE), figures(NONE))
    marks = () if record.learned else (notes.mark(ACTED),)
    return (
        words(game.env.id),
        words(str(seed.seed)),
        words("done", *marks),
        figures(str(record.episodes)),
        figures(str(record.steps)),
    )
