"""The terminal's tables."""

from __future__ import annotations

import io
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from wm_core.reporting.console import render_combined, render_table
from wm_core.specs import RunReport

MakeReport = Callable[..., RunReport]


def shown(table: Table, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_wide_result_fits_a_narrow_terminal_whole(make_report: MakeReport) -> None:
    games = {"ALE/PrivateEye-v5": [[68832.5], [51069.5]], "ALE/ChopperCommand-v5": [[7030.8], [6553.8]]}
    text = shown(render_table(make_report(games, planned=1)))
    assert max(map(len, text.splitlines())) <= 80
    assert "59951.0 ± 12560.3  [51069.5, 68832.5]  0.862" in text
    assert "ALE/ChopperCommand-v5" in text


def test_nothing_is_cut_off_on_a_very_narrow_terminal(make_report: MakeReport) -> None:
    text = shown(render_table(make_report()), width=40)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 40


def test_markup_in_a_name_is_shown_as_it_is(make_report: MakeReport) -> None:
    assert "[bold]iris[/]" in shown(render_table(make_report(agent="[bold]iris[/]")))
    assert "[red]x" in shown(render_combined([make_report(), make_report(agent="[red]x")]))


def test_coverage_notes_and_protocol_stand_below(make_report: MakeReport) -> None:
    text = shown(render_table(make_report({"wm/Catch-v0": [[1.0, 2.0, 3.0], [1.0]]}, untrained=True)))
    assert "Coverage: 4/6 episodes (incomplete)" in text
    assert "† untrained: fresh weights" in text
    assert "1/3 (a)" in text
    assert "protocol atari100k; image_size=[64,64], frame_skip=4" in " ".join(text.split())


def test_agents_stand_beside_each_other(make_report: MakeReport) -> None:
    text = shown(render_combined([make_report(), make_report(agent="diamond", untrained=True)]))
    assert "iris" in text
    assert "diamond†" in text
    assert max(map(len, text.splitlines())) <= 80
