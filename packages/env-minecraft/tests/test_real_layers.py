"""The doubles' spaces are those of MineRL 0.4.4's and MineDojo 0.1's own Python layers, which come without the games.

Slow: some 200 MB are downloaded, once. MineRL's installer would build the game, so its source is unpacked instead.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from wm_env_minecraft.actions import DEFAULT_ACTION_SET, translated
from wm_env_minecraft.bridge import Bridge
from wm_env_minecraft.minerl_backend import STEP_LIMITS

pytestmark = pytest.mark.slow

MINERL_NEEDS = (
    "gym==0.19.0",
    "numpy<1.25",
    *("coloredlogs", "daemoniker", "dill", "inflection", "jinja2", "lxml", "opencv-python-headless", "pillow"),
    *("psutil", "pyro4", "requests", "tqdm", "xmltodict==0.12.0"),
)
MINEDOJO_NEEDS = ("gym==0.21.0", "numpy<1.24", "minedojo==0.1")


@pytest.fixture(scope="module")
def minerl(cache: Path, interpreters: Any) -> Path:
    """Python 3.8 with the source of MineRL 0.4.4."""
    interpreters.need("3.8")
    python: Path = interpreters.environment(cache / "minerl-0.4.4", "3.8", MINERL_NEEDS)
    source = cache / "minerl-source"
    if not (source / "minerl-0.4.4" / "minerl").exists():
        pip = (python, "-m", "pip", "download", "--quiet", "--no-deps", "--no-build-isolation", "--no-binary", ":all:")
        interpreters.run(*pip, "--dest", source, "minerl==0.4.4")
        with tarfile.open(source / "minerl-0.4.4.tar.gz") as archive:
            archive.extractall(source, filter="data")
    site = interpreters.run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    (Path(site) / "minerl.pth").write_text(f"{source / 'minerl-0.4.4'}\n")
    return python


@pytest.fixture(scope="module")
def minedojo(cache: Path, interpreters: Any) -> Path:
    """Python 3.10 with MineDojo 0.1."""
    interpreters.need("3.10")
    python: Path = interpreters.environment(cache / "minedojo-0.1", "3.10", MINEDOJO_NEEDS)
    return python


@contextmanager
def made(python: Path, backend: str, task: str, **arguments: Any) -> Iterator[dict[str, Any]]:
    """What the interpreter says of a task once it is made. The game itself starts at the first reset."""
    bridge = Bridge(python)
    try:
        yield bridge.call("make", backend=backend, task=task, arguments=arguments)
    finally:
        bridge.kill()


def is_part(part: Any, whole: Any) -> bool:
    """Whether every space of a double is one of the library's, with the same shape, type and bounds."""
    if part["kind"] != "Dict":
        return bool(part == whole)
    return all(key in whole["spaces"] and is_part(inner, whole["spaces"][key]) for key, inner in part["spaces"].items())


@pytest.mark.parametrize("task", ["MineRLTreechop-v0", "MineRLNavigate-v0", "MineRLObtainDiamond-v0"])
def test_the_double_of_minerl_has_its_spaces(minerl: Path, one_python: Any, task: str) -> None:
    with made(minerl, "minerl", task) as real, made(one_python.python, "minerl", task) as double:
        assert double["action_space"] == real["action_space"]
        assert is_part(double["observation_space"], real["observation_space"])
        assert real["max_episode_steps"] == double["max_episode_steps"] == STEP_LIMITS[task]


def test_the_tasks_of_minerl_have_the_limits_that_it_registers(minerl: Path, interpreters: Any) -> None:
    code = "import json, gym, minerl; print(json.dumps({s.id: s.max_episode_steps for s in gym.envs.registry.all()}))"
    registered = json.loads(interpreters.run(minerl, "-W", "ignore", "-c", code).strip().splitlines()[-1])
    of_1_0 = {"MineRLObtainDiamondShovel-v0"}
    assert {task: registered.get(task) for task in STEP_LIMITS if task not in of_1_0} == {
        task: limit for task, limit in STEP_LIMITS.items() if task not in of_1_0
    }


def test_the_double_of_minedojo_has_its_spaces(minedojo: Path, one_python: Any) -> None:
    size = {"image_size": [64, 64]}
    with (
        made(minedojo, "minedojo", "harvest_milk", **size) as real,
        made(one_python.python, "minedojo", "harvest_milk", **size) as double,
    ):
        assert double["action_space"] == real["action_space"]
        assert is_part(double["observation_space"], real["observation_space"])
        assert real["max_episode_steps"] is None


def test_minedojos_own_noop_is_ours(minedojo: Path, interpreters: Any) -> None:
    code = "import minedojo; print(minedojo.make('playthrough', image_size=(64, 64)).action_space.no_op().tolist())"
    said = interpreters.run(minedojo, "-W", "ignore", "-c", code).strip().splitlines()[-1]
    with made(minedojo, "minedojo", "playthrough", image_size=[64, 64]) as real:
        (noop,) = translated({"noop": DEFAULT_ACTION_SET["noop"]}, real["action_space"], "playthrough")
    assert said == str(noop)
