"""The bridge to real older interpreters, and what happens when the other side does not keep to it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wm_core.errors import EnvironmentFailure, UsageError
from wm_env_minecraft import bridge as bridge_module
from wm_env_minecraft import wire
from wm_env_minecraft.actions import DEFAULT_ACTION_SET
from wm_env_minecraft.bridge import Bridge, BridgeFailure, GameError, GameLost, Timeouts
from wm_env_minecraft.minecraft_env import MinecraftEnv
from wm_env_minecraft.processes import marked

QUICK = Timeouts(step=1.0, close=2.0)
ATTACK = list(DEFAULT_ACTION_SET).index("attack")


def game(python: Path, task: str, timeouts: Timeouts = QUICK) -> MinecraftEnv:
    return MinecraftEnv("minerl", task, python=python, action_set=DEFAULT_ACTION_SET, timeouts=timeouts)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def comes_true(condition: Callable[[], bool], within: float = 10.0) -> bool:
    deadline = time.monotonic() + within
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def fault(env: MinecraftEnv, steps: int = 3) -> str:
    """What the failure of the third step says."""
    env.reset(seed=0)
    for _ in range(steps - 1):
        env.step(0)
    with pytest.raises(BridgeFailure) as caught:
        env.step(0)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_episodes_cross_the_bridge_whole(each_python: Any) -> None:
    with closing(game(each_python.python, "MineRLDoubleGoal-v0")) as env:
        assert env.versions["python"].startswith(f"{each_python.version}.")
        assert env.versions["gym"] == each_python.gym
        assert env.versions["minerl"] == "0.4.4"
        frame, info = env.reset(seed=4)
        assert frame.shape == (64, 64, 3)
        assert frame.dtype == np.uint8
        assert info == {}
        world = np.random.RandomState(4)
        np.testing.assert_array_equal(frame, world.randint(0, 256, (64, 64, 3)))
        rewards, terminated = [], False
        while not terminated:
            frame, reward, terminated, truncated, _ = env.step(ATTACK)
            chance = world.uniform()
            assert reward == (chance < 1 / 3)
            np.testing.assert_array_equal(frame, world.randint(0, 256, (64, 64, 3)))
            assert not truncated
            rewards.append(reward)
        assert sum(rewards) == 1


def test_a_server_killed_in_mid_step_is_named_with_its_signal_and_last_words(one_python: Any) -> None:
    with closing(game(one_python.python, "MineRLDoubleDies-v0")) as env:
        message = fault(env)
    assert "step: " in message
    assert "signal 9" in message
    assert "a last word" in message


def test_a_server_that_exits_is_named_with_its_exit_code_and_last_words(one_python: Any) -> None:
    with closing(game(one_python.python, "MineRLDoubleExits-v0")) as env:
        message = fault(env)
    assert "exit code 17" in message
    assert "out of memory" in message


def test_a_silent_server_is_ended_after_the_operations_own_time(one_python: Any) -> None:
    with closing(game(one_python.python, "MineRLDoubleSleeps-v0")) as env:
        pid = env._bridge.pid
        began = time.monotonic()
        message = fault(env)
        assert 1.0 <= time.monotonic() - began < 4.0
        assert "no answer within 1 seconds" in message
        assert not is_running(pid)


def test_garbage_on_the_socket_is_a_failure(one_python: Any) -> None:
    with closing(game(one_python.python, "MineRLDoubleGarbage-v0")) as env:
        assert "b'HTTP'" in fault(env)


def test_an_error_of_the_game_is_one_line_and_leaves_the_bridge_up(one_python: Any) -> None:
    with closing(game(one_python.python, "MineRLDoubleRaises-v0")) as env:
        env.reset(seed=0)
        for _ in range(2):
            env.step(0)
        with pytest.raises(GameError, match=r"^step: ValueError: the world is flat$"):
            env.step(0)
        assert env._bridge.alive
        with pytest.raises(RuntimeError, match="reset"):
            env.step(0)
        env.reset(seed=0)
        env.step(0)


def test_a_lost_game_is_an_error_and_no_end_of_an_episode(one_python: Any) -> None:
    with closing(game(one_python.python, "MineRLDoubleLost-v0")) as env:
        env.reset(seed=0)
        for _ in range(2):
            env.step(0)
        with pytest.raises(GameLost, match="lost its Minecraft: Connection timed out!"):
            env.step(0)


def test_a_game_that_cannot_be_made_says_why_and_leaves_no_process(
    one_python: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    marks, start = [], bridge_module._started

    def started(python: Path, mark: str) -> Any:
        marks.append(mark)
        return start(python, mark)

    monkeypatch.setattr(bridge_module, "_started", started)
    with pytest.raises(GameError, match="make: RuntimeError: Minecraft process failed to start see the log"):
        game(one_python.python, "MineRLDoubleUnmade-v0")
    (mark,) = marks
    assert marked(mark) == []


def test_after_a_dead_server_reset_begins_with_a_new_one(one_python: Any) -> None:
    with closing(game(one_python.python, "MineRLDoubleDies-v0")) as env:
        dead = env._bridge.pid
        fault(env)
        frame, _ = env.reset(seed=1)
        assert env._bridge.pid != dead
        np.testing.assert_array_equal(frame, np.random.RandomState(1).randint(0, 256, (64, 64, 3)))


def test_two_games_at_once_keep_apart(one_python: Any) -> None:
    with closing(game(one_python.python, "MineRLDoubleLost-v0")) as lost:
        with closing(game(one_python.python, "MineRLTreechop-v0")) as whole:
            assert lost._bridge.pid != whole._bridge.pid
            alone = np.random.RandomState(2).randint(0, 256, (64, 64, 3))
            lost.reset(seed=1)
            np.testing.assert_array_equal(whole.reset(seed=2)[0], alone)
            for _ in range(2):
                lost.step(0)
                whole.step(0)
            with pytest.raises(GameLost):
                lost.step(0)
            whole.step(0)
        lost.reset(seed=1)


def test_another_version_of_the_protocol_is_refused(one_python: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge_module.wire, "PROTOCOL", wire.PROTOCOL + 1)
    with pytest.raises(BridgeFailure, match=r"speaks version 1 of the bridge's protocol, this harness speaks 2"):
        Bridge(one_python.python)


def test_an_interpreter_without_numpy_is_named_with_what_it_said(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    with pytest.raises(BridgeFailure, match=r"hello: .*exit code 1.*No module named 'numpy'"):
        Bridge(tmp_path / "bare" / "bin" / "python")


def test_a_program_that_is_no_python_is_a_failure() -> None:
    with pytest.raises(BridgeFailure, match="hello: "):
        Bridge(Path("/bin/true"))


def test_closing_lets_the_game_close_itself(one_python: Any) -> None:
    env = game(one_python.python, "MineRLTreechop-v0")
    bridge = env._bridge
    env.close()
    bridge._reader.join(5)
    assert "the double says goodbye" in bridge._lines
    assert bridge._process.returncode == 0
    env.close()


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="detached processes are found through /proc")
def test_processes_of_the_game_in_other_sessions_end_with_the_bridge(one_python: Any) -> None:
    env = game(one_python.python, "MineRLDoubleChild-v0")
    child = int(env.reset(seed=0)[1]["child"])
    assert is_running(child)
    assert os.getsid(child) != os.getsid(env._bridge.pid)
    env.close()
    assert comes_true(lambda: not is_running(child))


HARNESS = """
import sys
from pathlib import Path
from wm_env_minecraft.actions import DEFAULT_ACTION_SET
from wm_env_minecraft.minecraft_env import MinecraftEnv
env = MinecraftEnv("minerl", sys.argv[2], python=Path(sys.argv[1]), action_set=DEFAULT_ACTION_SET)
_, info = env.reset(seed=0)
print(env._bridge.pid, int(info["child"]), flush=True)
if "Sleeps" not in sys.argv[2]:
    sys.stdin.read()
while True:
    env.step(0)
"""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="detached processes are found through /proc")
@pytest.mark.parametrize("task", ["MineRLDoubleChild-v0", "MineRLDoubleChildSleeps-v0"], ids=["idle", "in mid-step"])
def test_a_killed_harness_leaves_no_orphans(one_python: Any, task: str) -> None:
    command = [sys.executable, "-c", HARNESS, one_python.python, task]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        server, child = map(int, harness.stdout.readline().split())
        time.sleep(0.2)
        assert is_running(server)
        assert is_running(child)
        harness.send_signal(signal.SIGKILL)
    assert comes_true(lambda: not is_running(server))
    assert comes_true(lambda: not is_running(child))


def test_the_other_python_sees_nothing_of_the_harness(
    one_python: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError('the harness has been seen')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with closing(game(one_python.python, "MineRLTreechop-v0")) as env:
        assert env.versions["numpy"][0].isdigit()


def test_obfuscated_actions_are_refused(one_python: Any) -> None:
    with closing(game(one_python.python, "MineRLTreechop-v0")):
        pass
    with pytest.raises(UsageError, match="named keys"):
        game(one_python.python, "MineRLDoubleObf-v0")


def test_failures_are_environment_failures() -> None:
    assert all(issubclass(kind, EnvironmentFailure) for kind in (BridgeFailure, GameError, GameLost))


def test_only_the_bridges_own_processes_are_found() -> None:
    assert marked("no such word") == []
