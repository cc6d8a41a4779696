"""One Atari 2600 game, preprocessed frame by frame on the bare emulator.

An agent's step holds its action for `frame_skip` raw frames; sticky actions act on each of them, inside the
emulator. What comes out is made of the last frame, or of the pixel maximum of the last two. A game that ends before
the last two frames of its skip shows its very last frame alone.
"""

from __future__ import annotations

from typing import Any

import ale_py
import gymnasium
import numpy as np
from ale_py import ALEInterface, ALEState
from gymnasium.spaces import Box, Discrete

from wm_core.envs.atari_cartridge import cartridge, emulator_seed
from wm_core.envs.images import Frame, resize
from wm_core.specs import EnvSpec


class AtariGame(gymnasium.Env[Frame, int]):
    """Observations are uint8, `(H, W, 3)` RGB or `(H, W, 1)` gray (the emulator's own gray palette).

    `reset` switches the console off and on. Then, in this order: FIRE for one frame (`fire_on_reset`, where the
    action set has it), and 1 to `noop_max` no-op frames, uniformly. The time limit counts the frames after those.
    `info` holds `lives` and `frames`, the frames so far.

    With `life_loss_ends_episode`, an agent's step after which fewer lives are left, but at least one, terminates the
    episode. The next `reset` then goes on with the same game: one no-op step of the agent, FIRE before it if asked
    for, and its seed is not used. A new game begins once the game is over or its time is up. The limit and `frames`
    go on counting through all lives of a game.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 60}  # noqa: RUF012 - gymnasium's own declaration
    render_mode = "rgb_array"

    def __init__(self, spec: EnvSpec) -> None:
        game = cartridge(spec.id)
        game.check_options(spec)
        self._spec = spec
        self._rom = game.path
        self._actions = game.actions(spec)
        self._fires = game.fires_on_reset(spec)
        self.ale = ALEInterface()
        self.ale.setFloat("repeat_action_probability", spec.sticky_actions)
        self._capture = self.ale.getScreenGrayscale if spec.observation == "gray" else self.ale.getScreenRGB
        height, width = spec.image_size or game.screen
        self.observation_space = Box(0, 255, (height, width, 1 if spec.observation == "gray" else 3), np.uint8)
        self.action_space: Any = Discrete(len(self._actions))
        self._switched_on: ALEState | None = None
        self._started = False
        self._over = True
        self._goes_on = False
        self._lives = 0
        self._frames = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Frame, dict[str, Any]]:
        """A new game, or the same one after a lost life. Without a seed the next one of the stream is used."""
        if self._goes_on:
            self._over = self._goes_on = False
            if self._fires:
                self.ale.act(ale_py.Action.FIRE)
            observation, _, terminated, truncated, info = self.step(0)
            if self._goes_on or not (terminated or truncated):
                self._over = self._goes_on = False
                return observation, info
        super().reset(seed=seed)
        self._begin(int(self.np_random.integers(2**31)) if seed is None else seed)
        if self._fires:
            self.ale.act(ale_py.Action.FIRE)
        if self._spec.noop_max:
            for _ in range(self.np_random.integers(1, self._spec.noop_max + 1)):
                self._wait_one_frame()
        self._started, self._over, self._goes_on = True, False, False
        self._frames = 0
        self._lives = self.ale.lives()
        return self._observation([self._capture()]), self._info()

    def step(self, action: int) -> tuple[Frame, float, bool, bool, dict[str, Any]]:
        """One agent's step; the reward is the sum over its frames, or that sum's sign (`clip_rewards`)."""
        if self._over:
            raise RuntimeError("the episode is over: reset() comes next")
        if not 0 <= action < len(self._actions):
            raise ValueError(f"action {action} is not in 0..{len(self._actions) - 1}")
        reward, game_over, seen = self._hold(self._actions[action])
        lives = self.ale.lives()
        # Some games show 0 lives for a while before they are over; that end is left to the game itself.
        life_lost = self._spec.life_loss_ends_episode and 0 < lives < self._lives
        self._lives = lives
        time_is_up = self._spec.max_frames is not None and self._frames >= self._spec.max_frames
        terminated = game_over or life_lost
        truncated = time_is_up and not terminated
        self._over = terminated or truncated
        self._goes_on = life_lost and not (game_over or time_is_up)
        if self._spec.clip_rewards:
            reward = float(np.sign(reward))
        return self._observation(seen), reward, terminated, truncated, self._info()

    def render(self) -> Any:
        """The screen as it is, RGB, uint8."""
        if not self._started:
            raise RuntimeError("nothing is on the screen yet: reset() comes first")
        return self.ale.getScreenRGB()

    def _hold(self, action: ale_py.Action) -> tuple[float, bool, list[Frame]]:
        skip = self._spec.frame_skip
        planned = skip if isinstance(skip, int) else int(self.np_random.integers(*skip))
        if self._spec.max_frames is not None:
            planned = min(planned, self._spec.max_frames - self._frames)
        first_seen = planned - (1 if self._spec.max_pool == "none" else 2)
        reward, game_over, seen = 0, False, list[Frame]()
        for index in range(planned):
            reward += self.ale.act(action)
            self._frames += 1
            game_over = self.ale.game_over(with_truncation=False)
            if game_over or index >= first_seen:
                seen.append(self._capture())
            if game_over:
                break
        return float(reward), game_over, seen

    def _observation(self, seen: list[Frame]) -> Frame:
        size, filter_ = self._spec.image_size, self._spec.resize
        if self._spec.max_pool == "after_resize":
            seen = [resize(frame, size, filter_) for frame in seen]
        frame = seen[0] if len(seen) == 1 else np.maximum(seen[0], seen[1])
        frame = resize(frame, size, filter_)
        return frame[:, :, None] if frame.ndim == 2 else frame

    def _info(self) -> dict[str, Any]:
        return {"lives": self._lives, "frames": self._frames}

    def _begin(self, seed: int) -> None:
        """Begin a game as on a console just switched on; many games carry state over its reset switch."""
        if self._switched_on is not None:
            self.ale.restoreState(self._switched_on)
        else:
            self.ale.setInt("random_seed", emulator_seed(seed))
            self.ale.loadROM(self._rom)
            options = self._spec.options
            if "mode" in options:
                self.ale.setMode(options["mode"])
            if "difficulty" in options:
                self.ale.setDifficulty(options["difficulty"])
            if not options and self._spec.sticky_actions == 0:  # then nothing in the emulator is random
                self._switched_on = self.ale.cloneState(include_rng=True)
        self.ale.reset_game()

    def _wait_one_frame(self) -> None:
        self.ale.act(ale_py.Action.NOOP)
        if self.ale.game_over(with_truncation=False):
            self.ale.reset_game()
