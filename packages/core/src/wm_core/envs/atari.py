"""The Atari backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wm_core.envs.atari_ids import atari_ids, game_of, resolve_atari
from wm_core.envs.atari_protocols import ATARI_PROTOCOLS
from wm_core.envs.checks import check_numbers
from wm_core.errors import UsageError
from wm_core.specs import EnvSpec

if TYPE_CHECKING:
    import gymnasium

_OPTIONS = ("mode", "difficulty")


class AtariBackend:
    """All 104 single-player games of ale-py. Emulators are imported when one is made."""

    def ids(self) -> Sequence[str]:
        """`ALE/X-v5` for every game, and the older ids of 62 of them."""
        return atari_ids()

    def resolve(self, game: str) -> EnvSpec:
        """The id's own meaning; bare `X-v5` resolves to `ALE/X-v5`. `UnknownGame` with the nearest ids."""
        return resolve_atari(game)

    def protocols(self) -> Mapping[str, Mapping[str, Any]]:
        """Published settings; see `atari_protocols` for where each comes from."""
        return ATARI_PROTOCOLS

    def check(self, spec: EnvSpec) -> None:
        """`UsageError` for values that no Atari game can honour."""
        game_of(spec.id)
        check_numbers(spec)
        for name, value in spec.options.items():
            if name not in _OPTIONS or type(value) is not int:
                raise UsageError(
                    f"options.{name}={value!r} is not known to the 'atari' backend; it takes integers "
                    f"for {' and '.join(_OPTIONS)}"
                )

    def make(self, spec: EnvSpec) -> gymnasium.Env[Any, Any]:
        """One game, uint8 images `([stack,] H, W, C)`."""
        from wm_core.envs.atari_env import AtariGame
        from wm_core.envs.stack import FrameStack

        self.check(spec)
        env = AtariGame(spec)
        return FrameStack(env, spec.frame_stack) if spec.frame_stack > 1 else env

    def expresses(self, spec: EnvSpec) -> bool:
        """Whether ALE's own vector environment does exactly this (`AtariLanes` says how exactly).

        It cannot resize with other filters than area averaging, nor before the maximum; hold actions for a random
        number of frames; go on with the same game after a lost life; or choose a game's mode or difficulty.
        """
        resizes = spec.image_size is not None
        return (
            isinstance(spec.frame_skip, int)
            and not spec.life_loss_ends_episode
            and not spec.options
            and (spec.resize == "cv2-area" or not resizes)
            and (spec.max_pool != "after_resize" or not resizes)
            and _vector_environment_is_built()
        )

    def make_vec(self, spec: EnvSpec, num_envs: int) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
        """`num_envs` games in ALE's own vector environment."""
        from wm_core.envs.atari_native import AtariLanes

        self.check(spec)
        if not self.expresses(spec):
            raise UsageError(
                f"ALE's vector environment cannot do what {spec.id} is asked for; set vectorization=serial"
            )
        return AtariLanes(spec, num_envs)


def _vector_environment_is_built() -> bool:
    """It is an optional part of ale-py's build."""
    import ale_py

    return hasattr(ale_py, "ALEVectorInterface")
