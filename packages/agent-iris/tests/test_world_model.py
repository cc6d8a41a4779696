from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from wm_agent_iris.agent import IRISAgent
from wm_agent_iris.config import WorldModelConfig
from wm_agent_iris.world_model.world_model import IRISWorldModel, WorldModelBatch

K, N, A, T = 3, 7, 4, 4


def make(dropout: float = 0.0, **changes: object) -> IRISWorldModel:
    values = {"timesteps": T, "embedding_dim": 16, "layers": 1, "heads": 2}
    values |= dict.fromkeys(("embedding_dropout", "attention_dropout", "residual_dropout"), dropout)
    config = WorldModelConfig.model_validate(values | changes)
    with torch.random.fork_rng([]):
        torch.manual_seed(0)
        model = IRISWorldModel(config, vocabulary_size=N, tokens_per_frame=K, action_size=A)
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
    return model


@pytest.fixture
def batch(generator: torch.Generator) -> WorldModelBatch:
    mask = torch.ones(2, T, dtype=torch.bool)
    mask[1, 2:] = False
    ends = torch.zeros(2, T, dtype=torch.bool)
    ends[1, 1] = True
    return WorldModelBatch(
        tokens=torch.randint(N, (2, T, K), generator=generator),
        actions=torch.randint(A, (2, T), generator=generator),
        rewards=torch.tensor([[-2.5, 0.0, 0.5, 3.0], [1.0, -1.0, 9.0, 9.0]]),
        ends=ends,
        mask=mask,
    )


def test_each_token_but_the_first_is_predicted_from_the_position_before_it(batch: WorldModelBatch) -> None:
    """Written out: position p of the whole sequence predicts what stands at p + 1, wherever that is a token."""
    model = make()
    hidden = model.transformer.hidden(batch.tokens, batch.actions)
    sequence = torch.cat([batch.tokens, batch.actions[..., None] + 1000], dim=2).flatten(1)
    valid = batch.mask[..., None].expand(2, T, K + 1).flatten(1)
    losses = []
    for b in range(2):
        for p in range(T * (K + 1) - 1):
            if sequence[b, p + 1] < 1000 and valid[b, p + 1]:
                logits = model.transformer.observation_head(hidden[b, p])
                losses.append(F.cross_entropy(logits, sequence[b, p + 1]))
    assert len(losses) == (T * K - 1) + (2 * K - 1)
    assert float(model.loss(batch).observations.detach()) == pytest.approx(
        float(torch.stack(losses).mean().detach()), rel=1e-5
    )


def test_rewards_are_classes_of_their_sign(batch: WorldModelBatch) -> None:
    model = make()
    logits = model.transformer(batch.tokens, batch.actions).rewards
    expected = F.cross_entropy(logits[batch.mask], torch.tensor([0, 1, 2, 2, 2, 0]))
    assert float(model.loss(batch).rewards.detach()) == pytest.approx(float(expected.detach()), rel=1e-5)


@pytest.mark.parametrize(
    ("transform", "targets"),
    [("none", [-2.5, 0.0, 0.5, 3.0, 1.0, -1.0]), ("sign", [-1.0, 0.0, 1.0, 1.0, 1.0, -1.0])],
)
def test_regressed_rewards(batch: WorldModelBatch, transform: str, targets: list[float]) -> None:
    model = make(reward_loss="mse", reward_transform=transform)
    predicted = model.transformer(batch.tokens, batch.actions).rewards[batch.mask].squeeze(-1)
    expected = F.mse_loss(predicted, torch.tensor(targets))
    assert float(model.loss(batch).rewards.detach()) == pytest.approx(float(expected.detach()), rel=1e-5)


def test_ends_are_two_classes(batch: WorldModelBatch) -> None:
    model = make()
    logits = model.transformer(batch.tokens, batch.actions).ends
    expected = F.cross_entropy(logits[batch.mask], torch.tensor([0, 0, 0, 0, 0, 1]))
    assert float(model.loss(batch).ends.detach()) == pytest.approx(float(expected.detach()), rel=1e-5)


@pytest.mark.parametrize("changes", [{}, {"reward_loss": "mse"}])
def test_padding_changes_no_loss(batch: WorldModelBatch, changes: dict[str, object]) -> None:
    model = make(**changes)
    padded = ~batch.mask
    other = batch._replace(
        tokens=torch.where(padded[..., None], (batch.tokens + 1) % N, batch.tokens),
        actions=torch.where(padded, (batch.actions + 1) % A, batch.actions),
        rewards=torch.where(padded, -batch.rewards, batch.rewards),
        ends=batch.ends | padded,
    )
    for ours, theirs in zip(vars(model.loss(batch)).values(), vars(model.loss(other)).values(), strict=True):
        assert torch.equal(ours, theirs)


def test_linear_heads_are_one_layer() -> None:
    transformer = make(reward_and_end_heads="linear").transformer
    assert [len(head) for head in (transformer.observation_head, transformer.reward_head, transformer.end_head)] == [
        3,
        1,
        1,
    ]


def test_dropout_is_drawn_from_the_generator_and_global_randomness_is_left_alone(batch: WorldModelBatch) -> None:
    model = make(dropout=0.3).train()
    losses = []
    for seed, outside in ((1, 8), (1, 9), (2, 8)):
        torch.manual_seed(outside)
        before = torch.get_rng_state()
        losses.append(float(model.loss(batch, torch.Generator().manual_seed(seed)).total.detach()))
        assert torch.equal(torch.get_rng_state(), before)
    assert losses[0] == losses[1] != losses[2]


def test_there_is_no_dropout_in_evaluation(batch: WorldModelBatch) -> None:
    model = make(dropout=0.3).eval()
    assert torch.equal(model.loss(batch).total, model.loss(batch).total)


def test_only_weights_of_linear_layers_decay() -> None:
    model = make()
    decayed, others = model.parameter_groups(0.01)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    assert (decayed["weight_decay"], others["weight_decay"]) == (0.01, 0.0)
    assert len(decayed["params"]) + len(others["params"]) == len(names)
    kept = {names[id(parameter)] for parameter in others["params"]}
    assert all(name.endswith("bias") or "embedding" in name or "norm" in name for name in kept)
    assert not any(names[id(parameter)] in kept for parameter in decayed["params"])


def step_many(model: IRISWorldModel, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """4000 equal steps: sampled rewards and ends, and the logits they were drawn from."""
    tokens, actions = torch.zeros(4000, 1, K, dtype=torch.long), torch.zeros(4000, dtype=torch.long)
    step = model.step(model.imagine_from(tokens), actions, generator, with_frame=False)
    output = model.transformer(tokens[:1], actions[:1, None])
    return step.rewards, step.ends, output.rewards[0, 0].detach(), output.ends[0, 0].detach()


def test_rewards_and_ends_are_sampled(generator: torch.Generator) -> None:
    rewards, ends, reward_logits, end_logits = step_many(make().eval(), generator)
    drawn = torch.tensor([float((rewards == value).float().mean()) for value in (-1, 0, 1)])
    assert torch.allclose(drawn, reward_logits.softmax(-1), atol=0.04)
    assert ends.dtype == torch.bool
    assert float(ends.float().mean()) == pytest.approx(float(end_logits.softmax(-1)[1]), abs=0.04)


def test_a_regressed_reward_is_its_mean(generator: torch.Generator) -> None:
    rewards, _, mean, _ = step_many(make(reward_loss="mse", reward_transform="none").eval(), generator)
    assert torch.allclose(rewards, mean.expand(4000), atol=1e-5)


def test_the_agents_loss_takes_stored_tokens(agent: IRISAgent, generator: torch.Generator) -> None:
    frames = torch.rand(2, 4, 3, 16, 16, generator=generator)
    batch = WorldModelBatch(
        tokens=agent.tokenizer.encode(frames),
        actions=torch.zeros(2, 4, dtype=torch.long),
        rewards=torch.zeros(2, 4),
        ends=torch.zeros(2, 4, dtype=torch.bool),
        mask=torch.ones(2, 4, dtype=torch.bool),
    )
    agent.world_model_loss(batch).total.backward()
    assert all(parameter.grad is None for parameter in agent.tokenizer.parameters())
    assert all(parameter.grad is not None for parameter in agent.world_model.parameters())
