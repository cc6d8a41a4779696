from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from wm_agent_iris.agent import IRISAgent
from wm_agent_iris.config import ComputeConfig, IRISConfig
from wm_agent_iris.imagination import Context


@pytest.fixture
def frames(generator: torch.Generator) -> Tensor:
    return torch.rand(3, 3, 16, 16, generator=generator)


class AsksTheDevice(TorchDispatchMode):
    """Counts the operations that make the processor wait for the device."""

    WAITING = ("_local_scalar_dense", "nonzero", "masked_select", "multinomial", "bincount", "is_nonzero", "equal")

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        name = func.__name__.split(".")[0]
        copies = name == "_to_copy" and "device" in (kwargs or {})
        boolean = name == "index" and any(i is not None and i.dtype == torch.bool for i in args[1])
        if name in self.WAITING or copies or boolean:
            self.seen.append(name)
        return func(*args, **(kwargs or {}))


def test_imagination_never_waits_for_the_device(agent: IRISAgent, frames: Tensor, generator: torch.Generator) -> None:
    context = agent.context(frames, frames[:, None].expand(3, 2, 3, 16, 16))
    with AsksTheDevice() as asked:
        agent.dream(context, horizon=6, generator=generator, with_last_frame=True)
    assert asked.seen == []


def test_the_watch_above_sees_a_wait() -> None:
    with AsksTheDevice() as asked:
        torch.ones(1).item()
        torch.ones(2).nonzero()
    assert asked.seen == ["_local_scalar_dense", "nonzero"]


def test_shapes_and_kinds_of_a_rollout(agent: IRISAgent, frames: Tensor, generator: torch.Generator) -> None:
    dream = agent.imagine_rollout(frames, horizon=5, burn_in_frames=frames[:, None], generator=generator)
    assert dream.frames.shape == (3, 5, 3, 16, 16)
    assert dream.last_frame is not None
    assert dream.last_frame.shape == (3, 3, 16, 16)
    assert dream.actions.shape == dream.rewards.shape == dream.ends.shape == (3, 5)
    assert set(dream.actions.flatten().tolist()) <= {0, 1, 2}
    assert set(dream.rewards.flatten().tolist()) <= {-1.0, 0.0, 1.0}
    assert dream.ends.dtype == torch.bool
    assert not dream.frames.requires_grad


def test_the_first_frame_is_the_real_one_reconstructed(agent: IRISAgent, frames: Tensor) -> None:
    dream = agent.imagine_rollout(frames, horizon=1, generator=torch.Generator().manual_seed(0))
    assert torch.equal(dream.frames[:, 0], agent.tokenizer.reconstruct(frames))


def test_a_dream_goes_on_past_the_context(agent: IRISAgent, frames: Tensor, generator: torch.Generator) -> None:
    assert agent.config.world_model.timesteps == 4
    dream = agent.imagine_rollout(frames, horizon=11, generator=generator)
    assert dream.frames.shape[1] == 11
    assert bool(dream.frames.isfinite().all())


def test_a_longer_dream_begins_like_a_shorter_one(agent: IRISAgent, frames: Tensor) -> None:
    dreams = [agent.imagine_rollout(frames, horizon=h, generator=torch.Generator().manual_seed(1)) for h in (3, 9)]
    assert torch.equal(dreams[0].frames, dreams[1].frames[:, :3])
    assert dreams[0].last_frame is not None
    assert torch.equal(dreams[0].last_frame, dreams[1].frames[:, 3])


def test_given_actions_are_taken(agent: IRISAgent, frames: Tensor, generator: torch.Generator) -> None:
    actions = torch.tensor([[0, 1, 2], [2, 2, 2], [1, 0, 1]])
    dream = agent.imagine_rollout(frames, horizon=3, actions=actions, generator=generator)
    assert torch.equal(dream.actions, actions)


def test_actions_change_the_dream(agent: IRISAgent, frames: Tensor) -> None:
    dreams = [
        agent.imagine_rollout(
            frames,
            horizon=3,
            actions=torch.full((3, 3), action),
            generator=torch.Generator().manual_seed(0),
        )
        for action in (0, 2)
    ]
    assert not torch.equal(dreams[0].frames[:, 1:], dreams[1].frames[:, 1:])


def test_what_led_up_to_it_changes_the_policy(agent: IRISAgent, frames: Tensor, generator: torch.Generator) -> None:
    burn_in = torch.rand(3, 2, 3, 16, 16, generator=generator)
    states = [
        agent.imagine_rollout(frames, horizon=1, burn_in_frames=b, generator=generator).state for b in (None, burn_in)
    ]
    assert float(states[0].abs().sum()) == 0
    assert float(states[1].abs().sum()) > 0


def test_a_dream_depends_on_its_generator_alone(agent: IRISAgent, frames: Tensor) -> None:
    dreams = []
    for seed, outside in ((1, 5), (1, 6), (2, 5)):
        torch.manual_seed(outside)
        before = torch.get_rng_state()
        dreams.append(agent.imagine_rollout(frames, horizon=6, generator=torch.Generator().manual_seed(seed)))
        assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(dreams[0].frames, dreams[1].frames)
    assert torch.equal(dreams[0].actions, dreams[1].actions)
    assert not torch.equal(dreams[0].frames, dreams[2].frames)


@pytest.mark.parametrize(
    ("shape", "actions", "message"),
    [((3, 2, 3, 16, 16), None, r"one a dream"), ((3, 3, 16, 16), (3, 4), r"actions must be \(3, 5\)")],
)
def test_wrong_shapes_are_refused(
    agent: IRISAgent, shape: tuple[int, ...], actions: tuple[int, ...] | None, message: str
) -> None:
    given = None if actions is None else torch.zeros(actions, dtype=torch.long)
    with pytest.raises(ValueError, match=message):
        agent.imagine_rollout(torch.zeros(shape), horizon=5, actions=given)


def test_the_policy_learns_and_nothing_else_does(agent: IRISAgent, frames: Tensor, generator: torch.Generator) -> None:
    context = agent.context(frames, frames[:, None].expand(3, 2, 3, 16, 16))
    agent.actor_critic_loss(context, generator).total.backward()
    assert all(parameter.grad is not None for parameter in agent.actor_critic.parameters())
    assert all(p.grad is None for part in (agent.tokenizer, agent.world_model) for p in part.parameters())


def test_stored_reconstructions_give_the_same_loss(agent: IRISAgent, frames: Tensor) -> None:
    burn_in, mask = frames[:, None].expand(3, 2, 3, 16, 16), torch.tensor([[True, True], [False, True], [False, False]])
    tokens = agent.tokenizer.encode(frames)
    stored = Context(tokens, agent.tokenizer.decode(tokens), agent.tokenizer.reconstruct(burn_in), mask)
    losses = [
        agent.actor_critic_loss(context, torch.Generator().manual_seed(0)).total
        for context in (agent.context(frames, burn_in, mask), stored)
    ]
    assert torch.equal(losses[0], losses[1])


def test_the_policy_reads_its_dream_again_as_it_dreamt_it(agent: IRISAgent, frames: Tensor) -> None:
    """The logits that the loss sees are those the actions were drawn from."""
    context = agent.context(frames, frames[:, None])
    dream = agent.dream(context, horizon=4, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        again = agent.actor_critic(dream.frames, dream.state)
        state = dream.state
        for t in range(4):
            step = agent.actor_critic(dream.frames[:, t : t + 1], state)
            state = step.state
            assert torch.allclose(step.logits[:, 0], again.logits[:, t], atol=1e-6)


def test_bfloat16_runs_throughout(small_config: IRISConfig, frames: Tensor, generator: torch.Generator) -> None:
    config = small_config.model_copy(update={"compute": ComputeConfig(precision="bfloat16")})
    agent = IRISAgent.from_config(config, action_size=3)
    context = agent.context(frames, frames[:, None])
    loss = agent.actor_critic_loss(context, generator)
    loss.total.backward()
    assert loss.total.dtype == torch.float32
    assert all(parameter.dtype == torch.float32 for parameter in agent.parameters())
    assert bool(loss.total.isfinite())
