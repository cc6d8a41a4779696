"""The video a training learns from: given datasets, or collected where there is a scripted expert."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wm_agent_genie.config import GenieConfig
from wm_agent_genie.data.collect import collect, scripted_expert
from wm_agent_genie.data.format import MANIFEST, read_manifest
from wm_agent_genie.data.reader import VideoDataset
from wm_agent_genie.data.validate import validate
from wm_core.context import context_of
from wm_core.errors import UsageError
from wm_core.protocols import Acts
from wm_core.random_policy import RandomPolicy
from wm_core.specs import EnvSpec


@dataclass(frozen=True)
class VideoSources:
    """Video for the world model, and an expert's for the policy; each with a part held out."""

    video: VideoDataset
    video_held_out: VideoDataset
    expert: VideoDataset
    expert_held_out: VideoDataset
    collected_steps: int
    """Environment steps taken for them."""

    def notes(self) -> dict[str, str]:
        """What a checkpoint says of its video."""
        video, expert = self.video.manifest, self.expert.manifest
        returned = "not known" if expert.mean_return is None else f"{expert.mean_return:.3f}"
        return {
            "video": f"{video.source}; {video.frames} frames in {video.episodes} episodes",
            "expert": f"{expert.source}; {expert.frames} frames in {expert.episodes} episodes",
            "expert_return": returned,
        }


def open_sources(
    config: GenieConfig, spec: EnvSpec, real_actions: int, directory: Path, seed: int, on_steps: Callable[[int], None]
) -> VideoSources:
    """Open the datasets of the configuration, collecting what it does not name under `directory`.

    `UsageError` where frames are of another shape than the agent's, or an expert's actions are missing or not the
    environment's.
    """
    training = config.training
    steps = 0
    expert_policy = scripted_expert(spec.id) if training.expert is None else None
    pixels = spec.model_copy(update={"image_size": config.image_size})
    if training.video is None:
        path = directory / "video"
        _collected(path, pixels, random_policy(pixels), training.video_steps, "random actions", seed, 0.0, on_steps)
        steps += training.video_steps
    if expert_policy is not None:
        path, share = directory / "expert", training.expert_random_share
        _collected(path, pixels, expert_policy, training.expert_steps, "scripted expert", seed + 1, share, on_steps)
        steps += training.expert_steps
    paths = Path(training.video or directory / "video"), Path(training.expert or directory / "expert")
    for path in paths:
        validate(path)
    video, expert = map(VideoDataset, paths)
    for dataset in (video, expert):
        _require_shape(dataset, config)
    if expert.manifest.actions != real_actions:
        has = "no actions" if expert.manifest.actions is None else f"{expert.manifest.actions} actions"
        raise UsageError(
            f"{expert.directory} records {has}, and {spec.id} has {real_actions}; {training.labels} labelled "
            "transitions are needed to map latent actions to real ones: collect or import the expert with actions"
        )
    halves = (*video.split(training.held_out, training.split_by), *expert.split(training.held_out, training.split_by))
    return VideoSources(*halves, collected_steps=steps)


def random_policy(spec: EnvSpec) -> RandomPolicy:
    """Uniformly random actions of an environment."""
    return RandomPolicy(context_of(spec))


def _collected(
    path: Path,
    spec: EnvSpec,
    policy: Acts,
    steps: int,
    source: str,
    seed: int,
    random_share: float,
    on_steps: Callable[[int], None],
) -> None:
    """Collect unless it is there. What an interrupted collection left has no manifest, and is written over.

    `UsageError` where what is there was collected with another seed, or with more or fewer steps.
    """
    if (path / MANIFEST).exists():
        found = read_manifest(path)
        if (found.seed, found.frames - found.episodes) != (seed, steps):
            raise UsageError(
                f"{path} was collected with another seed or number of steps ({found.frames - found.episodes}, now "
                f"{steps}); train in another directory, or remove it"
            )
        return
    collect(spec, policy, path, steps=steps, source=source, seed=seed, random_share=random_share, on_progress=on_steps)


def _require_shape(dataset: VideoDataset, config: GenieConfig) -> None:
    m = dataset.manifest
    if ((m.height, m.width), m.channels) != (config.image_size, config.channels):
        raise UsageError(
            f"{dataset.directory} has frames of {m.height}x{m.width}x{m.channels}, and the agent is for "
            f"{config.image_size[0]}x{config.image_size[1]}x{config.channels}; set image_size and channels, or make "
            "the dataset in that size (--resize)"
        )
