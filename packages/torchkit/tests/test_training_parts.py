from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from wm_core.errors import UsageError
from wm_torchkit.training.clock import Clock
from wm_torchkit.training.metrics import EpochMeans
from wm_torchkit.training.progress import ProgressDisplay, TrainingProgress
from wm_torchkit.training.schedule import Component, Periodic, Phase, Schedule


def test_the_phases_of_iris_start_and_stop_in_the_published_epochs() -> None:
    tokenizer, collection = Phase(200, start_after=5), Phase(200, stop_after=500)
    assert [tokenizer(epoch) for epoch in (1, 5, 6, 600)] == [0, 0, 200, 200]
    assert [collection(epoch) for epoch in (1, 500, 501)] == [200, 200, 0]


def test_totals_count_every_epoch_of_the_schedule() -> None:
    schedule = Schedule(
        7,
        [
            Component("a", dict, Phase(3, start_after=2)),
            Component("b", dict, lambda epoch: 10 if epoch == 1 else 1),
        ],
        [Periodic("e", 3, lambda epoch: {})],
    )
    assert schedule.totals() == {"a": 15, "b": 16, "e": 3}


@pytest.mark.parametrize(
    ("epochs", "names", "every", "words"),
    [
        (0, ["a"], 1, "0 epochs"),
        (1, ["a", "a"], 1, "one name"),
        (1, [], 1, "trains nothing"),
        (1, ["a"], 0, "every 0"),
    ],
)
def test_schedules_that_make_no_sense_are_refused(epochs: int, names: list, every: int, words: str) -> None:
    components = [Component(name, dict, Phase(1)) for name in names]
    with pytest.raises(UsageError, match=words):
        Schedule(epochs, components, [Periodic("e", every, lambda epoch: {})])


def test_the_time_left_is_the_steps_left_times_their_measured_duration() -> None:
    clock = Clock({"a": 10, "b": 4}, {"a": 1.0, "b": 1.0})
    assert clock.seconds_left == 0
    for _ in range(4):
        clock.tick("a", 2.0)
    clock.tick("b", 5.0)
    assert clock.all_measured
    assert clock.seconds_left == pytest.approx(6 * 2 + 3 * 5)
    assert clock.done == pytest.approx(13 / 40)


def test_a_part_that_has_not_started_is_guessed_from_its_cost() -> None:
    clock = Clock({"cheap": 10, "dear": 10}, {"cheap": 1.0, "dear": 6.0})
    clock.tick("cheap", 0.5)
    assert not clock.all_measured
    assert clock.seconds_left == pytest.approx(9 * 0.5 + 10 * 3.0)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0.001, 10)), max_size=30))
def test_the_share_done_never_falls_and_the_clock_goes_on_after_a_restore(
    ticks: list[tuple[str, float]],
) -> None:
    totals, costs = {"a": 30, "b": 30}, {"a": 1.0, "b": 2.0}
    clock, shares = Clock(totals, costs), []
    for name, seconds in ticks:
        clock.tick(name, seconds)
        shares.append(clock.done)
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)
    other = Clock(totals, costs)
    other.load_state_dict(clock.state_dict())
    assert other.seconds_left == clock.seconds_left


def test_means_count_only_the_steps_that_gave_the_metric() -> None:
    means = EpochMeans()
    means.add("collect", {"return": 3.0})
    means.add("collect", {})
    means.add("collect", {"return": 5.0})
    restored = EpochMeans()
    restored.load_state_dict(means.state_dict())
    assert means.means() == restored.means() == {"collect/return": 4.0}
    means.clear()
    assert means.means() == {}


def progress(epoch: int = 3, **changes: object) -> TrainingProgress:
    values = {
        "done": 0.25,
        "seconds_left": 3 * 3600 + 300.0,
        "all_measured": True,
        "epoch": epoch,
        "epochs": 600,
        "part": "tokenizer",
        "step": 12,
        "steps": 200,
        "env_steps": 1234,
        "metrics": {"tokenizer/loss": 0.125},
    }
    return TrainingProgress(**{**values, **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "3 h 05 min"),
        ({"seconds_left": 20.0}, "20 s"),
        ({"seconds_left": 600.0}, "10 min"),
        ({"all_measured": False}, "~3 h 05 min"),
        ({"seconds_left": 0.0}, "?"),
        ({"seconds_left": 0.0, "done": 1.0}, "0 s"),
    ],
)
def test_the_time_left_in_words(changes: dict, words: str) -> None:
    assert progress(**changes).time_left() == words


def test_a_terminal_shows_schedule_part_and_metrics() -> None:
    out = io.StringIO()
    with ProgressDisplay("iris", Console(file=out, force_terminal=True, width=120)) as show:
        show(progress())
    text = out.getvalue()
    for words in (
        "iris",
        "25.0%",
        "epoch 3/600",
        "1234 env steps",
        "3 h 05 min left",
        "tokenizer",
        "12/200",
        "0.125",
    ):
        assert words in text


def test_without_a_terminal_there_is_one_line_an_epoch() -> None:
    out = io.StringIO()
    with ProgressDisplay("iris", Console(file=out, width=120)) as show:
        for epoch in (1, 1, 2):
            show(progress(epoch))
    assert out.getvalue().splitlines() == [
        " 25.0%  epoch 1/600  tokenizer 12/200  3 h 05 min left",
        " 25.0%  epoch 2/600  tokenizer 12/200  3 h 05 min left",
    ]
