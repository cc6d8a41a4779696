"""Latent actions beside true ones: the map of a few labels, and how well it holds on held-out video."""

from __future__ import annotations

import logging

import numpy as np
import torch
from torch import Tensor

from wm_agent_genie.acting import ActingGenie
from wm_agent_genie.data.reader import VideoDataset

_LOG = logging.getLogger(__name__)


def labelled(acting: ActingGenie, dataset: VideoDataset, most: int) -> tuple[Tensor, Tensor]:
    """Latent and true actions, int64 (n,), of the first transitions of a dataset, at most `most`.

    Latent actions are read from clips as long as those the policy is cloned on. Each transition is taken once, those
    at the ends of episodes too: what is done there is seldom what is done elsewhere.
    """
    clips, new = dataset.transitions(acting.agent.config.policy.context + 1, most)
    assert clips.actions is not None
    codes = torch.cat(
        [acting.agent.latent_action_model.infer(acting.agent.tensor(part)) for part in _parts(clips.frames)]
    )
    taken = torch.from_numpy(new)
    return codes.cpu()[taken][:most], torch.from_numpy(clips.actions)[taken][:most]


def fill_map(acting: ActingGenie, expert: VideoDataset, labels: int) -> dict[str, float]:
    """Make the map of `labels` labelled transitions of the expert; how pure it is."""
    codes, actions = labelled(acting, expert, labels)
    if len(codes) < labels:
        _LOG.warning("%s has %d labelled transitions for the map, not %d", expert.directory, len(codes), labels)
    acting.latent_map.fill(codes, actions)
    counts = acting.latent_map.counts
    return {"labels": float(len(codes)), "purity": float(counts.max(dim=1).values.sum() / counts.sum())}


def agreement(acting: ActingGenie, dataset: VideoDataset, most: int = 2000) -> tuple[float, float]:
    """(share of transitions whose true action is the map's commonest for their latent one, that of the commonest)."""
    codes, actions = labelled(acting, dataset, most)
    guessed = torch.from_numpy(acting.latent_map.likeliest())[codes]
    chance = torch.bincount(actions).max() / len(actions)
    return float((guessed == actions).float().mean()), float(chance)


def _parts(frames: np.ndarray, size: int = 256) -> list[np.ndarray]:
    return [frames[i : i + size] for i in range(0, len(frames), size)]
