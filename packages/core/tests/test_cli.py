"""The command line, as a person and as a machine use it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("torch", "numpy", "gymnasium", "pydantic", "rich")


def wmbench(*arguments: object, cwd: Path | None = None, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the command in an interpreter of its own and expect an exit code."""
    command = [sys.executable, "-m", "wm_core.cli.main", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False, timeout=120)
    assert done.returncode == code, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import sys\n"
        "from wm_core.cli.main import main\n"
        "try:\n"
        f"    main({arguments!r})\n"
        "except SystemExit as end:\n"
        "    assert end.code == 0, end.code\n"
        f"print('loaded:', [name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "loaded: []" in done.stdout


def test_every_command_has_help() -> None:
    from wm_core.cli.main import COMMANDS

    for command in COMMANDS:
        assert "--help" in wmbench(command, "--help").stdout


def test_a_run_prints_a_table_and_says_where_the_results_are(tmp_path: Path) -> None:
    done = wmbench("run", "-a", "random", "-n", 5, "--seeds", 2, "--out_dir", tmp_path / "out")
    assert "Catch" in done.stdout
    assert "benchmark_results.{json,csv,md,tex}" in done.stdout
    assert (tmp_path / "out" / "benchmark_results.tex").exists()


def test_a_terminal_gets_a_live_display(tmp_path: Path) -> None:
    import os
    import pty

    master, slave = pty.openpty()
    command = [
        *(sys.executable, "-m", "wm_core.cli.main", "run", "-a", "random", "-n", "40"),
        "--out-dir",
        str(tmp_path),
    ]
    process = subprocess.Popen(command, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        shown += part
    os.close(master)
    assert process.wait(timeout=60) == 0
    assert b"40/40" in shown
    assert b"mean return" in shown
    assert b"steps/s" in shown


def test_the_same_command_finds_its_run_again_without_an_out_dir(tmp_path: Path) -> None:
    wmbench("run", "-a", "random", "-n", 5, cwd=tmp_path)
    again = wmbench("run", "-a", "random", "-n", 5, cwd=tmp_path)
    wmbench("run", "-a", "random", "-n", 6, cwd=tmp_path)
    assert "5 there from before" in again.stderr
    assert len(list((tmp_path / "results").iterdir())) == 2


def test_json_gives_one_event_a_line_from_start_to_end(tmp_path: Path) -> None:
    done = wmbench("run", "-a", "random", "-n", 3, "--json", "--out-dir", tmp_path)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[0]["event"] == "started"
    assert events[-1]["event"] == "finished"
    assert [e["event"] for e in events].count("episode") == 3


def test_an_agent_that_prints_does_not_disturb_the_events(tmp_path: Path, faulty: str) -> None:
    done = wmbench("run", "-a", "prints", "--plugin", f"{faulty}:PRINTS", "-n", 1, "--json", "--out-dir", tmp_path)
    assert [json.loads(line)["event"] for line in done.stdout.splitlines()][-1] == "finished"
    assert "thinking" in done.stderr


def test_a_dry_run_prints_the_whole_plan_and_writes_nothing(tmp_path: Path) -> None:
    done = wmbench("run", "-a", "random", "-g", "Pong-v5", "--dry-run", "--seeds", "0,4", cwd=tmp_path)
    assert "ALE/Pong-v5 (asked for: Pong-v5)" in done.stdout
    assert '"sticky_actions":0.25' in done.stdout
    assert "seeds 0, 4" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_for_machines_is_the_specification() -> None:
    done = wmbench("run", "-a", "random", "--dry-run", "--json", "--env", "image_size=[20,20]")
    assert json.loads(done.stdout)["spec"]["envs"][0]["image_size"] == [20, 20]


def test_several_agents_get_a_folder_each_and_one_combined_report(tmp_path: Path, faulty: str) -> None:
    wmbench(
        "run",
        "-a",
        "random",
        "-a",
        "constant",
        "--plugin",
        f"{faulty}:CONSTANT",
        "-n",
        3,
        "--out-dir",
        tmp_path,
    )
    for suffix in ("json", "csv", "md", "tex"):
        assert (tmp_path / f"combined_benchmark_results.{suffix}").stat().st_size > 0
    assert (tmp_path / "random" / "benchmark_results.json").exists()
    assert (tmp_path / "constant" / "episodes.jsonl").exists()


def test_a_part_that_failed_ends_with_one(tmp_path: Path, faulty: str) -> None:
    done = wmbench(
        "run",
        "-a",
        "returnsfewer",
        "--plugin",
        f"{faulty}:RETURNS_FEWER",
        "-n",
        3,
        "--out-dir",
        tmp_path,
        code=1,
    )
    assert "episodes 2/3" in done.stderr
    assert "returned only 2 episodes" in done.stderr


WRONG = [
    (["run"], "no agent was named"),
    (["run", "-a", "randon"], "did you mean random"),
    (["run", "-a", "random", "-n", "0"], "0 episodes"),
    (["run", "-a", "random", "--seeds", "1,1"], "repeated"),
    (["run", "-a", "random", "-g", "Pnog-v5"], "Pong-v5"),
    (["run", "-a", "random", "--device", "abacus"], "unknown device"),
    (["run", "-a", "random", "--checkpoint-map", "nobody=x.pt"], "no agent named 'nobody'"),
    (["run", "-a", "random", "--checkpoint-map", "random"], "is not AGENT=PATH"),
    (["run", "-a", "random", "-c", "x.pt"], "no weights to load"),
    (["run", "-a", "random", "-a", "random"], "is repeated"),
    (["run", "-a", "random", "--all-agents"], "exclude each other"),
    (["run", "-a", "random", "--workers", "0"], "0 workers"),
    (["run", "-a", "random", "--env", "x"], "not NAME=VALUE"),
    (["run", "-a", "random", "--executor", "moon"], "no executor named 'moon'"),
    (["run", "-a", "random", "--train-epochs", "1"], "cannot be trained"),
    (["run", "-a", "random", "--plugin", "nowhere.py:X"], "no file"),
    (["train", "-a", "random"], "cannot be trained"),
    (["report", "nowhere"], "no directory nowhere"),
    (["run-cell", "nowhere.json"], "cannot read the cell"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=[" ".join(a) for a, _ in WRONG])
def test_wrong_input_ends_with_two_and_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = wmbench(*arguments, code=2, cwd=tmp_path)
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_unknown_command_ends_with_two() -> None:
    assert "No such command 'rum'; see `wmbench --help`" in wmbench("rum", code=2).stderr


def test_overwrite_does_not_touch_a_run_that_is_going_on(tmp_path: Path) -> None:
    from wm_core.store import exclusive

    wmbench("run", "-a", "random", "-n", 3, "--out-dir", tmp_path)
    before = (tmp_path / "episodes.jsonl").read_bytes()
    with exclusive(tmp_path):
        done = wmbench("run", "-a", "random", "-n", 4, "--out-dir", tmp_path, "--overwrite", code=2)
    assert "another run is writing" in done.stderr
    assert (tmp_path / "episodes.jsonl").read_bytes() == before


def test_a_reader_that_goes_away_costs_no_report(tmp_path: Path) -> None:
    command = [*(sys.executable, "-m", "wm_core.cli.main", "run", "-a", "random", "-n", "300"), "--json"]
    process = subprocess.Popen([*command, "--out-dir", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=60) == 1
    report = json.loads((tmp_path / "benchmark_results.json").read_text())
    assert report["coverage"] == {"measured": 300, "planned": 300}


def test_sigterm_leaves_a_report_of_what_was_measured(tmp_path: Path, faulty: str) -> None:
    import time

    command = [
        sys.executable,
        "-m",
        "wm_core.cli.main",
        "run",
        "-a",
        "slow",
        "--plugin",
        f"{faulty}:SLOW",
        "-n",
        "9999",
    ]
    process = subprocess.Popen([*command, "--out-dir", str(tmp_path)], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if (tmp_path / "episodes.jsonl").exists() and "episode_return" in (tmp_path / "episodes.jsonl").read_text():
            break
        time.sleep(0.05)
    process.terminate()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "interrupted" in errors
    assert json.loads((tmp_path / "benchmark_results.json").read_text())["coverage"]["measured"] > 0


def test_one_agent_that_cannot_begin_does_not_stop_the_others(tmp_path: Path, faulty: str) -> None:
    (tmp_path / "constant").write_text("a file in the way")
    done = wmbench(
        *("run", "-a", "constant", "-a", "random", "--plugin", f"{faulty}:CONSTANT", "-n", 2),
        *("--out-dir", tmp_path),
        code=1,
    )
    assert "error: constant: cannot write" in done.stderr
    assert (tmp_path / "random" / "benchmark_results.json").exists()


def test_a_traceback_is_shown_only_on_request(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "wm_core.cli.main", "run", "-a", "randon", "--debug"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Traceback" in done.stderr


def test_an_agent_is_trained_and_then_measured(tmp_path: Path, faulty: str) -> None:
    plugin = ["--plugin", f"{faulty}:LEARNER"]
    (tmp_path / "t" / "learning").mkdir(parents=True)  # somebody else's: this game keeps no log
    done = wmbench("train", "-a", "learner", *plugin, "--epochs", 2, "--out", tmp_path / "t")
    path = tmp_path / "t" / "weights.txt"
    assert str(path) in done.stdout
    assert "log of the learning run" not in done.stdout
    wmbench("run", "-a", "learner", *plugin, "-g", "wm/Catch-v0", "-c", path, "-n", 2, "--out-dir", tmp_path / "r")
    assert json.loads((tmp_path / "r" / "benchmark_results.json").read_text())["games"][0]["checkpoint"]["path"]


def test_the_report_is_written_again_from_the_store(tmp_path: Path) -> None:
    wmbench("run", "-a", "random", "-n", 4, "--out-dir", tmp_path)
    before = (tmp_path / "benchmark_results.json").read_text()
    (tmp_path / "benchmark_results.json").unlink()
    wmbench("report", tmp_path)
    assert (tmp_path / "benchmark_results.json").read_text() == before


def test_listings_are_read_by_machines() -> None:
    assert "random" in [row["name"] for row in json.loads(wmbench("agents", "--json").stdout)]
    backends = {row["name"]: row for row in json.loads(wmbench("envs", "--json").stdout)}
    assert "atari100k" in backends["atari"]["protocols"]
    assert "wm/Catch-v0" in backends["catch"]["ids"]
    kinds = {(row["kind"], row["name"]): row for row in json.loads(wmbench("plugins", "--json", "--check").stdout)}
    assert kinds["agents", "random"]["state"] == "ok"
    assert ("executors", "process") in kinds


def test_the_schema_is_printed() -> None:
    assert json.loads(wmbench("schema").stdout)["type"] == "object"


def test_the_doctor_finds_roms_and_python() -> None:
    found = {row["name"]: row for row in json.loads(wmbench("doctor", "--json").stdout)}
    assert found["Atari ROMs"]["ok"]
    assert found["Python"]["ok"]


def test_a_film_of_the_first_episode_is_written(tmp_path: Path) -> None:
    import av

    wmbench("run", "-a", "random", "-n", 2, "--video", "--out-dir", tmp_path)
    with av.open(str(tmp_path / "videos" / "wm_Catch-v0.seed0.mp4")) as film:
        assert sum(1 for _ in film.decode(video=0)) == 9


def test_completion_prints_a_script() -> None:
    import os

    environment = {**os.environ, "_WMBENCH_COMPLETE": "bash_source"}
    command = [sys.executable, "-c", "from wm_core.cli.main import main; main([])"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert "wmbench" in done.stdout
