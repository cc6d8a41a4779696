from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from wm_agent_iris.agent import IRISAgent
from wm_agent_iris.config import ComputeConfig, IRISConfig, TokenizerConfig
from wm_agent_iris.tokenizer.blocks import SpatialAttention
from wm_agent_iris.tokenizer.losses import tokenizer_loss
from wm_agent_iris.tokenizer.lpips import build_perceptual_loss
from wm_agent_iris.tokenizer.quantizer import EMAQuantizer, Quantizer, perplexity
from wm_agent_iris.tokenizer.tokenizer import IRISTokenizer


def make(config: TokenizerConfig, compute: ComputeConfig | None = None) -> IRISTokenizer:
    torch.manual_seed(0)
    return IRISTokenizer(config, compute)


def variant(small_config: IRISConfig, **changes: object) -> TokenizerConfig:
    return TokenizerConfig.model_validate(small_config.tokenizer.model_dump() | changes)


@pytest.fixture
def frames(generator: torch.Generator) -> Tensor:
    return torch.rand(3, 3, 16, 16, generator=generator)


def test_the_gradient_passes_the_quantizer_to_the_encoder(small_config: IRISConfig, frames: Tensor) -> None:
    tokenizer = make(small_config.tokenizer)
    tokenizer_loss(tokenizer, frames).reconstruction.backward()
    gradient = tokenizer.get_parameter("encoder.conv_in.weight").grad
    assert gradient is not None
    assert float(gradient.abs().sum()) > 0


def test_the_straight_through_gradient_is_that_of_the_decoder_input() -> None:
    quantizer = Quantizer(5, 3)
    z = torch.randn(7, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    slope = torch.arange(21.0).reshape(7, 3)
    (quantizer(z).straight_through * slope).sum().backward()
    assert z.grad is not None
    assert torch.equal(z.grad, slope)


def test_the_reconstruction_does_not_move_the_codes(small_config: IRISConfig, frames: Tensor) -> None:
    tokenizer = make(small_config.tokenizer)
    tokenizer_loss(tokenizer, frames).reconstruction.backward()
    assert tokenizer.quantizer.codebook.grad is None


def test_the_codebook_loss_moves_the_codes_alone(small_config: IRISConfig, frames: Tensor) -> None:
    tokenizer = make(small_config.tokenizer)
    tokenizer_loss(tokenizer, frames).codebook.backward()
    moved = {name for name, parameter in tokenizer.named_parameters() if parameter.grad is not None}
    assert moved == {"quantizer.codebook"}


def test_the_commitment_loss_leaves_the_codes_alone(small_config: IRISConfig, frames: Tensor) -> None:
    tokenizer = make(small_config.tokenizer)
    tokenizer_loss(tokenizer, frames).commitment.backward()
    assert tokenizer.quantizer.codebook.grad is None
    assert tokenizer.pre_quant.weight.grad is not None


def test_the_lowest_of_equal_codes_is_chosen() -> None:
    quantizer = Quantizer(4, 2)
    with torch.no_grad():
        quantizer.codebook.copy_(torch.tensor([[9.0, 9.0], [1.0, 0.0], [-1.0, 0.0], [1.0, 0.0]]))
    assert quantizer.nearest(torch.tensor([[0.0, 5.0], [1.0, 0.0]])).tolist() == [1, 1]


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), vectors=st.integers(1, 40), codes=st.integers(1, 20), dim=st.integers(1, 8))
def test_tokens_are_the_nearest_codes(seed: int, vectors: int, codes: int, dim: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(vectors, dim, generator=generator)
    quantizer = Quantizer(codes, dim)
    with torch.no_grad():
        quantizer.codebook.copy_(torch.randn(codes, dim, generator=generator))
    distances = (z[:, None].double() - quantizer.codebook.double()).square().sum(-1)
    chosen = distances.gather(1, quantizer.nearest(z)[:, None]).squeeze(1)
    assert torch.allclose(chosen, distances.amin(1), atol=1e-4)


def test_tokens_run_row_by_row(small_config: IRISConfig) -> None:
    tokenizer = make(small_config.tokenizer)
    codes = tokenizer.quantizer.codebook[torch.arange(12).repeat(2)[:16]]
    assert torch.equal(tokenizer.as_vectors(tokenizer.as_map(codes)), codes)
    assert torch.equal(tokenizer.as_map(codes)[0, :, 0, 3], codes[3])
    assert torch.equal(tokenizer.as_map(codes)[0, :, 1, 0], codes[4])


def test_bytes_and_floats_give_the_same_tokens(agent: IRISAgent, generator: torch.Generator) -> None:
    frames = torch.randint(256, (2, 3, 16, 16), generator=generator, dtype=torch.uint8)
    assert torch.equal(agent.tokenizer.encode(frames), agent.tokenizer.encode(frames.float() / 255))


def test_leading_axes_are_kept(agent: IRISAgent, frames: Tensor) -> None:
    tokens = agent.tokenizer.encode(frames.expand(2, 5, 3, 3, 16, 16))
    assert tokens.shape == (2, 5, 3, 16)
    assert torch.equal(tokens[1, 4], agent.tokenizer.encode(frames))
    assert agent.tokenizer.decode(tokens).shape == (2, 5, 3, 3, 16, 16)
    assert agent.tokenizer.encode(frames[0]).shape == (16,)


def test_reconstructions_are_within_0_and_1(agent: IRISAgent, frames: Tensor) -> None:
    seen = agent.tokenizer.reconstruct(frames)
    assert 0 <= float(seen.min()) <= float(seen.max()) <= 1


@pytest.mark.parametrize("shape", [(2, 16, 16, 3), (2, 3, 32, 32), (2, 1, 16, 16)])
def test_frames_of_another_shape_are_refused(agent: IRISAgent, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"frames must be \(\.\.\., 3, 16, 16\)"):
        agent.tokenizer.encode(torch.zeros(shape))


def test_integer_frames_are_refused(agent: IRISAgent) -> None:
    with pytest.raises(TypeError, match="uint8"):
        agent.tokenizer.encode(torch.zeros(1, 3, 16, 16, dtype=torch.int64))


@pytest.mark.parametrize(
    ("changes", "grid"),
    [
        ({"architecture": "strided"}, 2),
        ({"architecture": "strided", "channel_multipliers": (1, 2)}, 4),
        ({"channel_multipliers": (1, 2)}, 8),
        ({"channel_multipliers": (2, 1, 3)}, 4),
        ({"image_size": 32}, 8),
    ],
)
def test_the_token_grid_follows_the_levels(
    small_config: IRISConfig, changes: dict[str, object], grid: int, generator: torch.Generator
) -> None:
    config = variant(small_config, **changes)
    tokenizer = make(config).eval()
    frames = torch.rand(2, 3, config.image_size, config.image_size, generator=generator)
    tokens = tokenizer.encode(frames)
    assert tokens.shape == (2, grid**2)
    assert tokenizer.decode(tokens).shape == frames.shape


def test_the_documents_encoder_is_strided_from_3_to_512_with_a_projection() -> None:
    config = TokenizerConfig(architecture="strided", channel_multipliers=(1, 2, 4, 8), embedding_dim=32)
    with torch.device("meta"):
        tokenizer = IRISTokenizer(config)
    convolutions = [m for m in tokenizer.encoder.modules() if isinstance(m, torch.nn.Conv2d)]
    assert [(c.in_channels, c.out_channels, c.stride) for c in convolutions] == [
        (3, 64, (2, 2)),
        (64, 128, (2, 2)),
        (128, 256, (2, 2)),
        (256, 512, (2, 2)),
    ]
    assert tuple(tokenizer.pre_quant.weight.shape) == (32, 512, 1, 1)
    assert config.tokens_per_frame == 16


@pytest.mark.parametrize(
    ("resolutions", "middle", "encoder", "decoder"),
    [((8, 16), True, 5, 7), ((8, 16), False, 4, 6), ((16,), True, 3, 4), ((), False, 0, 0)],
)
def test_attention_is_where_it_was_placed(
    resolutions: tuple[int, ...], middle: bool, encoder: int, decoder: int
) -> None:
    config = TokenizerConfig(attention_resolutions=resolutions, attention_in_middle=middle)
    with torch.device("meta"):
        tokenizer = IRISTokenizer(config)
    for net, count in ((tokenizer.encoder, encoder), (tokenizer.decoder, decoder)):
        assert sum(isinstance(m, SpatialAttention) for m in net.modules()) == count


def test_squared_error_reconstruction(small_config: IRISConfig, frames: Tensor) -> None:
    config = variant(small_config, reconstruction_loss="squared_error")
    absolute = tokenizer_loss(make(small_config.tokenizer), frames)
    squared = tokenizer_loss(make(config), frames)
    tokenizer = make(config).eval()
    unclamped = tokenizer.decoder_output(
        tokenizer.as_map(tokenizer.quantizer.codebook[tokenizer.encode(frames).flatten()])
    )
    error = unclamped - (frames * 2 - 1)
    assert float(squared.reconstruction.detach()) == pytest.approx(float(error.detach().square().mean()), rel=1e-5)
    assert float(absolute.reconstruction.detach()) == pytest.approx(float(error.detach().abs().mean()), rel=1e-5)


def test_the_parts_add_up_with_their_weights(small_config: IRISConfig, frames: Tensor) -> None:
    tokenizer = make(variant(small_config, commitment_weight=0.25))
    loss = tokenizer_loss(tokenizer, frames)
    assert float(loss.total.detach()) == pytest.approx(
        float((loss.reconstruction + loss.codebook + 0.25 * loss.commitment).detach())
    )


def test_the_perceptual_loss_counts_with_its_weight(small_config: IRISConfig, frames: Tensor) -> None:
    perceptual = build_perceptual_loss("random")
    totals = {}
    for weight in (0.0, 0.5):
        loss = tokenizer_loss(make(variant(small_config, perceptual_weight=weight)), frames, perceptual)
        totals[weight] = float(loss.total.detach())
    assert float(loss.perceptual.detach()) > 0
    assert totals[0.5] - totals[0.0] == pytest.approx(0.5 * float(loss.perceptual.detach()), rel=1e-3)


def test_a_perceptual_weight_without_a_perceptual_loss_is_refused(small_config: IRISConfig, frames: Tensor) -> None:
    tokenizer = make(variant(small_config, perceptual_weight=1.0))
    with pytest.raises(ValueError, match="build_perceptual_loss"):
        tokenizer_loss(tokenizer, frames)


@pytest.mark.parametrize("change", [{"gradient_checkpointing": True}, {"channels_last": False}])
def test_how_it_is_computed_changes_no_gradient(
    small_config: IRISConfig, frames: Tensor, change: dict[str, bool]
) -> None:
    gradients = []
    for compute in (ComputeConfig(), ComputeConfig.model_validate(change)):
        tokenizer = make(small_config.tokenizer, compute)
        tokenizer_loss(tokenizer, frames).total.backward()
        gradients.append(tokenizer.get_parameter("encoder.conv_in.weight").grad)
    assert torch.allclose(gradients[0], gradients[1], rtol=1e-3, atol=1e-5)


def test_perplexity_counts_the_codes_in_use() -> None:
    assert float(perplexity(torch.zeros(50, dtype=torch.long), 8)) == pytest.approx(1.0, abs=1e-4)
    assert float(perplexity(torch.arange(8).repeat(3), 8)) == pytest.approx(8.0, abs=1e-4)
    assert float(perplexity(torch.tensor([0, 0, 5, 5]), 8)) == pytest.approx(2.0, abs=1e-4)


def test_ema_codes_start_from_the_first_batch(generator: torch.Generator) -> None:
    quantizer = EMAQuantizer(4, 3, decay=0.9, dead_code_threshold=0.01)
    z = torch.randn(30, 3, generator=generator) + 10
    reseeded = quantizer.update(z, generator)
    assert int(reseeded) == 4
    assert float(quantizer.codebook.detach().min()) > 5


def test_ema_codes_are_the_running_means_of_their_vectors(generator: torch.Generator) -> None:
    quantizer = EMAQuantizer(2, 2, decay=0.9, dead_code_threshold=0.0)
    quantizer.codebook.copy_(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    quantizer.cluster_sum.copy_(quantizer.codebook)
    quantizer.cluster_size.fill_(1.0)
    z = torch.tensor([[2.0, 1.0], [4.0, -1.0], [-3.0, 0.0]])
    quantizer.update(z, generator)
    sizes = torch.tensor([0.9 + 0.1 * 2, 0.9 + 0.1 * 1])
    sums = torch.tensor([[0.9 + 0.1 * 6, 0.0], [-0.9 - 0.1 * 3, 0.0]])
    assert torch.allclose(quantizer.cluster_size, sizes)
    assert torch.allclose(quantizer.codebook, sums / sizes[:, None])


def test_a_code_that_falls_out_of_use_is_reseeded(generator: torch.Generator) -> None:
    quantizer = EMAQuantizer(2, 2, decay=0.5, dead_code_threshold=0.01)
    quantizer.codebook.copy_(torch.tensor([[0.0, 0.0], [50.0, 50.0]]))
    quantizer.cluster_sum.copy_(quantizer.codebook)
    quantizer.cluster_size.fill_(1.0)
    z = torch.randn(20, 2, generator=generator)
    reseeded = [int(quantizer.update(z, generator)) for _ in range(8)]
    assert reseeded == [0, 0, 0, 0, 0, 0, 0, 1]
    assert float(quantizer.codebook.detach().abs().max()) < 5
    assert float(perplexity(quantizer.nearest(z), 2)) > 1.2


def test_ema_codes_take_no_gradient_and_have_no_codebook_loss(small_config: IRISConfig, frames: Tensor) -> None:
    tokenizer = make(variant(small_config, codebook="ema"))
    loss = tokenizer_loss(tokenizer, frames, generator=torch.Generator().manual_seed(0))
    loss.total.backward()
    assert float(loss.codebook) == 0
    assert not tokenizer.quantizer.codebook.requires_grad
    assert tokenizer.pre_quant.weight.grad is not None


def test_ema_codes_rest_in_evaluation(small_config: IRISConfig, frames: Tensor) -> None:
    tokenizer = make(variant(small_config, codebook="ema")).eval()
    before = tokenizer.quantizer.codebook.clone()
    tokenizer_loss(tokenizer, frames)
    assert torch.equal(tokenizer.quantizer.codebook, before)


def test_reseeding_depends_on_the_generator_alone(small_config: IRISConfig, frames: Tensor) -> None:
    codebooks = []
    for other in (1, 2):
        tokenizer = make(variant(small_config, codebook="ema"))
        torch.manual_seed(other)
        tokenizer_loss(tokenizer, frames, generator=torch.Generator().manual_seed(7))
        codebooks.append(tokenizer.quantizer.codebook)
    assert torch.equal(codebooks[0], codebooks[1])


@pytest.mark.parametrize("codebook", ["gradient", "ema"])
def test_a_few_updates_lower_the_loss(small_config: IRISConfig, frames: Tensor, codebook: str) -> None:
    tokenizer = make(variant(small_config, codebook=codebook))
    optimizer = torch.optim.Adam(tokenizer.parameters(), lr=3e-3)
    generator = torch.Generator().manual_seed(0)
    losses = []
    for _ in range(30):
        loss = tokenizer_loss(tokenizer, frames, generator=generator)
        optimizer.zero_grad()
        loss.total.backward()
        optimizer.step()
        losses.append(float(loss.reconstruction.detach()))
    assert losses[-1] < 0.8 * losses[0]
