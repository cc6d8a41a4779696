"""benchmark_results.tex: balanced and escaped whatever the names are, and compiled where there is a pdflatex."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core.errors import StoreError
from wm_core.reporting import export_latex
from wm_core.reporting.formatting import one_line
from wm_core.reporting.latex import combined_to_latex, to_latex
from wm_core.reporting.latex_text import _ESCAPES, escape, mathematics
from wm_core.specs import RunReport

MakeReport = Callable[..., RunReport]
Renamed = Callable[[RunReport, str], RunReport]

NASTY = r"""*[x] \end{table} $&#_%~^ {} "<|>" --flag ''--,,`` naïve ½ 世界 🦊 ± — \\"""
PAPER = r"""\documentclass[twocolumn]{article}
\usepackage{booktabs}
\begin{document}
Before.
\input{single.tex}
Between.
\input{several.tex}
After.
\end{document}
"""

needs_latex = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")


def unescape(text: str) -> str:
    """Plain text again: the inverse of `escape`."""
    for character, command in sorted(_ESCAPES.items(), key=lambda pair: -len(pair[1])):
        text = text.replace(command, f"\1{ord(character)}\2")
    return re.sub("\1(\\d+)\2", lambda match: chr(int(match[1])), text.replace("{}", ""))


def assert_sound(text: str) -> None:
    """Environments nest, braces match, and every row of a table has its columns."""
    body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    bare = re.sub(r"\\[^A-Za-z]", "", body)
    assert "%" not in bare
    assert "#" not in bare
    assert bare.count("$") % 2 == 0
    depth = 0
    for character in bare:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    open_environments: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{([a-z*]+)\}", body.partition(r"\fi")[2]):
        if kind == "begin":
            open_environments.append(name)
        else:
            assert open_environments.pop() == name
    assert open_environments == []
    for columns, rows in re.findall(r"\\begin\{tabular\}\{@\{\}([lr]+)@\{\}\}(.*?)\\end\{tabular\}", body, re.DOTALL):
        lines = [line for line in rows.splitlines() if line.endswith(r"\\")]
        assert lines
        assert {len(re.findall(r"(?<!\\)&", line.replace(r"\\", ""))) + 1 for line in lines} == {len(columns)}


@settings(deadline=None, max_examples=50)
@given(text=st.text())
def test_any_name_leaves_the_document_sound(make_report: MakeReport, renamed: Renamed, text: str) -> None:
    report = renamed(make_report(), text)
    assert_sound(to_latex(report))
    assert_sound(combined_to_latex([report, make_report()]))


@settings(deadline=None, max_examples=200)
@given(st.text(alphabet="\\{}$&#_%~^<>|\"[]*±—†-',`?! ab1"))
def test_an_escaped_name_has_no_bare_special_and_reads_as_it_was(text: str) -> None:
    assert unescape(escape(text)) == one_line(text)
    rest = escape(text)
    for command in sorted(_ESCAPES.values(), key=len, reverse=True):
        rest = rest.replace(command, "x")
    assert not set(rest.replace("{}", "")) & set('\\{}$&#_%~^<>|"[]*')


def test_what_the_fonts_lack_is_named_by_its_number() -> None:
    assert escape("naïve 世") == r"naïve \textless{}U+4E16\textgreater{}"


def test_neighbours_that_would_join_are_kept_apart() -> None:
    assert escape("--a ''") == "-{}-a '{}'"


@pytest.mark.parametrize(
    ("text", "mathematical"),
    [
        ("-20.70 ± 0.41", r"$-20.70 \pm 0.41$"),
        ("1.0 [-2.0, 3.0]", r"$1.0\ [-2.0, 3.0]$"),
        ("— (0/6)", r"$\mbox{\textemdash}\ (0/6)$"),
        ("-1.250e+09", r"$-1.250\times 10^{9}$"),
        ("1.0e-07", r"$1.0\times 10^{-7}$"),
        ("", ""),
    ],
)
def test_numbers_are_set_in_mathematics(text: str, mathematical: str) -> None:
    assert mathematics(text) == mathematical


def test_a_long_table_is_cut_into_pages(make_report: MakeReport) -> None:
    text = to_latex(make_report({f"wm/{place}": [[1.0]] for place in range(90)}, planned=1, checkpoints={}))
    assert text.count(r"\begin{tabular}") == 3
    assert text.count("(continued)") == 2
    assert len(set(re.findall(r"\\label\{.*\}", text))) == 3
    assert_sound(text)


def test_the_table_says_how_it_was_measured(make_report: MakeReport) -> None:
    text = to_latex(make_report({"ALE/Pong-v5": [[1.0], []]}, failures=["it broke"]))
    assert r"AgentFailure: it broke." in text
    assert r"\emph{Checkpoint:} ALE/Pong-v5 Pong-v5.pt (ab12ab12ab12) (SHA-256)." in text
    assert r"protocol atari100k; image\_size={[}64,64{]}, frame\_skip=4." in text
    assert "% Checkpoint: ALE/Pong-v5: weights/Pong-v5.pt, SHA-256 ab12ab12ab12" in text
    assert r"95\% percentile bootstrap over seeds" in text


def test_one_report_or_several_are_exported(tmp_path: Path, make_report: MakeReport) -> None:
    report = make_report()
    export_latex(report, tmp_path / "paper" / "one.tex")
    export_latex([report, make_report(agent="diamond")], tmp_path / "paper" / "two.tex")
    assert (tmp_path / "paper" / "one.tex").read_text() == to_latex(report)
    assert "diamond" in (tmp_path / "paper" / "two.tex").read_text()


def test_an_export_with_a_number_that_is_not_finite_is_refused(tmp_path: Path, make_report: MakeReport) -> None:
    with pytest.raises(StoreError, match="wall_time_s"):
        export_latex(make_report().model_copy(update={"wall_time_s": float("inf")}), tmp_path / "one.tex")


@needs_latex
@pytest.mark.parametrize("several", [False, True])
def test_it_compiles_as_it_is(tmp_path: Path, make_report: MakeReport, renamed: Renamed, several: bool) -> None:
    report = renamed(make_report(failures=["x"], untrained=True), NASTY)
    export_latex([report, make_report({"ALE/Boxing-v5": [[1.0], []]})] if several else report, tmp_path / "a.tex")
    assert "1 page" in compile_latex(tmp_path / "a.tex")


@needs_latex
def test_it_goes_into_a_paper(tmp_path: Path, make_report: MakeReport, renamed: Renamed) -> None:
    export_latex(renamed(make_report(), NASTY), tmp_path / "single.tex")
    export_latex([make_report(agent=f"agent_{place}") for place in range(6)], tmp_path / "several.tex")
    (tmp_path / "paper.tex").write_text(PAPER)
    log = compile_latex(tmp_path / "paper.tex")
    assert re.search(r"Output written on paper.pdf \(\d pages", log)
    assert "Float too large" not in log


def compile_latex(path: Path) -> str:
    """The log of a run of pdflatex that found no error."""
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", path.name],
        cwd=path.parent,
        capture_output=True,
        timeout=60,
        check=False,
    )
    log = path.with_suffix(".log").read_text(encoding="latin-1")
    assert done.returncode == 0, log[-3000:]
    return log
