"""A request becomes records and a report, and whatever goes wrong is said and kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wm_core import BenchmarkRunner
from wm_core.errors import CheckpointError, StoreError, UsageError
from wm_core.plan import Request, parse_seeds, plan
from wm_core.random_policy import RandomPolicy
from wm_core.runner import exit_code
from wm_core.specs import RunReport
from wm_core.store import RunDirectory


def measure(out: Path, faulty: str, name: str, game: str = "wm/Catch-v0", **fields: Any) -> RunReport:
    """Run one of the faulty agents through the planner and the runner."""
    workers = fields.pop("workers", 1)
    plugins = [f"{faulty}:{name}", f"{faulty}:FAULTY_ENVS"]
    fields = {"seeds": [0], "episodes": 4, "num_envs": 2} | fields
    agent = {"RANDOM": "random"}.get(name, name.lower().replace("_", ""))
    if name == "RANDOM":
        plugins = plugins[1:]
    if name == "NEEDS":
        agent = "evaluates"
    spec = plan(Request(agent=agent, games=[game], plugins=plugins, **fields))
    return BenchmarkRunner(agent=agent, out_dir=out, workers=workers).execute(spec)


def test_a_class_is_measured_from_python(tmp_path: Path) -> None:
    report = BenchmarkRunner(adapter_cls=RandomPolicy, out_dir=tmp_path).run(
        env_spec={"game": "wm/Catch-v0"}, seeds=[0, 1], num_episodes=5
    )
    assert report.coverage.complete
    assert len(report.aggregate.per_seed_means) == 2
    assert json.loads((tmp_path / "benchmark_results.json").read_text())["agent"] == "RandomPolicy"
    for suffix in ("csv", "md", "tex"):
        assert (tmp_path / f"benchmark_results.{suffix}").stat().st_size > 0


def test_a_run_done_again_measures_nothing_and_reports_the_same(tmp_path: Path) -> None:
    runner = BenchmarkRunner(agent="random", out_dir=tmp_path)
    first = runner.run("wm/Catch-v0", [0], 6)
    before = (tmp_path / "episodes.jsonl").read_text().count('"episode"')
    second = runner.run("wm/Catch-v0", [0], 6)
    assert (tmp_path / "episodes.jsonl").read_text().count('"episode"') == before
    assert second.games == first.games


def test_processes_and_one_process_give_the_same_report(tmp_path: Path) -> None:
    serial = BenchmarkRunner(agent="random", out_dir=tmp_path / "a").run("wm/Catch-v0", [0, 1, 2], 5)
    parallel = BenchmarkRunner(agent="random", out_dir=tmp_path / "b", workers=2).run("wm/Catch-v0", [0, 1, 2], 5)
    assert parallel.games == serial.games
    assert parallel.aggregate == serial.aggregate


def test_an_adapter_with_an_evaluate_of_its_own_is_measured_by_it(tmp_path: Path, faulty: str) -> None:
    report = measure(tmp_path, faulty, "CONSTANT", seeds=[0, 3])
    assert [seed.episode_returns for seed in report.games[0].seeds] == [
        (0.0, 0.1, 0.2, 0.3),
        (3.0, 3.1, 3.2, 3.3),
    ]


@pytest.mark.parametrize(
    ("name", "measured", "message"),
    [
        ("RETURNS_NAN", 3, "nan for episode 1"),
        ("RETURNS_TEXT", 0, "expected {'episode_returns'"),
        ("RETURNS_WORDS", 0, "'1.0', 'two'"),
        ("RETURNS_FEWER", 3, "returned only 3 episodes"),
        ("RETURNS_MORE", 0, "returned 5 episodes"),
        ("RAISES", 0, "act() raised RuntimeError: the policy broke over two lines"),
        ("ACTS_OUTSIDE", 0, "the action 99"),
        ("EXITS", 0, "SystemExit: 3"),
        ("SPEAKS_GIBBERISH", 0, "not text: \\udcff"),
        ("RETURNS_HUGE", 0, "1.7e+308"),
    ],
)
def test_an_agent_that_goes_wrong_is_measured_in_part(
    tmp_path: Path, faulty: str, name: str, measured: int, message: str
) -> None:
    report = measure(tmp_path, faulty, name)
    assert report.coverage.measured == measured
    assert message in report.failures[0].message
    assert exit_code(report) == 1
    assert report.aggregate.per_seed_means == (None,)


def test_an_environment_that_raises_costs_only_its_own_episodes(tmp_path: Path, faulty: str) -> None:
    report = measure(tmp_path, faulty, "RANDOM", "faulty/Crashing-v0", episodes=12, num_envs=3)
    failed = {failure.episode for failure in report.failures}
    recorded = RunDirectory.attach(tmp_path).episodes().popitem()[1]
    assert failed
    assert failed | set(recorded) == set(range(12))
    assert not failed & set(recorded)
    assert all("the game went away" in failure.message for failure in report.failures)
    assert exit_code(report) == 1


def test_a_reward_that_is_not_a_number_is_never_averaged(tmp_path: Path, faulty: str) -> None:
    report = measure(tmp_path, faulty, "RANDOM", "faulty/NaN-v0", episodes=12, num_envs=3)
    assert report.failures
    assert report.coverage.measured == 12 - len(report.failures)
    assert report.games[0].seeds[0].mean == 5.0


def test_a_worker_that_dies_without_a_word_is_a_failure_with_its_signal(tmp_path: Path, faulty: str) -> None:
    report = measure(tmp_path, faulty, "SUICIDAL", workers=2, seeds=[0])
    assert "signal 9" in report.failures[0].message
    assert exit_code(report) == 1


def test_a_worker_that_ends_without_finishing_is_a_failure(tmp_path: Path, faulty: str) -> None:
    report = measure(tmp_path, faulty, "DIES_QUIETLY", workers=2, seeds=[0])
    assert "exit code 0" in report.failures[0].message
    assert exit_code(report) == 1


def test_an_agent_that_changes_directory_loses_nothing(
    tmp_path: Path, faulty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report = measure(Path("out"), faulty, "CHANGES_DIRECTORY")
    assert report.coverage.complete
    assert (tmp_path / "out" / "benchmark_results.json").exists()


def test_a_checkpoint_that_changes_in_mid_run_is_not_measured(tmp_path: Path, faulty: str) -> None:
    weights = tmp_path / "w"
    weights.write_text("1")
    request = Request(
        agent="learner", plugins=[f"{faulty}:LEARNER"], games=["wm/Catch-v0"], checkpoint=weights, episodes=2
    )
    spec = plan(request)
    weights.write_text("2")
    report = BenchmarkRunner(agent="learner", out_dir=tmp_path / "out").execute(spec)
    assert "has changed since this run began" in report.failures[0].message
    assert report.coverage.measured == 0


def test_a_changed_plugin_file_is_another_run(tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    text = (
        "from wm_core.random_policy import RandomPolicy as Mine\n"
        "from wm_core.specs import AgentManifest\n"
        "IT = AgentManifest(name='mine', adapter=f'{__file__}:Mine', needs_checkpoint=False)\n"
    )
    plugin.write_text(text)
    request = Request(agent="mine", plugins=[f"{plugin}:IT"], games=["wm/Catch-v0"])
    before = plan(request)
    plugin.write_text(text + "# changed\n")
    assert list(before.differences(plan(request))) == ["code_sha256"]


def test_training_comes_first_when_it_is_asked_for(tmp_path: Path, faulty: str) -> None:
    from wm_core.specs import TrainBudget

    report = measure(tmp_path, faulty, "LEARNER", train=TrainBudget(epochs=3))
    assert (tmp_path / "training" / "wm_Catch-v0.seed0" / "weights.txt").read_text() == "3"
    assert report.trained_here == TrainBudget(epochs=3)
    assert report.games[0].seeds[0].checkpoint_sha256 is not None
    assert "training run" in report.seeds_vary


def test_a_finished_training_is_not_done_again(tmp_path: Path, faulty: str) -> None:
    from wm_core.specs import TrainBudget

    measure(tmp_path, faulty, "LEARNER", train=TrainBudget(epochs=3))
    lines = (tmp_path / "episodes.jsonl").read_text().splitlines()
    (tmp_path / "episodes.jsonl").write_text("\n".join(lines[:-1]) + "\n")
    measure(tmp_path, faulty, "LEARNER", train=TrainBudget(epochs=3))
    assert (tmp_path / "training" / "wm_Catch-v0.seed0" / "weights.txt").read_text() == "3"


def test_weights_that_changed_after_training_are_not_measured(tmp_path: Path, faulty: str) -> None:
    from wm_core.specs import TrainBudget

    measure(tmp_path, faulty, "LEARNER", train=TrainBudget(epochs=3))
    lines = (tmp_path / "episodes.jsonl").read_text().splitlines()
    (tmp_path / "episodes.jsonl").write_text("\n".join(lines[:-1]) + "\n")
    (tmp_path / "training" / "wm_Catch-v0.seed0" / "weights.txt").write_text("4")
    report = measure(tmp_path, faulty, "LEARNER", train=TrainBudget(epochs=3))
    assert "has changed since it was trained" in report.failures[0].message


def test_what_a_checkpoint_was_trained_on_is_what_it_is_measured_on(faulty: str, tmp_path: Path) -> None:
    weights = tmp_path / "w"
    weights.write_text("1")
    spec = plan(Request(agent="wants32", plugins=[f"{faulty}:WANTS_32"], games=["wm/Catch-v0"], checkpoint=weights))
    assert spec.envs[0].image_size == (32, 32)
    explicit = plan(
        Request(
            agent="wants32",
            plugins=[f"{faulty}:WANTS_32"],
            games=["wm/Catch-v0"],
            checkpoint=weights,
            env_overrides={"image_size": [40, 40]},
        )
    )
    assert explicit.envs[0].image_size == (40, 40)


def needs(faulty: str, **fields: Any) -> Request:
    return Request(agent="evaluates", plugins=[f"{faulty}:NEEDS"], games=["wm/Catch-v0"], **fields)


def test_a_missing_checkpoint_is_refused_before_anything_runs(faulty: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="no checkpoint at"):
        plan(needs(faulty, checkpoint=tmp_path / "none.pt"))


def test_an_empty_checkpoint_is_refused(faulty: str, tmp_path: Path) -> None:
    (tmp_path / "empty.pt").touch()
    with pytest.raises(CheckpointError, match="is empty"):
        plan(needs(faulty, checkpoint=tmp_path / "empty.pt"))


def test_a_checkpoint_of_another_kind_ends_with_the_code_for_wrong_input(faulty: str, tmp_path: Path) -> None:
    (tmp_path / "bad.pt").write_bytes(b"bad weights")
    report = measure(tmp_path / "out", faulty, "NEEDS", checkpoint=tmp_path / "bad.pt")
    assert report.coverage.measured == 0
    assert exit_code(report) == 2


def test_no_checkpoint_names_the_ways_out(faulty: str) -> None:
    with pytest.raises(UsageError, match=r"evaluates needs a checkpoint: give -c PATH .*, or --untrained"):
        plan(needs(faulty))


def test_untrained_weights_are_marked(tmp_path: Path, faulty: str) -> None:
    from wm_core.specs import TrainBudget

    assert measure(tmp_path, faulty, "LEARNER", untrained=True).untrained
    for suffix in ("json", "csv", "md", "tex"):
        assert "untrained" in (tmp_path / f"benchmark_results.{suffix}").read_text().lower()
    with pytest.raises(UsageError, match="exclude each other"):
        plan(needs(faulty, untrained=True, train=TrainBudget(epochs=1)))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"episodes": 0}, "0 episodes"),
        ({"episodes": -3}, "-3 episodes"),
        ({"episodes": 10**20}, "must be 1 to"),
        ({"episodes": 2.5}, "must be 1 to"),
        ({"seeds": 3}, "no list of whole numbers"),
        ({"seeds": "012"}, "no list of whole numbers"),
        ({"seeds": [2**70]}, "too large"),
        ({"seeds": [0, 1, 0]}, "the seeds 0 are repeated"),
        ({"seeds": [-1]}, "seed -1 is negative"),
        ({"seeds": []}, "no seeds"),
        ({"num_envs": 0}, "0 environments"),
        ({"preset": "huge"}, "no preset 'huge'"),
        ({"device": "gpu"}, "unknown device 'gpu'"),
        ({"device": "cuda"}, "not supported by this agent; it runs on cpu"),
        ({"checkpoint": __file__}, "random has no weights"),
        ({"games": ["ALE/Pnog-v5"]}, "ALE/Pong-v5"),
        ({"games": ["wm/Catch-v0", "wm/Catch-v0"]}, "named twice"),
        ({"env_overrides": {"colour": 1}}, "colour"),
        ({"protocol": "nonesuch"}, "nonesuch"),
    ],
)
def test_wrong_input_is_refused_before_anything_runs(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan(Request(**{"agent": "random", "games": ["wm/Catch-v0"], **fields}))


def test_more_environments_than_episodes_are_not_made() -> None:
    assert plan(Request(agent="random", episodes=3, num_envs=8)).num_envs == 3


@pytest.mark.parametrize(
    ("text", "seeds"), [("3", (0, 1, 2)), ("0", (0,)), ("0,1,5", (0, 1, 5)), ("7,", (7,)), ("1", (0,))]
)
def test_seeds_are_a_number_or_a_list(text: str, seeds: tuple[int, ...]) -> None:
    assert parse_seeds(text) == seeds


def test_an_absurd_number_of_seeds_is_refused() -> None:
    with pytest.raises(UsageError, match="for the one seed of that number: 99999999999,"):
        parse_seeds("99999999999")


@pytest.mark.parametrize("env", [None, 3, {}, {"game": 3}, []])
def test_a_game_that_is_no_text_is_refused(tmp_path: Path, env: Any) -> None:
    with pytest.raises(UsageError, match="env_spec names the game"):
        BenchmarkRunner(agent="random", out_dir=tmp_path).run(env)


def test_several_games_are_measured_in_one_run(tmp_path: Path) -> None:
    report = BenchmarkRunner(agent="random", out_dir=tmp_path).run(["wm/Catch-v0", "CartPole-v1"], [0], 2)
    assert [game.env.id for game in report.games] == ["wm/Catch-v0", "CartPole-v1"]
    assert report.aggregate.mean is None


@pytest.mark.parametrize("text", ["", "a", "1.5", "-2", "0,-1", ","])
def test_seeds_that_are_neither_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="neither a number of seeds"):
        parse_seeds(text)


def test_another_run_in_the_directory_is_refused(tmp_path: Path) -> None:
    runner = BenchmarkRunner(agent="random", out_dir=tmp_path)
    runner.run("wm/Catch-v0", [0], 2)
    with pytest.raises(StoreError, match="differs in: episodes"):
        runner.run("wm/Catch-v0", [0], 3)
    replaced = BenchmarkRunner(agent="random", out_dir=tmp_path, overwrite=True).run("wm/Catch-v0", [0], 3)
    assert replaced.coverage.planned == 3


def test_a_class_that_workers_cannot_import_is_measured_in_this_process(tmp_path: Path) -> None:
    class Local(RandomPolicy):
        """Reachable by no import statement."""

    report = BenchmarkRunner(adapter_cls=Local, out_dir=tmp_path).run("wm/Catch-v0", [0], 2)
    assert report.coverage.complete
    with pytest.raises(UsageError, match="inside a function"):
        BenchmarkRunner(adapter_cls=Local, out_dir=tmp_path / "b", workers=2).run("wm/Catch-v0", [0], 2)


def test_an_interval_from_one_seed_is_refused_with_its_reason(tmp_path: Path) -> None:
    report = BenchmarkRunner(agent="random", out_dir=tmp_path).run("wm/Catch-v0", [0], 3)
    assert report.aggregate.mean is not None
    assert report.aggregate.mean.lo is None
    assert "run" in str(report.aggregate.mean.refused)
