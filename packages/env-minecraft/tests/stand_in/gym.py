"""As much of an old gym as the doubles use, for machines where none can be installed. Steps return four values."""

import types

import numpy as np

__version__ = "stand-in"


class Space:
    def __init__(self, shape=None, dtype=None):
        self.shape, self.dtype = shape, None if dtype is None else np.dtype(dtype)


class Box(Space):
    def __init__(self, low, high, shape, dtype):
        super().__init__(tuple(shape), dtype)
        self.low, self.high = (np.full(shape, bound, dtype) for bound in (low, high))

    def sample(self):
        return np.random.uniform(self.low, self.high).astype(self.dtype)

    def contains(self, x):
        return x.shape == self.shape and bool(np.all(x >= self.low) and np.all(x <= self.high))


class Discrete(Space):
    def __init__(self, n):
        super().__init__((), np.int64)
        self.n = n

    def sample(self):
        return np.random.randint(self.n)

    def contains(self, x):
        return 0 <= int(x) < self.n


class MultiDiscrete(Space):
    def __init__(self, nvec):
        self.nvec = np.asarray(nvec)
        super().__init__(self.nvec.shape, np.int64)

    def contains(self, x):
        return x.shape == self.shape and bool(np.all(x >= 0) and np.all(x < self.nvec))


class Dict(Space):
    def __init__(self, spaces):
        super().__init__()
        self.spaces = spaces

    def sample(self):
        return {key: space.sample() for key, space in self.spaces.items()}

    def contains(self, x):
        return x.keys() == self.spaces.keys() and all(space.contains(x[key]) for key, space in self.spaces.items())


class Env:
    spec = None

    @property
    def unwrapped(self):
        return self


class Wrapper(Env):
    def __init__(self, env):
        self.env = env

    def __getattr__(self, name):
        return getattr(self.env, name)

    @property
    def spec(self):
        return self.env.spec

    @property
    def unwrapped(self):
        return self.env.unwrapped


class TimeLimit(Wrapper):
    def __init__(self, env, limit):
        super().__init__(env)
        self.limit = limit

    def reset(self):
        self.steps = 0
        return self.env.reset()

    def step(self, action):
        observation, reward, done, info = self.env.step(action)
        self.steps += 1
        if self.steps >= self.limit:
            info["TimeLimit.truncated"] = not done
            done = True
        return observation, reward, done, info


spaces = types.SimpleNamespace(Box=Box, Discrete=Discrete, MultiDiscrete=MultiDiscrete, Dict=Dict, Space=Space)
envs = types.SimpleNamespace(registry={})


def register(id, entry_point, max_episode_steps):
    envs.registry[id] = types.SimpleNamespace(id=id, entry_point=entry_point, max_episode_steps=max_episode_steps)


def make(task):
    spec = envs.registry[task]
    env = spec.entry_point()
    env.spec = spec
    return TimeLimit(env, spec.max_episode_steps)
