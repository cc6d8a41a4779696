"""A stand-in for MineDojo 0.1 without its game: real gym, MineDojo's spaces and its ways, a made-up world behind them.

The spaces are a part of those of its own Python layer (see test_real_layers.py).
"""

import copy

import gym
import numpy as np

__version__ = "0.1"

NVEC = [3, 3, 4, 25, 25, 8, 244, 36]


class Text(gym.Space):
    def __init__(self, shape):
        super().__init__(shape, np.str_)


class MineDojoSim(gym.Env):
    def __init__(self, image_size, lost_at):
        height, width = image_size
        box = gym.spaces.Box
        self.observation_space = gym.spaces.Dict(
            {
                "rgb": box(0, 255, (3, height, width), np.uint8),
                "inventory": gym.spaces.Dict({"name": Text((36,)), "quantity": box(0.0, 64.0, (36,), np.float32)}),
                "life_stats": gym.spaces.Dict({"life": box(0.0, 20.0, (1,), np.float32)}),
            }
        )
        self.lost_at, self._prev_obs, self._terminated = lost_at, None, True

    def seed(self, seed=None):
        self._rng = np.random.RandomState(seed)

    def reset(self):
        self.steps, self._terminated = 0, False
        self.rng = getattr(self, "_rng", np.random.RandomState())
        self._prev_obs, self._prev_info = self._observation(), {"cow_nearby": False}
        return copy.deepcopy(self._prev_obs)

    def step(self, action):
        if self._terminated:
            raise RuntimeError("Attempted to step an environment server with done=True")
        self.steps += 1
        if self.steps == self.lost_at:
            self._terminated = True
            return self._prev_obs, 0, True, self._prev_info
        obs, info = self._observation(), {"cow_nearby": self.steps > 2, "said": np.array(["moo"])}
        self._prev_obs, self._prev_info = copy.deepcopy(obs), copy.deepcopy(info)
        return obs, 0, self._terminated, info

    @property
    def prev_obs(self):
        return self._prev_obs

    @property
    def is_terminated(self):
        return self._terminated

    def _observation(self):
        names, quantity = np.array(["air"] * 36), np.zeros(36, np.float32)
        names[0], quantity[0] = "bucket"[:3], 1.0
        shape = self.observation_space.spaces["rgb"].shape
        return {
            "rgb": self.rng.randint(0, 256, shape).astype(np.uint8),
            "inventory": {"name": names, "quantity": quantity},
            "life_stats": {"life": np.array([20.0], np.float32)},
        }


class Task(gym.Wrapper):
    """Success is 'use' with the cow nearby. What the library takes are eight integers."""

    def __init__(self, sim):
        super().__init__(sim)
        self.action_space = gym.spaces.MultiDiscrete(NVEC)

    def reset(self):
        return self.env.reset()

    def step(self, action):
        assert self.action_space.contains(action), action
        obs, _, _, info = self.env.step(action)
        success = bool(info["cow_nearby"] and action[5] == 1)
        return obs, int(success), self.env.is_terminated or success, info


def make(task_id, *args, image_size, cam_interval=15, **kwargs):
    assert not kwargs, kwargs
    if task_id not in ("harvest_milk", "harvest_lost", "creative:0"):
        raise ValueError(f"Invalid task id provided {task_id}")
    return Task(MineDojoSim(image_size, 3 if task_id == "harvest_lost" else None))
