from __future__ import annotations

import pytest
import torch
from genie_configs import SMALL
from torch import Tensor

from wm_agent_genie.agent import GenieAgent
from wm_agent_genie.config import LatentActionConfig, QuantizerConfig, STTransformerConfig
from wm_agent_genie.latent_action_model import LatentActionModel


@pytest.fixture
def model(agent: GenieAgent) -> LatentActionModel:
    return agent.latent_action_model


def changed(clips: Tensor, frame: int) -> Tensor:
    other = clips.clone()
    other[:, frame] = 1 - other[:, frame]
    return other


@pytest.mark.parametrize("frame", range(5))
def test_the_decoder_sees_the_past_and_not_the_frame_it_predicts(
    model: LatentActionModel, clips: Tensor, frame: int
) -> None:
    codes = torch.zeros(2, 5, dtype=torch.long)
    frames = torch.cat([clips, clips[:, :1]], dim=1)[:, :5]
    short, other = frames[:, :4], changed(frames, frame)[:, :4]
    difference = (model.predict(short, codes[:, :4]) - model.predict(other, codes[:, :4])).abs().amax((2, 3, 4))
    # predict(...)[:, t] is frame t + 1, so frame `frame` is predicted at frame - 1.
    assert float(difference[:, :frame].sum()) == 0
    if frame < 4:
        assert float(difference[:, frame:].min()) > 1e-6


def test_what_the_loss_predicts_depends_on_the_next_frame_through_its_code_alone(
    model: LatentActionModel, clips: Tensor
) -> None:
    """Another last frame of the same code leaves the prediction of it as it is, by the loss itself."""
    codes = model.infer(clips)
    for scale in torch.linspace(0.5, 0.999, 30).tolist():
        other = clips.clone()
        other[:, -1] *= scale
        if torch.equal(model.infer(other), codes):
            break
    else:
        pytest.fail("no other last frame of the same code was found")
    predicted = model.predict(clips[:, :-1], codes)
    for frames in (clips, other):
        expected = (predicted - frames[:, 1:]).square().mean()
        torch.testing.assert_close(model.loss(frames)[1]["prediction"], expected)


@pytest.mark.parametrize("step", range(4))
def test_an_action_changes_the_frames_predicted_after_it_and_none_before(
    model: LatentActionModel, clips: Tensor, step: int
) -> None:
    codes = torch.zeros(2, 4, dtype=torch.long)
    other = codes.clone()
    other[:, step] = 1
    frames = clips[:, :-1]
    difference = (model.predict(frames, codes) - model.predict(frames, other)).abs().amax((2, 3, 4))
    assert float(difference[:, :step].sum()) == 0
    assert float(difference[:, step:].min()) > 1e-6


def test_the_action_of_a_step_is_read_from_the_frame_after_it_and_those_before(
    model: LatentActionModel, clips: Tensor
) -> None:
    with torch.no_grad():
        features, other = model._features(clips), model._features(changed(clips, 3))
    difference = (features - other).abs().amax(-1)
    assert float(difference[:, :2].sum()) == 0
    assert float(difference[:, 2:].min()) > 1e-6


def test_inferred_actions_are_the_same_for_a_clip_cut_short(model: LatentActionModel, clips: Tensor) -> None:
    assert torch.equal(model.infer(clips[:, :3]), model.infer(clips)[:, :2])


def test_the_gradient_of_the_prediction_reaches_the_encoder_through_the_code(
    model: LatentActionModel, clips: Tensor
) -> None:
    model.loss(clips)[0].backward()
    assert float(model.action_token.grad.abs().sum()) > 0
    assert model.embed(torch.tensor([0])).requires_grad is False


def test_the_code_comes_to_tell_what_the_past_does_not() -> None:
    """A coin tossed each step makes the picture light at the left or at the right: 0.25 is the error of not knowing."""
    torch.manual_seed(0)
    transformer = STTransformerConfig(layers=1, embedding_dim=16, heads=2)
    quantizer = QuantizerConfig(codes=2, code_dim=4, ema_decay=0.9)
    model = LatentActionModel(
        LatentActionConfig(patch_size=4, encoder=transformer, decoder=transformer, quantizer=quantizer),
        image_size=(4, 8),
        channels=1,
        frames=4,
    )
    generator = torch.Generator().manual_seed(0)

    def batch() -> Tensor:
        sides = torch.randint(2, (32, 4), generator=generator)
        lit = torch.stack([1 - sides, sides], dim=-1).float().repeat_interleave(4, dim=-1)
        return lit[:, :, None, None].expand(-1, -1, 1, 4, -1)

    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    for _ in range(250):
        loss, _ = model.loss(batch(), generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert float(model.eval().loss(batch())[1]["prediction"]) < 0.02


@pytest.mark.parametrize(("sees", "alike"), [("frames", False), ("changes", True)])
def test_an_encoder_that_sees_changes_alone_knows_no_background(sees: str, alike: bool, clips: Tensor) -> None:
    torch.manual_seed(0)
    config = SMALL.latent_actions.model_copy(update={"encoder_sees": sees})
    model = LatentActionModel(config, image_size=(12, 8), channels=3, frames=5).eval()
    background = torch.rand(3, 12, 8, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        difference = (model._features(clips / 2) - model._features(clips / 2 + background / 2)).abs().max()
    assert (float(difference) < 1e-5) == alike


def test_a_single_frame_has_no_action(model: LatentActionModel, clips: Tensor) -> None:
    with pytest.raises(ValueError, match="between two frames; 1 were given"):
        model.infer(clips[:, :1])
