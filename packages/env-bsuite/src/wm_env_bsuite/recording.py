"""The one training environment of a learning run, logged as bsuite logs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import gymnasium

from wm_core.errors import UsageError
from wm_env_bsuite.experiments import experiment_of
from wm_env_bsuite.game import BsuiteGame
from wm_env_bsuite.log_files import COUNTED, Row, is_logged, log_file, read_log, write_log

_open: WeakValueDictionary[Path, RecordedGame] = WeakValueDictionary()


class RecordedGame(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A game that logs to `directory` until the experiment's number of episodes; what follows is not logged.

    Steps and returns are those of the game itself: what wraps this one may clip rewards or draw pictures. A
    learning run is one stream of episodes, so a second environment with the same log is refused (`UsageError`)
    while the first is open.

    A log that is there already belongs to a run that was stopped. Before the first episode, `restore_log` must say
    how that run goes on: with the state that was saved, or, with None, from the start. `wm_torchkit.ReplayableEnv`
    does so. Without it the log would mix two runs, and `reset` raises `UsageError`.
    """

    def __init__(self, game: BsuiteGame, directory: Path) -> None:
        super().__init__(game)
        self.game = game
        self.path = log_file(directory.absolute(), game.bsuite_id)
        if self.path in _open:
            raise UsageError(
                f"{self.path} is the log of one training environment, and a second one was made; a bsuite score is "
                "that of one stream of episodes: train in one environment (--set training.num_envs=1 where the agent "
                "has that), and evaluate in those of make_vector()"
            )
        _open[self.path] = self
        self.planned = experiment_of(game.bsuite_id)[0].episodes
        self._is_new = not self.path.exists()
        self._begin()

    def _begin(self) -> None:
        self._steps = self._episode = self._episode_len = 0
        self._total_return = self._episode_return = 0.0
        self._rows: list[Row] = []

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode. One that was left in the middle counts with the next, as in bsuite."""
        if not self._is_new:
            raise UsageError(
                f"{self.path} is the log of {int(read_log(self.path)[-1]['episode'])} episodes of a run that was "
                "stopped, and this agent's training does not restore it (RecordedGame.restore_log, or "
                "wm_torchkit.ReplayableEnv); delete that log and the training to begin again"
            )
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """One step, counted."""
        step = self.env.step(action)
        if self._episode < self.planned:
            reward = float(step[1])
            self._steps += 1
            self._episode_len += 1
            self._episode_return += reward
            self._total_return += reward
            if step[2]:
                self._end_episode()
        return step

    def log_state(self) -> dict[str, Any]:
        """Counters, totals and rows: all that the log depends on besides the episode in progress."""
        return {
            "counters": {name: getattr(self, f"_{name}") for name in COUNTED},
            "carried": dict(self.game.carried),
            "rows": [dict(row) for row in self._rows],
        }

    def restore_log(self, state: dict[str, Any] | None) -> None:
        """Go on from `log_state()`, once the episode in progress is done again; or, with None, begin anew.

        Rows written after the state was saved are cut.
        """
        self._is_new = True
        self._begin()
        if state is None:
            self.path.unlink(missing_ok=True)
            return
        for name, value in state["counters"].items():
            setattr(self, f"_{name}", value)
        self.game.carried = dict(state["carried"])
        self._rows = [dict(row) for row in state["rows"]]
        if self._rows:
            write_log(self.path, self._rows)
        else:
            self.path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the game, and let another environment have the log."""
        if _open.get(self.path) is self:
            del _open[self.path]
        super().close()

    def _end_episode(self) -> None:
        self._episode += 1
        if is_logged(self._episode):
            self._rows.append(
                {
                    "steps": self._steps,
                    "episode": self._episode,
                    "total_return": self._total_return,
                    "episode_len": self._episode_len,
                    "episode_return": self._episode_return,
                    **{name: float(value) for name, value in self.game.totals().items()},
                }
            )
            write_log(self.path, self._rows)
        self._episode_len, self._episode_return = 0, 0.0
