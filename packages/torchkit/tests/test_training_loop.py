from __future__ import annotations

import logging
import os
import runpy
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from filelock import FileLock

from wm_core.errors import CheckpointError, DiskError, StoreError, UsageError
from wm_torchkit.checkpoint import CheckpointHeader, read_checkpoint, read_header
from wm_torchkit.nan_guard import NonFiniteError
from wm_torchkit.seeding import RandomStreams
from wm_torchkit.training.interruption import TrainingInterrupted
from wm_torchkit.training.loop import TrainingLoop
from wm_torchkit.training.progress import TrainingProgress
from wm_torchkit.training.schedule import Component, Periodic, Phase, Schedule

tiny = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("tiny_training.py"))))


def csv_lines(directory: Path) -> list[list[str]]:
    return [line.split(",") for line in (directory / "metrics.csv").read_text().splitlines()]


def loop_of(
    directory: Path, epochs: int, components: list[Component], periodic: Any = (), **options: Any
) -> TrainingLoop:
    return TrainingLoop(
        directory=directory,
        header=CheckpointHeader(agent="a", agent_format="a/1", config={"lr": 1, "net": {"width": 2}}),
        model=options.pop("model", torch.nn.Linear(1, 1)),
        state=options.pop("state", {}),
        random=RandomStreams(0),
        schedule=Schedule(epochs, components, periodic),
        **options,
    )


def test_components_run_in_order_from_their_epoch_on(tmp_path: Path) -> None:
    """As in IRIS, in small: later components start after their epoch, collection stops, all in one order."""
    seen: list[str] = []

    def part(name: str) -> Any:
        return lambda: (seen.append(name), {})[1]

    loop_of(
        tmp_path,
        4,
        [
            Component("collect", part("c"), Phase(2, stop_after=3), env_steps=5),
            Component("tokenizer", part("t"), Phase(1, start_after=1)),
            Component("actor", part("a"), Phase(1, start_after=2)),
        ],
        [Periodic("evaluation", 3, lambda epoch: (seen.append(f"e{epoch}"), {})[1])],
    ).run()
    assert seen == ["c", "c", "c", "c", "t", "c", "c", "t", "a", "e3", "t", "a", "e4"]
    header = read_header(tmp_path / "checkpoints" / "a-000004.safetensors")
    assert header.counters == {"epoch": 4, "updates": 11, "env_steps": 30}


def test_the_checkpoint_holds_the_model_and_says_what_it_is(tmp_path: Path) -> None:
    path, agent, _ = tiny.train(tmp_path, epochs=2)
    header, tensors = read_checkpoint(path, "tiny", "tiny/1")
    assert header.config == {"epochs": 2, "model": {"width": 16}}
    assert header.env == {"id": "Drift"}
    assert tensors.keys() == agent.state_dict().keys()
    assert all(tensors[name].equal(value) for name, value in agent.state_dict().items())


def test_metrics_are_means_over_the_epoch(tmp_path: Path) -> None:
    values = iter(range(100))
    component = Component("model", lambda: {"loss": torch.tensor(float(next(values)))}, Phase(4))
    loop_of(tmp_path, 2, [component]).run()
    assert csv_lines(tmp_path) == [
        ["epoch", "env_steps", "name", "value"],
        ["1", "0", "model/loss", "1.5"],
        ["2", "0", "model/loss", "5.5"],
    ]


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_saves_says_how_to_go_on_and_goes_on_exactly(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kind: signal.Signals
) -> None:
    def interrupt(update: int) -> None:
        if update == 40:
            os.kill(os.getpid(), kind)

    with pytest.raises(TrainingInterrupted, match=r"stopped in epoch 7 of 14; everything is saved"):
        tiny.train(tmp_path / "a", spoil=interrupt)
    assert "Run the same command again" in caplog.text
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    path, _, _ = tiny.train(tmp_path / "a")
    other, _, _ = tiny.train(tmp_path / "b")
    assert tiny.digest(path) == tiny.digest(other)
    assert csv_lines(tmp_path / "a") == csv_lines(tmp_path / "b")


def test_a_second_ctrl_c_stops_at_once(tmp_path: Path) -> None:
    def impatient() -> dict[str, float]:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        return {}

    with pytest.raises(KeyboardInterrupt) as caught:
        loop_of(tmp_path, 1, [Component("a", impatient, Phase(1))]).run()
    assert not isinstance(caught.value, TrainingInterrupted)


def test_a_finished_training_is_not_trained_again(tmp_path: Path) -> None:
    first, _, _ = tiny.train(tmp_path, epochs=3)
    before = tiny.digest(first)

    def never(update: int) -> None:
        raise AssertionError("trained again")

    second, agent, _ = tiny.train(tmp_path, epochs=3, spoil=never)
    assert (second, tiny.digest(second)) == (first, before)
    assert agent.state_dict()["value.1.weight"].equal(read_checkpoint(first, "tiny", "tiny/1")[1]["value.1.weight"])


def test_more_epochs_go_on_from_the_finished_ones(tmp_path: Path) -> None:
    tiny.train(tmp_path / "a", epochs=5)
    _, longer, _ = tiny.train(tmp_path / "a", epochs=8)
    _, whole, _ = tiny.train(tmp_path / "b", epochs=8)
    assert all(a.equal(b) for a, b in zip(longer.parameters(), whole.parameters(), strict=True))


def test_the_global_random_state_is_untouched_and_without_effect(tmp_path: Path) -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first, _, _ = tiny.train(tmp_path / "a", epochs=4)
    assert torch.get_rng_state().equal(before)
    torch.manual_seed(2)
    second, _, _ = tiny.train(tmp_path / "b", epochs=4)
    assert tiny.digest(first) == tiny.digest(second)


def test_evaluating_does_not_change_the_training(tmp_path: Path) -> None:
    weights = []
    for every in (1, 100):
        generator = RandomStreams(0)
        model = torch.nn.Linear(1, 1)
        torch.nn.init.zeros_(model.weight)

        def step(model: Any = model) -> dict[str, float]:
            model.weight.data += torch.rand(())
            return {}

        loop = TrainingLoop(
            directory=tmp_path / str(every),
            header=CheckpointHeader(agent="a", agent_format="a/1", config={}),
            model=model,
            state={},
            random=generator,
            schedule=Schedule(
                3, [Component("a", step, Phase(2))], [Periodic("e", every, lambda _: {"x": torch.rand(())})]
            ),
        )
        loop.run()
        weights.append(model.weight.item())
    assert weights[0] == weights[1]


def test_other_values_are_refused_by_name_and_a_permitted_one_is_honoured(tmp_path: Path) -> None:
    step = Component("a", dict, Phase(1))
    loop_of(tmp_path, 1, [step]).run()

    def again(config: dict[str, Any], env: dict[str, Any] = {}, **options: Any) -> None:  # noqa: B006
        TrainingLoop(
            directory=tmp_path,
            header=CheckpointHeader(agent="a", agent_format="a/1", config=config, env=env),
            model=torch.nn.Linear(1, 1),
            state={},
            random=RandomStreams(0),
            schedule=Schedule(2, [step]),
            **options,
        ).run()

    with pytest.raises(UsageError, match=r"other values \(1\): net\.width was 2, is 3"):
        again({"lr": 1, "net": {"width": 3}})
    with pytest.raises(UsageError, match=r"env\.id was None, is 'x'"):
        again({"lr": 1, "net": {"width": 2}}, {"id": "x"})
    again({"lr": 5, "net": {"width": 2}}, may_change=frozenset({"lr"}))


def test_a_training_whose_learning_log_was_moved_goes_on(tmp_path: Path) -> None:
    updates: list[int] = []

    def step() -> dict[str, float]:
        updates.append(1)
        return {}

    for epochs, log in ((1, "/before"), (2, "/after")):
        TrainingLoop(
            directory=tmp_path,
            header=CheckpointHeader(agent="a", agent_format="a/1", config={}, env={"options": {"log_dir": log}}),
            model=torch.nn.Linear(1, 1),
            state={},
            random=RandomStreams(0),
            schedule=Schedule(epochs, [Component("a", step, Phase(1))]),
        ).run()
    assert len(updates) == 2

    assert max(tmp_path.glob("checkpoints/a-*")).name == "a-000002.safetensors"


def test_another_seed_agent_model_or_state_is_refused(tmp_path: Path) -> None:
    step = Component("a", dict, Phase(1))
    loop_of(tmp_path, 1, [step], state={"x": torch.nn.Linear(1, 1)}).run()
    with pytest.raises(CheckpointError, match=r"differing: agent\.x"):
        loop_of(tmp_path, 2, [step]).run()
    with pytest.raises(CheckpointError, match="does not fit this Linear"):
        loop_of(tmp_path, 2, [step], state={"x": torch.nn.Linear(1, 1)}, model=torch.nn.Linear(2, 1)).run()
    header = CheckpointHeader(agent="a", agent_format="a/2", config={"lr": 1, "net": {"width": 2}})
    stale = loop_of(tmp_path, 2, [step])
    stale._header = header
    with pytest.raises(CheckpointError, match="'a/1'; this version reads 'a/2'"):
        stale.run()


def test_a_nan_loss_names_the_tensor_and_keeps_the_last_good_checkpoint(tmp_path: Path) -> None:
    path, _, _ = tiny.train(tmp_path, epochs=4)
    before = tiny.digest(path)

    def spoil(update: int) -> None:
        if update == 3:
            loop_agent.model[1].weight.data[0, 0] = torch.nan

    agents: list[Any] = []
    original = tiny.train.__globals__["Agent"]

    class Watched(original):
        def __init__(self) -> None:
            super().__init__()
            agents.append(self)

    tiny.train.__globals__["Agent"] = Watched
    try:
        loop_agent: Any = SimpleNamespace(model=None)
        with pytest.raises(NonFiniteError) as caught:
            tiny.train(
                tmp_path,
                epochs=8,
                spoil=lambda update: (setattr(loop_agent, "model", agents[-1].model), spoil(update)),
            )
    finally:
        tiny.train.__globals__["Agent"] = original
    assert "epoch 5: the loss of the model is not finite: 'loss' has 1 of 1" in str(caught.value)
    assert f"the last good checkpoint is {path}" in str(caught.value)
    assert tiny.digest(path) == before


def test_a_nan_parameter_is_never_saved(tmp_path: Path) -> None:
    model = torch.nn.Linear(1, 1)

    def spoil() -> dict[str, float]:
        model.bias.data.fill_(torch.nan)
        return {}

    with pytest.raises(NonFiniteError, match=r"a parameter is not finite: 'bias'.*no checkpoint was saved before"):
        loop_of(tmp_path, 1, [Component("a", spoil, Phase(1))], model=model).run()
    assert not list(tmp_path.glob("checkpoints/*"))


def test_a_nan_metric_stops_the_training(tmp_path: Path) -> None:
    component = Component("a", lambda: {"loss": torch.tensor(torch.inf)}, Phase(1))
    with pytest.raises(NonFiniteError, match="the metric 'a/loss' is inf"):
        loop_of(tmp_path, 1, [component]).run()


def test_two_trainings_in_one_directory_are_refused(tmp_path: Path) -> None:
    with FileLock(tmp_path / ".lock"), pytest.raises(StoreError, match="another process is training"):
        tiny.train(tmp_path)
    tiny.train(tmp_path, epochs=1)
    tiny.train(tmp_path, epochs=2)


def test_a_full_disk_while_rows_are_saved_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("wm_torchkit.replay_storage.RowFiles.append", full)
    with pytest.raises(DiskError, match="No space left on device"):
        tiny.train(tmp_path, epochs=2)


def test_progress_covers_the_whole_schedule_and_never_goes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wm_torchkit.training.loop._REPORT_EVERY_S", 0.0)
    seen: list[TrainingProgress] = []
    tiny.train(tmp_path, epochs=5, on_progress=seen.append)
    shares = [progress.done for progress in seen]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert seen[-1].seconds_left == 0
    assert not seen[0].all_measured
    assert seen[-1].all_measured
    assert {progress.part for progress in seen} == {"collect", "model", "value", "evaluation", "epoch"}
    assert seen[-1].env_steps == 60
    assert "model/loss" in seen[-1].metrics
    core = seen[20].for_core()
    assert (core.steps, core.done) == (seen[20].env_steps, seen[20].done)
    assert "epoch " in core.message


def test_tensorboard_gets_every_metric_once_even_after_an_interruption(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    def interrupt(update: int) -> None:
        if update == 15:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(TrainingInterrupted):
        tiny.train(tmp_path, epochs=4, tensorboard=True, spoil=interrupt)
    tiny.train(tmp_path, epochs=4, tensorboard=True)
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    logged = [(event.step, event.value) for event in events.Scalars("model/loss")]
    rows = [line for line in csv_lines(tmp_path) if line[2] == "model/loss"]
    assert [step for step, _ in logged] == [1, 2, 3, 4]
    assert [value for _, value in logged] == pytest.approx([float(row[3]) for row in rows])


def test_a_missing_tensorboard_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wm_torchkit.training.metrics.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"wm-torchkit\[tensorboard\]"):
        tiny.train(tmp_path, tensorboard=True)


def test_a_cut_metrics_file_is_warned_about_and_does_not_stop_the_training(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tiny.train(tmp_path, epochs=2)
    (tmp_path / "metrics.csv").unlink()
    with caplog.at_level(logging.WARNING):
        tiny.train(tmp_path, epochs=4)
    assert "metrics.csv was cut or removed" in caplog.text
    assert csv_lines(tmp_path)[0] == ["epoch", "env_steps", "name", "value"]


def test_a_checkpoint_interval_of_0_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="every 0 epochs"):
        loop_of(tmp_path, 1, [Component("a", dict, Phase(1))], checkpoint_every=0)
