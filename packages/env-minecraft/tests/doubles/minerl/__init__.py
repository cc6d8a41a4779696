"""A stand-in for MineRL without its game: real gym, MineRL's spaces and its ways, a made-up world behind them.

The spaces of 0.4.4 are those of its own Python layer (see test_real_layers.py); those of 1.0 are its documentation's.
Ids beginning with 'MineRLDouble' are faults.
"""

import collections
import os
import signal
import subprocess
import sys
import time

import gym
import numpy as np

__version__ = "0.4.4"

KEYS = ["attack", "back", "forward", "jump", "left", "right", "sneak", "sprint"]
ITEMS = [
    "coal",
    "cobblestone",
    "crafting_table",
    "dirt",
    "furnace",
    "iron_axe",
    "iron_ingot",
    "iron_ore",
    "iron_pickaxe",
    "log",
    "planks",
    "stick",
    "stone",
    "stone_axe",
    "stone_pickaxe",
    "torch",
    "wooden_axe",
    "wooden_pickaxe",
]
TOOLS = ["iron_axe", "iron_pickaxe", "none", "stone_axe", "stone_pickaxe", "wooden_axe", "wooden_pickaxe"]
OBTAIN = {
    "craft": ["none", "torch", "stick", "planks", "crafting_table"],
    "equip": ["air", *TOOLS],
    "nearbyCraft": ["furnace", *TOOLS],
    "nearbySmelt": ["none", "iron_ingot", "coal"],
    "place": ["none", "dirt", "stone", "cobblestone", "crafting_table", "furnace", "torch"],
}
KEYS_OF_1_0 = [
    *KEYS,
    "ESC",
    "drop",
    "inventory",
    "pickItem",
    "swapHands",
    "use",
    *(f"hotbar.{i}" for i in range(1, 10)),
]


class Enum(gym.spaces.Discrete):
    """Names instead of numbers, as MineRL has it."""

    def __init__(self, *values):
        self.values = np.array(sorted(values))
        super().__init__(len(values))

    def sample(self):
        return self.values[super().sample()]

    def contains(self, x):
        return x in self.values


def boxed(low, high, shape, dtype):
    return gym.spaces.Box(low=low, high=high, shape=shape, dtype=dtype)


def actions(pressed, named=None):
    spaces = {key: gym.spaces.Discrete(2) for key in pressed}
    spaces["camera"] = boxed(-180, 180, (2,), np.float32)
    spaces.update({key: Enum(*values) for key, values in (named or {}).items()})
    return gym.spaces.Dict(spaces)


def pictures(height, width, inventory=()):
    spaces = {"pov": boxed(0, 255, (height, width, 3), np.uint8)}
    if inventory:
        items = collections.OrderedDict((item, boxed(0, 2304, (), np.int32)) for item in inventory)
        spaces["inventory"] = gym.spaces.Dict(items)
    return gym.spaces.Dict(spaces)


class World(gym.Env):
    """Chopping (attack) in one step of three gives a log and a reward of 1. The seed and the actions decide all."""

    def __init__(self, action_space, observation_space, goal=64, clock=None, fault=None, fault_at=3):
        self.action_space, self.observation_space = action_space, observation_space
        self.goal, self.clock, self.fault, self.fault_at = goal, clock, fault, fault_at
        self._seed, self.done = None, True
        if fault == "unmade":
            raise RuntimeError("Minecraft process failed to start\nsee the log")

    def seed(self, seed=None):
        self._seed = seed

    def reset(self):
        # Like MineRL's, a seed serves one reset: what comes after it is chance.
        self.rng = np.random.RandomState(self._seed)
        self._seed = None
        self.steps, self.logs, self.done = 0, 0, False
        return self._observation()

    def step(self, action):
        if self.done:
            raise RuntimeError("Attempted to step an environment server with done=True")
        assert self.action_space.contains(action), action
        self.steps += 1
        if self.steps == self.fault_at and self.fault is not None:
            broken = self._broken()
            if broken is not None:
                return broken
        reward = float(action["attack"] and self.rng.uniform() < 1 / 3)
        self.logs += int(reward)
        self.done = self.logs >= self.goal or self.steps == self.clock
        return self._observation(), reward, self.done, {}

    def close(self):
        print("the double says goodbye", flush=True)

    def _observation(self):
        picture = self.observation_space.spaces["pov"]
        observation = {"pov": self.rng.randint(0, 256, picture.shape).astype(np.uint8)}
        if "inventory" in self.observation_space.spaces:
            observation["inventory"] = {
                item: np.array(self.logs if item == "log" else 0)
                for item in self.observation_space.spaces["inventory"].spaces
            }
        return observation

    def _broken(self):
        if self.fault == "lost":
            self.done = True
            return self.observation_space.sample(), 0, self.done, {"error": "Connection timed out!"}
        if self.fault == "raises":
            raise ValueError("the world\nis flat")
        if self.fault == "dies":
            print("a last word", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "exits":
            print("out of memory", file=sys.stderr, flush=True)
            os._exit(17)
        if self.fault == "sleeps":
            time.sleep(600)
        if self.fault == "garbage":
            descriptor = int(sys.argv[sys.argv.index("--fd") + 1])
            os.write(descriptor, b"HTTP/1.1 200 OK\r\n\r\n")
            time.sleep(600)
        return None


LAUNCHER = """
from subprocess import DEVNULL, Popen
print(Popen(["sleep", "601"], start_new_session=True, stdout=DEVNULL, stderr=DEVNULL).pid)
"""


class WithChild(World):
    """Starts a process in a session of its own, as MineRL starts Java, and lets its launcher go away."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.child = int(subprocess.check_output([sys.executable, "-c", LAUNCHER]))

    def _observation(self):
        observation = super()._observation()
        observation["child"] = np.array(self.child)
        return observation


def register(name, limit, make):
    if name not in getattr(gym.envs.registry, "env_specs", gym.envs.registry):
        gym.register(id=name, entry_point=make, max_episode_steps=limit)


CHOP = (actions(KEYS), pictures(64, 64))

register("MineRLTreechop-v0", 8000, lambda: World(*CHOP))
register("MineRLNavigate-v0", 6000, lambda: World(actions(KEYS, {"place": ["none", "dirt"]}), pictures(64, 64)))
register("MineRLObtainDiamond-v0", 18000, lambda: World(actions(KEYS, OBTAIN), pictures(64, 64, ITEMS)))
register(
    "MineRLObtainDiamondShovel-v0", 18000, lambda: World(actions(KEYS_OF_1_0), pictures(360, 640, ["log", "dirt"]))
)
register("MineRLBasaltFindCave-v0", 3600, lambda: World(actions(KEYS_OF_1_0), pictures(360, 640)))
register("MineRLDoubleLimit-v0", 5, lambda: World(*CHOP))
register("MineRLDoubleClock-v0", 5, lambda: World(*CHOP, clock=5))
register("MineRLDoubleGoal-v0", 500, lambda: World(*CHOP, goal=1))
register("MineRLDoubleObf-v0", 5, lambda: World(gym.spaces.Dict({"vector": boxed(-1, 1, (64,), np.float32)}), CHOP[1]))
register("MineRLDoubleChild-v0", 500, lambda: WithChild(*CHOP))
register("MineRLDoubleChildSleeps-v0", 500, lambda: WithChild(*CHOP, fault="sleeps"))
for fault in ("Lost", "Raises", "Dies", "Exits", "Sleeps", "Garbage", "Unmade"):
    register(f"MineRLDouble{fault}-v0", 500, lambda fault=fault: World(*CHOP, fault=fault.lower()))
