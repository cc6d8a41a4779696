"""What an `EnvSpec` asks for is done, or refused; it is never passed over."""

from __future__ import annotations

import numpy as np

from wm_core.errors import UsageError
from wm_core.testing.environments import EnvUnderTest, describe
from wm_core.testing.faults import ConformanceError, require


def check_image_size_is_honoured(env: EnvUnderTest) -> None:
    """Images come in the size and colour that were asked for, or the backend says that it has none."""
    with env.made_unless_refused(observation="rgb", image_size=(40, 56)) as game:
        if game is None:
            return
        shown, _ = game.reset(seed=0)
        require(
            getattr(shown, "shape", None) == game.observation_space.shape == (40, 56, 3) and shown.dtype == np.uint8,
            rule="make() honours observation='rgb' and image_size, or raises UsageError",
            seen=f"with (40, 56) it showed {describe(shown)} in {game.observation_space}",
            mend="resize with wm_core.envs.images.resize, or refuse what cannot be done",
        )


def check_frame_stack_is_honoured(env: EnvUnderTest) -> None:
    """A stack has as many frames as were asked for, or the backend says that it cannot stack."""
    with env.made() as game:
        single = game.observation_space.shape
    with env.made_unless_refused(frame_stack=3) as game:
        if game is None:
            return
        require(
            game.observation_space.shape == (3, *(single or ())),
            rule="make() honours frame_stack, on a new leading axis, or raises UsageError",
            seen=f"with 3 frames it showed {game.observation_space}",
            mend="wrap it in wm_core.envs.stack.FrameStack, or refuse what cannot be done",
        )


def check_time_limit_is_honoured(env: EnvUnderTest) -> None:
    """A game ends at its time limit, or the backend says that it knows none."""
    with env.made_unless_refused(max_frames=2, frame_skip=1) as game:
        if game is None:
            return
        outcomes = [step.outcome for step in env.play(game, seed=0, steps=2) if step.outcome is not None]
        require(
            any(terminated or truncated for _, terminated, truncated in outcomes),
            rule="make() honours max_frames, or raises UsageError",
            seen="with max_frames=2 the episode had not ended after two steps",
            mend="wrap it in gymnasium.wrappers.TimeLimit, or refuse what cannot be done",
        )


def check_unknown_option_is_refused(env: EnvUnderTest) -> None:
    """An option that nobody knows is not passed over."""
    rule, mend = "make() refuses options it does not know", "raise wm_core.errors.UsageError and name the option"
    try:
        with env.made(options={"no_such_option": 1}):
            pass
    except UsageError:
        return
    except Exception as error:
        seen = f"options={{'no_such_option': 1}} raised {type(error).__name__}: {error}"
        raise ConformanceError(rule, seen, mend) from error
    raise ConformanceError(rule, "options={'no_such_option': 1} was accepted", mend)
