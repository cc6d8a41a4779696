"""Encoders, decoders and layers: the shapes and sizes of the published tables."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from wm_agent_dreamer.agent import DreamerAgent
from wm_agent_dreamer.config import (
    DecoderConfig,
    DreamerConfig,
    EncoderConfig,
    HeadsConfig,
    LossConfig,
    OptimizersConfig,
    RSSMConfig,
)
from wm_agent_dreamer.layouts import ActionLayout, Observation, ObservationLayout
from wm_agent_dreamer.networks.image_decoder import ImageDecoder
from wm_agent_dreamer.networks.image_encoder import ImageEncoder
from wm_agent_dreamer.networks.layers import BlockLinear, ConcatLinear
from wm_agent_dreamer.networks.observations import ObservationDecoder, ObservationEncoder
from wm_agent_dreamer.rssm import RSSM

SMALL_RSSM = RSSMConfig(deter=16, hidden=8, stoch=2, classes=4, blocks=4)
ARCHITECTURES = [
    ("valid", "valid", (1, 2, 4, 8)),
    ("same", "same", (1, 2, 4, 8)),
    ("pooled", "upsampled", (2, 3, 4, 4)),
]


def encoder_of(architecture: str, depth: int, multipliers: tuple[int, ...] = (1, 2, 4, 8)) -> EncoderConfig:
    return EncoderConfig.model_validate({"architecture": architecture, "depth": depth, "multipliers": multipliers})


def decoder_of(architecture: str, depth: int, multipliers: tuple[int, ...] = (1, 2, 4, 8)) -> DecoderConfig:
    return DecoderConfig.model_validate(
        {"architecture": architecture, "depth": depth, "multipliers": multipliers, "blocks": 4, "units": 8}
    )


@pytest.mark.parametrize(("depth", "size"), [(32, 1024), (48, 1536)])
def test_v1_and_v2_encode_to_two_by_two(depth: int, size: int) -> None:
    """Tables of V1 (depth 32) and V2 (depth 48): 64x64 to 2x2x(8 depth)."""
    encoder = ImageEncoder((3, 64, 64), encoder_of("valid", depth))
    assert encoder.grid == (2, 2)
    assert encoder(torch.rand(2, 3, 64, 64)).shape == (2, size)


def test_v1_decodes_from_a_thousand_units() -> None:
    decoder = ImageDecoder((3, 64, 64), SMALL_RSSM, decoder_of("valid", 32))
    assert decoder.first.shape == (1, 1, 1024)
    kernels = [layer.kernel_size[0] for layer in decoder.layers if isinstance(layer, nn.ConvTranspose2d)]
    channels = [layer.out_channels for layer in decoder.layers if isinstance(layer, nn.ConvTranspose2d)]
    assert kernels == [5, 5, 6, 6]
    assert channels == [128, 64, 32, 3]


def test_the_later_v3_encodes_to_four_by_four_by_pooling() -> None:
    encoder = ImageEncoder((3, 64, 64), encoder_of("pooled", 16, (2, 3, 4, 4)))
    assert encoder.grid == (4, 4)
    assert encoder.size == 4 * 4 * 64
    assert [layer.out_channels for layer in encoder.layers if isinstance(layer, nn.Conv2d)] == [32, 48, 64, 64]


@pytest.mark.parametrize(("encoder", "decoder", "multipliers"), ARCHITECTURES)
@pytest.mark.parametrize("size", [(16, 16), (17, 40), (64, 64), (50, 99)])
def test_images_of_any_size_are_encoded_and_decoded(
    encoder: str, decoder: str, multipliers: tuple[int, ...], size: tuple[int, int]
) -> None:
    image = (2, *size)
    encoded = ImageEncoder(image, encoder_of(encoder, 2, multipliers))
    decoded = ImageDecoder(image, SMALL_RSSM, decoder_of(decoder, 2, multipliers))
    assert encoded(torch.rand(3, *image)).shape == (3, encoded.size)
    assert decoded(torch.rand(3, SMALL_RSSM.feature_size)).shape == (3, *image)


def test_padding_is_mid_gray() -> None:
    encoder = ImageEncoder((1, 17, 17), encoder_of("same", 2, (1, 2)))
    whole = ImageEncoder((1, 20, 20), encoder_of("same", 2, (1, 2)))
    whole.load_state_dict(encoder.state_dict())
    image = torch.rand(1, 1, 17, 17)
    padded = torch.full((1, 1, 20, 20), 0.5)
    padded[..., :17, :17] = image
    torch.testing.assert_close(encoder(image), whole(padded))


@pytest.mark.parametrize(("image", "vector"), [((3, 16, 16), None), (None, 5), ((3, 16, 16), 5)])
def test_the_layout_chooses_the_networks(image: tuple[int, int, int] | None, vector: int | None) -> None:
    layout = ObservationLayout(image=image, vector=vector)
    encoder = ObservationEncoder(layout, encoder_of("same", 2, (1, 2)))
    decoder = ObservationDecoder(layout, SMALL_RSSM, decoder_of("same", 2, (1, 2)))
    seen = Observation(
        None if image is None else torch.rand(2, 4, *image), None if vector is None else torch.rand(2, 4, vector)
    )
    assert encoder(seen).shape == (2, 4, encoder.size)
    losses = decoder.losses(decoder(torch.rand(2, 4, SMALL_RSSM.feature_size)), seen)
    assert set(losses) == {name for name, part in (("image", image), ("vector", vector)) if part is not None}
    assert all(loss.shape == (2, 4) for loss in losses.values())


def test_image_losses_sum_over_pixels() -> None:
    layout = ObservationLayout(image=(1, 16, 16))
    for kind, factor in (("normal", 0.5), ("squared_error", 1.0)):
        config = decoder_of("same", 2, (1, 2)).model_copy(update={"image_loss": kind})
        decoder = ObservationDecoder(layout, SMALL_RSSM, config)
        found = decoder(torch.rand(1, 1, SMALL_RSSM.feature_size))
        assert found.image is not None
        losses = decoder.losses(found, Observation(found.image.detach() + 0.1))
        assert losses["image"].item() == pytest.approx(factor * 256 * 0.01, rel=1e-3)


def test_vector_losses_are_in_symlog_space_and_decode_out_of_it() -> None:
    layout = ObservationLayout(vector=2)
    decoder = ObservationDecoder(layout, SMALL_RSSM, decoder_of("same", 2, (1, 2)))
    found = decoder(torch.rand(1, 1, SMALL_RSSM.feature_size))
    observation = decoder.observation(found)
    assert decoder.losses(found, observation)["vector"].item() == pytest.approx(0.0, abs=1e-9)


def test_parts_of_a_concat_linear_sum_to_the_whole() -> None:
    layer = ConcatLinear((3, 5), 4, bias=True)
    for weight in layer.weights:
        nn.init.normal_(weight)
    assert layer.bias is not None
    nn.init.normal_(layer.bias)
    a, b = torch.randn(2, 3), torch.randn(2, 5)
    expected = nn.functional.linear(torch.cat([a, b], 1), torch.cat(list(layer.weights), 1), layer.bias)
    torch.testing.assert_close(layer(a, b), expected)
    torch.testing.assert_close(layer.part(0, a, with_bias=True) + layer.part(1, b), expected)


def test_block_linear_is_a_block_diagonal_product() -> None:
    layer = BlockLinear(6, 4, 2)
    nn.init.normal_(layer.weight)
    nn.init.normal_(layer.bias)
    x = torch.randn(3, 5, 6)
    expected = x @ torch.block_diag(*layer.weight) + layer.bias
    torch.testing.assert_close(layer(x), expected)


def parameters(config: DreamerConfig, actions: int) -> tuple[int, int]:
    """Of the world model, and of everything that trains."""
    layout, action = ObservationLayout(image=(3, 64, 64)), ActionLayout(kind="discrete", size=actions)
    with torch.device("meta"):
        agent = DreamerAgent(config, layout, action)
    counts = [sum(p.numel() for p in module.parameters() if p.requires_grad) for module in (agent.world_model, agent)]
    return counts[0], counts[1]


def test_the_first_v3_has_its_published_number_of_parameters() -> None:
    """15.7 million in the world model of the small size of 2023 (deter 512, 32x32 latents, depth 32)."""
    world_model, _ = parameters(first_generation(), actions=6)
    assert world_model / 1e6 == pytest.approx(15.7, abs=0.1)


def first_generation() -> DreamerConfig:
    return DreamerConfig(
        encoder=encoder_of("same", 32).model_copy(update={"norm": "layer"}),
        decoder=decoder_of("same", 32).model_copy(update={"norm": "layer", "output": "linear"}),
        rssm=RSSMConfig(
            deter=512,
            hidden=512,
            stoch=32,
            classes=32,
            gru="layer_norm",
            norm="layer",
            prior_layers=1,
            initial="learned",
        ),
        heads=HeadsConfig(units=512, norm="layer", reward_layers=2, continue_layers=2, reward="symlog_two_hot"),
        optimizers=OptimizersConfig(joint=None),
        loss=LossConfig(replay_value=0.0),
    )


@pytest.mark.parametrize(
    ("millions", "deter", "units", "classes", "depth"),
    [(12, 2048, 256, 16, 16), (50, 4096, 512, 32, 32), (200, 8192, 1024, 64, 64)],
)
def test_the_later_v3_has_about_the_parameters_its_sizes_are_named_after(
    millions: int, deter: int, units: int, classes: int, depth: int
) -> None:
    """The names are rounded up: what trains is 80 to 90 % of them."""
    config = DreamerConfig(
        encoder=EncoderConfig(depth=depth),
        decoder=DecoderConfig(depth=depth, units=units),
        rssm=RSSMConfig(deter=deter, hidden=units, classes=classes),
        heads=HeadsConfig(units=units),
    )
    _, everything = parameters(config, actions=6)
    assert 0.8 < everything / (1e6 * millions) < 0.9


def test_the_blockwise_rssm_has_the_parameters_of_its_layers() -> None:
    """Size 12M, by hand: deter 2048 in 8 blocks, hidden 256, 32 latents of 16 classes, 6 actions."""
    rssm = RSSM(RSSMConfig(deter=2048, hidden=256, classes=16), embedding=1024, actions=6)
    dense, deter, stoch, block = 256 + 256, 2048, 32 * 16, 2048 // 8
    inputs = (deter * 256 + dense) + (stoch * 256 + dense) + (6 * 256 + dense)
    core = 8 * (block + 3 * 256) * block + deter + deter
    gates = 8 * block * 3 * block + 3 * deter
    prior = (deter * 256 + dense) + (256 * 256 + dense) + (256 * stoch + stoch)
    posterior = ((deter + 1024) * 256 + dense) + (256 * stoch + stoch)
    assert sum(p.numel() for p in rssm.parameters()) == inputs + core + gates + prior + posterior
