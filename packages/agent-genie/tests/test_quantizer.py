from __future__ import annotations

from typing import Literal

import pytest
import torch

from wm_agent_genie.config import QuantizerConfig
from wm_agent_genie.quantizer import Quantizer


def make(codebook: Literal["gradient", "ema"], codes: int = 3, **settings: float) -> Quantizer:
    torch.manual_seed(0)
    return Quantizer(QuantizerConfig(codes=codes, code_dim=2, codebook=codebook, batch_norm=False, **settings))


def test_vectors_go_to_the_nearest_code() -> None:
    quantizer = make("gradient")
    quantizer.codebook.data = torch.tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    assert quantizer.nearest(torch.tensor([[[1.0, 0.5], [3.0, 1.0]], [[-9.0, 1.0], [1.0, 3.9]]])).tolist() == [
        [0, 1],
        [0, 2],
    ]


def test_values_are_the_codes_and_the_gradient_is_passed_straight_through() -> None:
    quantizer = make("ema").eval()
    z = torch.randn(5, 2, requires_grad=True)
    quantized = quantizer(z)
    torch.testing.assert_close(quantized.straight_through, quantizer.codebook[quantized.codes])
    (quantized.straight_through * torch.arange(10.0).reshape(5, 2)).sum().backward()
    assert torch.equal(z.grad, torch.arange(10.0).reshape(5, 2))


def test_the_gradient_codebook_moves_to_its_vectors_and_vectors_to_it_by_a_quarter() -> None:
    """Van den Oord et al. (2017), equation 3: |sg(z) - e|^2 + beta |z - sg(e)|^2."""
    quantizer = make("gradient")
    z = torch.randn(4, 2, requires_grad=True)
    quantized = quantizer(z)
    quantized.loss.backward()
    error = z.detach() - quantizer.codebook.detach()[quantized.codes]
    torch.testing.assert_close(z.grad, 0.25 * 2 * error / error.numel())
    expected = torch.zeros(3, 2).index_add(0, quantized.codes, -2 * error / error.numel())
    torch.testing.assert_close(quantizer.codebook.grad, expected)


def test_an_ema_codebook_finds_clusters_and_starts_from_data() -> None:
    generator = torch.Generator().manual_seed(0)
    centres = torch.tensor([[5.0, 5.0], [5.0, -5.0], [-5.0, 0.0]])
    quantizer = make("ema", ema_decay=0.8).train()
    for _ in range(60):
        z = centres[torch.randint(3, (96,), generator=generator)] + 0.1 * torch.randn(96, 2, generator=generator)
        metrics = quantizer(z, generator).metrics
    assert float(torch.cdist(centres, quantizer.codebook).min(1).values.max()) < 0.1
    assert float(metrics["perplexity"]) == pytest.approx(3, abs=0.1)
    assert float(metrics["reseeded"]) == 0


def test_a_code_no_longer_used_is_reseeded_where_vectors_are() -> None:
    generator = torch.Generator().manual_seed(0)
    quantizer = make("ema", codes=2, ema_decay=0.5).train()
    for centre in (torch.tensor([0.0, 0.0]), torch.tensor([50.0, 0.0])):
        for _ in range(20):
            quantizer(centre + torch.randn(32, 2, generator=generator), generator)
    assert float((quantizer.codebook - torch.tensor([50.0, 0.0])).norm(dim=1).max()) < 5


def test_an_ema_codebook_does_not_move_in_evaluation() -> None:
    quantizer = make("ema").eval()
    before = quantizer.codebook.clone()
    quantizer(torch.randn(20, 2))
    assert torch.equal(quantizer.codebook, before)


def test_batch_normalisation_keeps_vectors_that_shrink_apart() -> None:
    quantizer = Quantizer(QuantizerConfig(codes=4, code_dim=2, ema_decay=0.5)).train()
    z = torch.randn(64, 2, generator=torch.Generator().manual_seed(0))
    codes = [quantizer(scale * z + 3, torch.Generator().manual_seed(0)).codes for scale in (1.0, 1.0, 0.1)]
    quantized = quantizer(0.1 * z + 3).straight_through
    assert float(quantized.std(dim=0).min()) > 0.5
    assert len(codes[-1].unique()) == 4
