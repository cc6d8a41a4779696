"""Tables of a suite's own scores: what is incomplete never has a number."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from wm_core.provenance import collect
from wm_core.reporting.suite_tables import tag_means, write_suite_scores
from wm_core.specs import EnvSpec, RunSpec, Suite, SuiteScore, SuiteScores
from wm_core.store import RunDirectory

SUITE = Suite(name="lessons", paper="arXiv:1908.03568", games={"catch": ("catch/0",), "bandit": ("bandit/0",)})


def row(group: str, seed: int, score: float | None, tags: tuple[str, ...] = ("basic",), detail: str = "") -> SuiteScore:
    return SuiteScore(
        group=group,
        seed=seed,
        score=score,
        complete=score is not None,
        done=20 if score is not None else 3,
        planned=20,
        detail=detail,
        tags=tags,
    )


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    envs = tuple(EnvSpec(requested=game, id=game, backend="catch") for game in SUITE.ids())
    spec = RunSpec(agent="iris", adapter="some.module:Adapter", envs=envs, seeds=(0, 1), episodes=1)
    return RunDirectory.create_or_resume(tmp_path / "run", spec, collect(spec))


def written(run: RunDirectory, *rows: SuiteScore, notes: tuple[str, ...] = ()) -> dict[str, str]:
    paths = write_suite_scores(SuiteScores(rows=rows, notes=notes), SUITE, run)
    assert all(path.parent == run.path and path.stem == "suite" for path in paths)
    return {path.suffix[1:]: path.read_text() for path in paths}


def test_a_group_has_its_mean_and_spread_over_complete_seeds(run: RunDirectory) -> None:
    found = written(run, row("catch", 0, 0.5), row("catch", 1, 0.7), row("bandit", 0, 1.0), row("bandit", 1, None))
    assert "| catch | basic | 2/2 | 40/40 | 0.600 ± 0.141 |" in found["md"]
    assert "| bandit | basic | 1/2 | 23/40 | 1.000<sup>a</sup> |" in found["md"]
    assert "over the complete seeds alone" in found["md"]


def test_what_is_incomplete_says_so_and_has_no_number_in_any_file(run: RunDirectory) -> None:
    guess = row("catch", 0, None).model_copy(update={"score": 0.123})
    found = written(run, guess, row("bandit", 0, 1.0))
    assert "incomplete 3/20" in found["md"]
    assert "incomplete 3/20" in found["tex"]
    assert not any("0.123" in text for text in found.values())
    assert json.loads(found["json"])["scores"]["rows"][0]["score"] is None
    assert next(csv.DictReader(found["csv"].splitlines()))["score"] == ""


def test_a_tag_has_a_score_only_where_all_its_groups_are_complete(run: RunDirectory) -> None:
    both = ("basic", "noise")
    found = written(run, row("catch", 0, 0.5), row("bandit", 0, 1.0, both), row("deep", 0, None, ("noise",)))
    assert "| basic | 2/2 | 0.750 |" in found["md"]
    assert "| noise | 1/2 | incomplete 1/2 |" in found["md"]


def test_a_tag_that_lacks_a_seed_is_marked(run: RunDirectory) -> None:
    found = written(run, row("catch", 0, 0.5), row("catch", 1, None))
    assert "| basic | 0/1 | 0.500<sup>a</sup> |" in found["md"]
    assert found["md"].count("over the complete seeds alone") == 2


def test_the_mean_of_a_tag_is_over_complete_seeds() -> None:
    rows = [row("a", 0, 0.2), row("b", 0, 0.4), row("a", 1, 0.6), row("b", 1, None)]
    assert tag_means(rows) == {0: pytest.approx(0.3)}


def test_coverage_details_and_notes_are_told(run: RunDirectory) -> None:
    found = written(
        run, row("catch", 0, 0.5, detail="takes no seed"), row("bandit", 0, None), notes=("of the official scorer",)
    )
    assert json.loads(found["json"])["coverage"] == {"measured": 1, "planned": 2}
    assert "Complete in all: 1/2" in found["md"]
    for text in ("takes no seed", "of the official scorer"):
        assert text in found["md"].lower()
        assert text in found["tex"].lower()
