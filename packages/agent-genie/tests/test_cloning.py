"""The policy, the students it is compared with, and how they play."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from genie_configs import SMALL, widen
from genie_training import SHORT, short, trainer

from wm_agent_genie.acting import ActingGenie
from wm_agent_genie.player import GeniePlayer
from wm_agent_genie.policy import GeniePolicy
from wm_agent_genie.trainer import GenieTrainer
from wm_core.envs.catch_env import Catch
from wm_core.errors import CheckpointError, UsageError


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> GenieTrainer:
    """Video is collected; nothing is trained."""
    return trainer(tmp_path_factory.mktemp("prepared"))


@pytest.fixture
def policy() -> GeniePolicy:
    torch.manual_seed(0)
    policy = GeniePolicy(SMALL.policy, image_size=(12, 8), channels=3, actions=4)
    widen(policy)
    return policy.eval()


FRAMES = torch.rand(2, 3, 3, 12, 8, generator=torch.Generator().manual_seed(1))
PREVIOUS = torch.tensor([[0, 3], [1, 2]])


def test_logits_do_not_see_later_frames_or_actions(policy: GeniePolicy) -> None:
    whole = policy(FRAMES, PREVIOUS)
    assert whole.shape == (2, 3, 4)
    torch.testing.assert_close(policy(FRAMES[:, :2], PREVIOUS[:, :1]), whole[:, :2])


def test_logits_depend_on_the_frame_and_on_the_action_before(policy: GeniePolicy) -> None:
    whole = policy(FRAMES, PREVIOUS)
    other_frame = FRAMES.clone()
    other_frame[:, 2] = 1 - other_frame[:, 2]
    other_action = PREVIOUS.clone()
    other_action[:, 1] = (other_action[:, 1] + 1) % 4
    assert (policy(other_frame, PREVIOUS)[:, 2] - whole[:, 2]).abs().max() > 1e-3
    assert (policy(FRAMES, other_action)[:, 2] - whole[:, 2]).abs().max() > 1e-3


def test_the_policy_learns_a_labelled_rule() -> None:
    """Label: whether the newest frame is bright."""
    torch.manual_seed(0)
    policy = GeniePolicy(SMALL.policy, image_size=(12, 8), channels=3, actions=2)
    optimizer = torch.optim.AdamW(policy.parameters(), 3e-3)
    generator = torch.Generator().manual_seed(0)
    for _ in range(60):
        labels = torch.randint(2, (16, 3), generator=generator)
        frames = (0.2 + 0.6 * labels.float())[:, :, None, None, None].expand(-1, -1, 3, 12, 8)
        logits = policy(frames, labels[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert float((logits.argmax(-1) == labels).float().mean()) > 0.95


def test_students_learn_from_their_own_labels(prepared: GenieTrainer) -> None:
    """Latent actions of these clips, true actions of these clips, latent actions of other clips."""
    acting = prepared.acting
    labels = {}
    for student in ("genie", "true_actions", "shuffled"):
        component = prepared._components[f"policy_{student}"][0]
        clips = component._clips()
        frames = acting.agent.tensor(clips.frames)
        inferred = acting.agent.latent_action_model.infer(frames)
        labels[student] = (component._labels(clips, frames), inferred, torch.from_numpy(clips.actions))
    assert torch.equal(labels["genie"][0], labels["genie"][1])
    assert torch.equal(labels["true_actions"][0], labels["true_actions"][2])
    assert labels["shuffled"][0].shape == labels["shuffled"][1].shape


def test_shuffled_labels_are_of_other_clips(prepared: GenieTrainer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hash of each frame in place of its latent action: those of the clips themselves do not come back."""
    component = prepared._components["policy_shuffled"][0]
    place = torch.arange(300.0).reshape(3, 10, 10)
    monkeypatch.setattr(
        prepared.acting.agent.latent_action_model,
        "infer",
        lambda frames: (frames * place).sum(dim=(2, 3, 4)).long()[:, 1:],
    )
    same = []
    for _ in range(20):
        clips = component._clips()
        frames = prepared.acting.agent.tensor(clips.frames)
        own = prepared.acting.agent.latent_action_model.infer(frames)
        same.append((component._labels(clips, frames) == own).float().mean())
    assert float(torch.stack(same).mean()) < 0.2


def test_the_learning_rate_warms_up_and_falls_by_a_cosine_to_the_final_one(prepared: GenieTrainer) -> None:
    """2 steps of warm-up, then 2 epochs of 2 steps less those: 3e-3 to 3e-4."""
    component = prepared._components["policy_genie"][0]
    rates = [component.learning_rate(step) for step in range(5)]
    assert rates == pytest.approx([1.5e-3, 3e-3, 3e-3, 1.65e-3, 3e-4])


def test_all_students_have_as_many_updates(tmp_path: Path) -> None:
    trained = trainer(tmp_path)
    trained.train()
    assert trained.acting.cloned.tolist() == [4, 4, 4]
    assert trained.acting.latent_map.labels == SHORT.training.labels
    assert trained.acting.true_action_policy.actions == 3


def test_cloning_leaves_the_world_model_alone(tmp_path: Path) -> None:
    frozen = trainer(tmp_path, short(epochs=5))
    frozen.train()
    before = {name: value.clone() for name, value in frozen.acting.agent.state_dict().items()}
    trained = trainer(tmp_path)
    trained.train()
    after = trained.acting.agent.state_dict()
    changed = {name.partition(".")[0] for name in before if not torch.equal(before[name], after[name])}
    assert changed == {"policy"}


def test_where_latent_actions_come_too_late_for_the_policy_the_configuration_is_refused() -> None:
    late = SHORT.training.latent_actions.model_copy(update={"stop_after_epoch": 6})
    with pytest.raises(ValueError, match="they label its video"):
        SHORT.training.model_validate({**SHORT.training.model_dump(), "latent_actions": late.model_dump()})


def test_an_agent_without_policy_or_map_says_how_to_make_them() -> None:
    acting = ActingGenie.from_config(SMALL, real_actions=3)
    with pytest.raises(CheckpointError, match=r"no policy.*wmbench train"):
        acting.require_able("x.safetensors")
    acting.cloned.fill_(1)
    with pytest.raises(CheckpointError, match=r"no map from latent to real actions.*wmbench train"):
        acting.require_able("x.safetensors")


def played(acting: ActingGenie, lanes: int, student: str = "genie") -> tuple[np.ndarray, GeniePlayer]:
    env = Catch((20, 20))
    player = GeniePlayer(acting, env.observation_space, env.action_space, student)  # type: ignore[arg-type]
    player.reset(np.ones(lanes, bool), np.arange(5, 5 + lanes))
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 256, (6, 1, 20, 20, 3)).astype(np.uint8)
    return np.stack([player.act(np.repeat(each, lanes, axis=0)) for each in frames]), player


def test_a_lane_plays_alike_whatever_is_beside_it() -> None:
    acting = ActingGenie.from_config(SMALL, real_actions=3)
    acting.latent_map.fill(torch.tensor([0, 1, 2, 2]), torch.tensor([0, 1, 2, 0]))
    np.testing.assert_array_equal(played(acting, 1)[0][:, 0], played(acting, 3)[0][:, 0])


def test_the_likeliest_latent_action_after_the_newest_frames_is_played() -> None:
    """The policy's context is 3 frames; it is told the latent actions it has chosen before."""
    config = SMALL.model_copy(update={"policy": SMALL.policy.model_copy(update={"temperature": 0.0})})
    acting = ActingGenie.from_config(config, real_actions=3)
    widen(acting.agent.policy)
    acting.latent_map.fill(torch.tensor([0, 1, 2]), torch.tensor([2, 0, 1]))
    env = Catch((12, 8))
    player = GeniePlayer(acting, env.observation_space, env.action_space)
    player.reset(np.ones(1, bool), np.zeros(1, np.int64))
    frames = np.random.default_rng(0).integers(0, 256, (12, 12, 8, 3)).astype(np.uint8)
    chosen: list[int] = []
    for t in range(12):
        seen = acting.agent.tensor(frames[max(0, t - 2) : t + 1])[None]
        with torch.no_grad():
            logits = acting.agent.policy(seen, torch.tensor([chosen[max(0, t - 2) :]], dtype=torch.long))
        chosen.append(int(logits[0, -1].argmax()))
        assert player.act(frames[t : t + 1])[0] == [2, 0, 1][chosen[-1]]
    assert len(set(chosen)) > 1


@pytest.mark.parametrize(("temperature", "varied"), [(0.05, False), (20.0, True)])
def test_the_hotter_the_policy_the_more_its_actions_vary(temperature: float, varied: bool) -> None:
    policy = SMALL.policy.model_copy(update={"temperature": temperature})
    acting = ActingGenie.from_config(SMALL.model_copy(update={"policy": policy}), real_actions=3)
    with torch.no_grad():
        acting.agent.policy.head.bias.copy_(torch.tensor([0.0, 2.0, 0.0]))
    acting.latent_map.fill(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 2]))
    actions, _ = played(acting, 8)
    assert (len(np.unique(actions)) == 3) == varied


def test_actions_drawn_for_want_of_labels_are_counted() -> None:
    acting = ActingGenie.from_config(SMALL, real_actions=3)
    assert (played(acting, 2)[1].decisions, played(acting, 2)[1].fallbacks) == (12, 12)
    acting.latent_map.fill(torch.tensor([0, 1, 2]), torch.tensor([0, 0, 0]))
    actions, player = played(acting, 2)
    assert player.fallbacks == 0
    assert (actions == 0).all()


def test_the_student_of_true_actions_needs_no_map() -> None:
    acting = ActingGenie.from_config(SMALL, real_actions=3)
    assert played(acting, 2, "true_actions")[1].fallbacks == 0


def test_an_environment_with_other_actions_is_refused() -> None:
    env = Catch((20, 20))
    with pytest.raises(UsageError, match="3 actions, and the agent was made for 4"):
        GeniePlayer(ActingGenie.from_config(SMALL, real_actions=4), env.observation_space, env.action_space)


def test_places_may_be_hidden_from_the_encoder_and_never_from_the_decoder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = trainer(tmp_path, short(hide_places=True))
    given: list[tuple[torch.Tensor, torch.Tensor]] = []
    model = trained.acting.agent.latent_action_model
    whole = model.loss

    def watched(frames: torch.Tensor, *, seen: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        given.append((frames, seen))
        return whole(frames, seen=seen)

    monkeypatch.setattr(model, "loss", watched)
    trained._components["latent_actions"][0].update()
    ((frames, seen),) = given
    assert frames[..., -1, :].amax(dim=(1, 2, 3)).gt(0).all(), "the paddle's row is in each of the decoder's clips"
    assert not torch.equal(seen, frames)


def test_video_of_another_seed_is_not_taken_for_this_training(tmp_path: Path) -> None:
    trainer(tmp_path)
    with pytest.raises(UsageError, match="another seed or number of steps"):
        trainer(tmp_path, seed=7)
