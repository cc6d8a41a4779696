"""`wmbench dream`: a start frame and latent actions to a film."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wm_core.errors import CheckpointError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wm_core.specs import EnvSpec

_KINDS = (".gif", ".mp4", ".png")
_SIDE = 256
"""Pixels of the shorter side of what is written, about."""


@click.command()
@click.option("--checkpoint", "-c", type=click.Path(path_type=Path), required=True, help="Weights of Genie.")
@click.option("--actions", required=True, metavar="N,N,...", help="Latent actions, one for each frame to dream.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="A .gif, .mp4, or .png (frames in a row).")
@click.option(
    "--frame", type=click.Path(path_type=Path), help="Picture to start from.  [default: the first of an episode]"
)
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Of the episode and of the dream."
)
@click.option("--fps", type=click.IntRange(1, 100), default=5, show_default=True)
def dream(checkpoint: Path, actions: str, out: Path, frame: Path | None, seed: int, fps: int) -> None:
    """Dream on from a frame with latent actions, in Genie's dynamics model, and write the film."""
    import numpy as np
    from pydantic import ValidationError

    from wm_agent_genie.checkpoint import load
    from wm_core.specs import EnvSpec
    from wm_torchkit.video import frame_grid, write_gif, write_mp4, write_png

    if out.suffix.lower() not in _KINDS:
        raise UsageError(f"--out {out} is of no known kind; end it in {', '.join(_KINDS)}")
    if out.is_dir():
        raise UsageError(f"--out {out} is a directory; name a file in it")
    acting, header = load(checkpoint)
    agent = acting.agent
    chosen = _codes(actions, agent.config.latent_actions.actions)
    size, channels = agent.config.image_size, agent.config.channels
    if frame is None:
        try:
            spec = EnvSpec.model_validate(header.env)
        except ValidationError as error:
            raise CheckpointError(f"{checkpoint} does not say which game it was trained on; give --frame") from error
        start = _first_frame(spec, seed, size, channels)
    else:
        start = _picture(frame, size, channels)
    frames = np.concatenate([start[None], agent.imagine(start, chosen, seed=seed)])
    scale = max(1, _SIDE // min(size))
    if out.suffix.lower() == ".png":
        write_png(out, frame_grid(frames[None], scale))
    else:
        film = frames.repeat(scale, axis=1).repeat(scale, axis=2)
        (write_gif if out.suffix.lower() == ".gif" else write_mp4)(out, film, fps=fps)
    click.echo(f"{out}: {len(frames)} frames, the first of them given")


def _codes(text: str, actions: int) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch("[0-9]{1,9}", part) and int(part) < actions for part in parts):
        raise UsageError(f"--actions {text} are no latent actions; expected numbers in 0..{actions - 1}, like 0,1,1")
    return [int(part) for part in parts]


def _first_frame(spec: EnvSpec, seed: int, size: tuple[int, int], channels: int) -> NDArray[np.uint8]:
    import numpy as np

    from wm_agent_genie.observations import ObservationFrames
    from wm_core.envs.vector import make_vector
    from wm_core.seeds import episode_seeds

    with closing(make_vector(spec, 1)) as lanes:
        observations, _ = lanes.reset(seed=np.array([episode_seeds(seed, 0).env]))
        return ObservationFrames(lanes.single_observation_space, size, channels)(observations[0])


def _picture(path: Path, size: tuple[int, int], channels: int) -> NDArray[np.uint8]:
    import numpy as np
    from PIL import Image, UnidentifiedImageError

    from wm_agent_genie.observations import fitted

    try:
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("RGB" if channels == 3 else "L"))
    except (OSError, UnidentifiedImageError) as error:
        raise UsageError(f"{path} cannot be read as a picture ({error}); give a PNG or JPEG") from error
    return fitted(pixels.reshape(*pixels.shape[:2], channels), size, channels)
