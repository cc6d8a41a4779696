"""ALE's own vector environment, in the shapes and with the meaning of `AtariGame`.

It steps its games in threads of its own. With equal seeds its episodes are those of `AtariGame`, bit for bit, with
two exceptions. At an episode's end ALE draws nothing: the last observation is the one before it once more. And
no-op starts, though distributed as in `AtariGame`, come from ALE's random numbers and are other ones for a given
seed.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from ale_py.vector_env import AtariVectorEnv
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from wm_core.envs.atari_cartridge import cartridge, emulator_seed, rom_of
from wm_core.specs import EnvSpec

_UNLIMITED = 2**31 - 1


class AtariLanes(VectorEnv[Any, Any, Any]):
    """`num_envs` games. Observations `(n, [stack,] H, W, C)`; each call hands out arrays of its own.

    `reset` takes one seed for each lane it resets. A lane that has ended must be reset before its next step means
    anything.
    """

    def __init__(self, spec: EnvSpec, num_envs: int) -> None:
        assert isinstance(spec.frame_skip, int), "ALE's vector environment holds actions for a fixed number of frames"
        self._spec = spec
        self._fires = spec.fire_on_reset and cartridge(spec.id).fires_on_reset(spec)
        height, width = spec.image_size or cartridge(spec.id).screen
        self._envs = AtariVectorEnv(
            rom_of(spec.id),
            num_envs,
            batch_size=num_envs,
            num_threads=min(num_envs, _usable_cpus()),
            thread_affinity_offset=-1,
            max_num_frames_per_episode=spec.max_frames or _UNLIMITED,
            repeat_action_probability=spec.sticky_actions,
            full_action_space=spec.full_action_space,
            continuous=False,
            continuous_action_threshold=0.5,
            autoreset_mode=AutoresetMode.NEXT_STEP,
            img_height=height,
            img_width=width,
            grayscale=spec.observation == "gray",
            stack_num=spec.frame_stack,
            frameskip=spec.frame_skip,
            maxpool=spec.max_pool != "none",
            noop_max=self._noop_argument(),
            episodic_life=False,
            life_loss_info=False,
            reward_clipping=spec.clip_rewards,
            use_fire_reset=spec.fire_on_reset,
        )
        stack = (spec.frame_stack,) if spec.frame_stack > 1 else ()
        shape = (*stack, height, width, 1 if spec.observation == "gray" else 3)
        self.num_envs = num_envs
        self.metadata = {**self.metadata, "autoreset_mode": AutoresetMode.NEXT_STEP}
        self._shape = (num_envs, *shape)
        self.single_observation_space = Box(0, 255, shape, np.uint8)
        self.single_action_space = self._envs.single_action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        actions: Any = self._envs.single_action_space
        self._actions = int(actions.n)
        self._start_frames = np.zeros(num_envs, np.int64)

    def reset(
        self, *, seed: Any = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """Reset the lanes of `options["reset_mask"]`, or all; the others keep their observation."""
        mask = np.ones(self.num_envs, np.bool_) if not options else options["reset_mask"].copy()
        lanes = np.flatnonzero(mask)
        seeds = np.random.default_rng().integers(2**31, size=len(lanes)) if seed is None else np.asarray(seed)
        draw = 0
        while True:
            emulator_seeds = np.array([emulator_seed(int(s), draw) for s in seeds], np.int64)
            observations, infos = self._envs.reset(seed=emulator_seeds, options={"reset_mask": mask})
            self._start_frames[lanes] = infos["episode_frame_number"][lanes]
            if not self._spec.noop_max:
                break
            # ALE draws its no-ops from 0..k; the lanes that drew 0 draw again, which leaves 1..k, all equally likely.
            none_drawn = self._start_frames[lanes] <= self._fires
            if not none_drawn.any():
                break
            lanes, seeds, draw = lanes[none_drawn], seeds[none_drawn], draw + 1
            mask = np.isin(np.arange(self.num_envs), lanes)
        return self._shaped(observations), self._infos(infos)

    def step(
        self, actions: Any
    ) -> tuple[NDArray[np.uint8], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """One step of every lane."""
        actions = np.asarray(actions, np.int64)
        if actions.min() < 0 or actions.max() >= self._actions:  # ALE would wait for ever
            raise ValueError(f"actions {actions.tolist()} are not all in 0..{self._actions - 1}")
        observations, rewards, terminated, truncated, infos = self._envs.step(actions)
        return self._shaped(observations), rewards.astype(np.float64), terminated, truncated, self._infos(infos)

    def _noop_argument(self) -> int:
        """ALE draws from 0..argument-1, and counts a FIRE as the first of them."""
        return self._spec.noop_max + 1 + self._fires if self._spec.noop_max else 0

    def _shaped(self, observations: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return observations.reshape(self._shape)

    def _infos(self, infos: dict[str, Any]) -> dict[str, Any]:
        return {"lives": infos["lives"], "frames": infos["episode_frame_number"] - self._start_frames}


def _usable_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
