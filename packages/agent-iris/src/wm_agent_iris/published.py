"""Read the checkpoints published with the paper (`last.pt`): tensors renamed, shapes checked, nothing executed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from wm_agent_iris.config import IRISConfig
from wm_agent_iris.weights_file import listed, read_tensors
from wm_core.errors import CheckpointError

_LPIPS = "tokenizer.lpips."
_ACTIONS = "world_model.embedder.embedding_tables.0.weight"
_STRUCTURAL = re.compile(r"\.attn\.mask$|\.head_(observations|rewards|ends)\.indices$")
"""Constants that follow from the configuration."""


class PublishedWeights(NamedTuple):
    """A published checkpoint, in this package's names."""

    action_size: int
    weights: dict[str, Tensor]
    lpips: dict[str, Tensor]
    """The calibrated LPIPS that was saved with it, in its own names; may be empty. For `build_perceptual_loss`."""


def load(path: Path) -> PublishedWeights:
    """Read a published checkpoint; `CheckpointError` says what is missing or does not belong."""
    return convert(read_tensors(path), str(path))


def convert(tensors: Mapping[str, Tensor], origin: str) -> PublishedWeights:
    """Rename the tensors of a published checkpoint; queries, keys and values are packed into one."""
    lpips = {name: tensor for name, tensor in tensors.items() if name.startswith(_LPIPS)}
    given = {n: t for n, t in tensors.items() if n not in lpips and not _STRUCTURAL.search(n)}
    sources = dict(_sources())
    wanted = {name for parts in sources.values() for name in parts}
    if not wanted & given.keys():
        raise CheckpointError(
            f"{origin} is no published IRIS checkpoint: it holds {listed(given) or 'nothing of one'}, "
            f"where names like '{_ACTIONS}' were expected"
        )
    for problem, names in (("lacks", wanted - given.keys()), ("has unknown", given.keys() - wanted)):
        if names:
            raise CheckpointError(
                f"{origin} is no published IRIS checkpoint of the paper's configuration: it {problem} "
                f"{listed(sorted(names))}"
            )
    weights = {name: torch.cat([given[part].float() for part in parts]) for name, parts in sources.items()}
    return PublishedWeights(given[_ACTIONS].shape[0], weights, lpips)


def _sources() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each tensor of an agent of the paper's configuration, and the published ones it is made of."""
    for ours, theirs in _modules():
        parts = theirs if isinstance(theirs, tuple) else (theirs,)
        for kind in ("weight", "bias"):
            yield f"{ours}.{kind}", tuple(f"{part}.{kind}" for part in parts)
    for ours, theirs in {
        "tokenizer.quantizer.codebook": "tokenizer.embedding.weight",
        "world_model.transformer.position_embedding": "world_model.pos_emb.weight",
        "world_model.transformer.action_embedding.weight": _ACTIONS,
        "world_model.transformer.token_embedding.weight": "world_model.embedder.embedding_tables.1.weight",
    }.items():
        yield ours, (theirs,)
    for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        yield f"actor_critic.networks.0.lstm.{kind}_l0", (f"actor_critic.lstm.{kind}",)


def _modules() -> Iterator[tuple[str, str | tuple[str, ...]]]:
    """The modules with a weight and a bias, by both names."""
    config = IRISConfig()
    levels = len(config.tokenizer.channel_multipliers)
    size, blocks = config.tokenizer.image_size, config.tokenizer.residual_blocks
    yield "tokenizer.pre_quant", "tokenizer.pre_quant_conv"
    yield "tokenizer.post_quant", "tokenizer.post_quant_conv"
    for net in ("tokenizer.encoder", "tokenizer.decoder"):
        for name in ("conv_in", "norm_out", "conv_out"):
            yield f"{net}.{name}", f"{net}.{name}"
        yield from _residual_block(f"{net}.middle.0", f"{net}.mid.block_1")
        yield from _spatial_attention(f"{net}.middle.1", f"{net}.mid.attn_1")
        yield from _residual_block(f"{net}.middle.2", f"{net}.mid.block_2")
    for level in range(levels):
        attention = size >> level in config.tokenizer.attention_resolutions
        down = f"tokenizer.encoder.down.{level}"
        yield from _level(f"tokenizer.encoder.levels.{level}", down, blocks, attention)
        # Their decoder counts levels from the full resolution, ours in the order in which they run.
        place, up = levels - 1 - level, f"tokenizer.decoder.up.{level}"
        yield from _level(f"tokenizer.decoder.levels.{place}", up, blocks + 1, attention)
        if level < levels - 1:
            yield f"tokenizer.encoder.downsamples.{level}.conv", f"{down}.downsample.conv"
        if level > 0:
            yield f"tokenizer.decoder.upsamples.{place}.conv", f"{up}.upsample.conv"
    yield from _transformer(config.world_model.layers)
    for i in range(len(config.actor_critic.channels)):
        yield f"actor_critic.networks.0.convolutions.{i}", f"actor_critic.conv{i + 1}"
    for head in ("actor", "critic"):
        yield f"actor_critic.{head}", f"actor_critic.{head}_linear"


def _transformer(layers: int) -> Iterator[tuple[str, str | tuple[str, ...]]]:
    yield "world_model.transformer.norm_out", "world_model.transformer.ln_f"
    for i in range(layers):
        ours = theirs = f"world_model.transformer.blocks.{i}"
        attention = f"{theirs}.attn"
        yield f"{ours}.norm1", f"{theirs}.ln1"
        yield f"{ours}.norm2", f"{theirs}.ln2"
        yield f"{ours}.attention.qkv", (f"{attention}.query", f"{attention}.key", f"{attention}.value")
        yield f"{ours}.attention.projection", f"{attention}.proj"
        for j in (0, 2):
            yield f"{ours}.mlp.{j}", f"{theirs}.mlp.{j}"
    for ours, theirs in (("observation", "observations"), ("reward", "rewards"), ("end", "ends")):
        for j in (0, 2):
            yield f"world_model.transformer.{ours}_head.{j}", f"world_model.head_{theirs}.head_module.{j}"


def _level(ours: str, theirs: str, blocks: int, attention: bool) -> Iterator[tuple[str, str | tuple[str, ...]]]:
    each = 2 if attention else 1
    for j in range(blocks):
        yield from _residual_block(f"{ours}.{j * each}", f"{theirs}.block.{j}")
        if attention:
            yield from _spatial_attention(f"{ours}.{j * each + 1}", f"{theirs}.attn.{j}")


def _residual_block(ours: str, theirs: str) -> Iterator[tuple[str, str]]:
    for name in ("norm1", "conv1", "norm2", "conv2"):
        yield f"{ours}.{name}", f"{theirs}.{name}"


def _spatial_attention(ours: str, theirs: str) -> Iterator[tuple[str, str | tuple[str, ...]]]:
    yield f"{ours}.norm", f"{theirs}.norm"
    yield f"{ours}.qkv", (f"{theirs}.q", f"{theirs}.k", f"{theirs}.v")
    yield f"{ours}.projection", f"{theirs}.proj_out"
