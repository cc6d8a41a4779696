"""benchmark_results.md."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core.reporting.formatting import one_line
from wm_core.reporting.markdown import combined_to_markdown, escape, to_markdown
from wm_core.specs import RunReport

MakeReport = Callable[..., RunReport]


def tables(text: str) -> list[list[str]]:
    """Blocks of lines that are rows of a table."""
    blocks = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    return [block.splitlines() for block in blocks]


@settings(deadline=None, max_examples=50)
@given(text=st.text())
def test_any_name_keeps_the_number_of_columns(
    make_report: MakeReport, renamed: Callable[[RunReport, str], RunReport], text: str
) -> None:
    report = renamed(make_report(), text)
    found = tables(to_markdown(report)) + tables(combined_to_markdown([report, make_report()]))
    assert [len(block) for block in found] == [6, 2 + len({report.games[0].env.id, "ALE/Pong-v5"}) + 4]
    for block in found:
        assert len({line.count("|") for line in block}) == 1


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet="\\`*_{}[]<>#~$!&@|ab 1\n"))
def test_an_escaped_name_reads_as_it_was(text: str) -> None:
    shown = re.sub(r"\\([\\`*_{}\[\]<>#~$!&@])", lambda match: f"&#{ord(match[1])};", escape(text))
    assert html.unescape(shown) == one_line(text)


def test_a_bare_special_character_is_never_left() -> None:
    assert escape("a_b|c*[d](e)") == r"a\_b&#124;c\*\[d\](e)"


def test_several_games_also_list_every_seed(make_report: MakeReport) -> None:
    text = to_markdown(make_report({"wm/A": [[1.0], [2.0]], "wm/B": [[3.0], [4.0]]}, planned=1))
    assert "## Seeds" in text
    assert "| wm/B | 1 | 1/1 | 4.00 |" in text


def test_the_environment_is_given_in_short_and_in_full(make_report: MakeReport) -> None:
    report = make_report(env={"resize": "pil-bilinear", "clip_rewards": True})
    text = to_markdown(report)
    assert (
        r"ALE/Pong-v5: backend atari, protocol atari100k; image\_size=\[64,64\], resize=pil-bilinear, frame\_skip=4, "
        r"clip\_rewards=true"
    ) in text
    assert report.games[0].env.model_dump_json() in text
    assert "- Requested: ALE/Pong-v5 as Pong-v5\n" in text
