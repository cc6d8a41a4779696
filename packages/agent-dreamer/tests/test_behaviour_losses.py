"""What actor and critic learn in imagination."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from dreamer_configs import CONTINUOUS, DISCRETE, V1, V2, V3, VERSIONS, changed, make_agent, noise_batch

from wm_agent_dreamer.actor_critic import BehaviourLosses
from wm_agent_dreamer.agent import DreamerAgent
from wm_agent_dreamer.config import DreamerConfig
from wm_agent_dreamer.imagination import imagine
from wm_agent_dreamer.imagined_returns import imagined_returns
from wm_agent_dreamer.layouts import ActionLayout, StreamBatch

LAYOUTS = {"discrete": DISCRETE, "continuous": CONTINUOUS}


def losses_of(agent: DreamerAgent, batch: StreamBatch, seed: int = 0) -> BehaviourLosses:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        state = agent.world_model.observe(batch, generator).state
    return agent.actor_critic.losses(agent.world_model, state, batch, generator)


@pytest.mark.parametrize("action", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("grad", ["reinforce", "dynamics", "both"])
@pytest.mark.parametrize("config", VERSIONS.values(), ids=VERSIONS)
def test_each_loss_trains_its_own_network_alone(config: DreamerConfig, grad: str, action: ActionLayout) -> None:
    agent = make_agent(changed(config, actor={"grad": grad}), action)
    losses = losses_of(agent, noise_batch(action))
    behaviour = agent.actor_critic
    for loss, network in ((losses.actor, behaviour.actor), (losses.critic, behaviour.critic)):
        agent.zero_grad(set_to_none=True)
        loss.backward(retain_graph=True)
        reached = {name for name, p in agent.named_parameters() if p.grad is not None and bool((p.grad != 0).any())}
        own = {name for name, p in agent.named_parameters() if any(p is q for q in network.parameters())}
        assert reached == own
    assert all(parameter.requires_grad for parameter in agent.world_model.parameters())


def test_reinforce_is_log_probability_times_advantage() -> None:
    agent = make_agent(changed(V3, actor={"entropy": 0.1}))
    batch, config, behaviour = noise_batch(), V3.imagination, agent.actor_critic
    with torch.no_grad():
        state = agent.world_model.observe(batch, torch.Generator().manual_seed(1)).state
    loss = behaviour.losses(agent.world_model, state, batch, torch.Generator().manual_seed(2)).actor
    scale = behaviour.return_normaliser.scale
    dream = imagine(
        agent.world_model.rssm, behaviour.actor, state.flatten(), config.horizon, torch.Generator().manual_seed(2)
    )
    with torch.no_grad():
        values = behaviour.critic.predict(behaviour.critic(dream.features))
        rewards, discounts = (
            agent.world_model.predicted_rewards(dream.features),
            agent.world_model.discounts(dream.features),
        )
        returns = imagined_returns(rewards, discounts, values, config)
    logits = behaviour.actor(dream.features[:, :-1].detach())
    policy = torch.distributions.Categorical(probs=0.99 * logits.softmax(-1) + 0.01 / 3)  # type: ignore[no-untyped-call]
    advantage = (returns.action_returns - values[:, :-1]) / scale
    objective = policy.log_prob(dream.actions.argmax(-1)) * advantage + 0.1 * policy.entropy()
    expected = -(returns.action_weights * objective).mean()
    torch.testing.assert_close(loss, expected)
    found = torch.autograd.grad(loss, list(behaviour.actor.parameters()))
    torch.testing.assert_close(found, torch.autograd.grad(expected, list(behaviour.actor.parameters())))


def test_dynamics_gradients_are_those_of_the_returns() -> None:
    """Against finite differences, with a policy that does the same in all states."""
    agent = make_agent(V1, CONTINUOUS)
    output = agent.actor_critic.actor.mlp.output
    assert output is not None
    torch.nn.init.zeros_(output.weight)
    batch = noise_batch(CONTINUOUS)
    (gradient,) = torch.autograd.grad(losses_of(agent, batch).actor, output.bias)
    found = []
    for index in range(4):
        sides = []
        for step in (2e-2, -2e-2):
            with torch.no_grad():
                output.bias[index] += step
            sides.append(losses_of(agent, batch).actor.item())
            with torch.no_grad():
                output.bias[index] -= step
        found.append((sides[0] - sides[1]) / 4e-2)
    torch.testing.assert_close(torch.tensor(found), gradient, rtol=0.02, atol=1e-4)


def test_the_gradient_follows_the_action_space_when_left_to_it() -> None:
    config = changed(V3, actor={"grad": "auto"})
    assert make_agent(config, DISCRETE).actor_critic.actor.gradient == "reinforce"
    assert make_agent(config, CONTINUOUS).actor_critic.actor.gradient == "dynamics"
    forced = changed(V3, actor={"grad": "reinforce"})
    assert make_agent(forced, CONTINUOUS).actor_critic.actor.gradient == "reinforce"


def test_reinforce_records_no_graph_through_imagination() -> None:
    agent = make_agent(V3)
    start = agent.world_model.rssm.initial_state(4)
    dream = imagine(agent.world_model.rssm, agent.actor_critic.actor, start, 3, None)
    assert dream.actor_outputs is not None
    assert dream.actor_outputs.requires_grad
    assert not dream.features.requires_grad


def test_the_first_discount_comes_from_the_replay_in_v2() -> None:
    """All states it starts from ended: only their own arrival is learnt, and nothing that is imagined after."""
    agent = make_agent(V2)
    ended = torch.ones(3, 5, dtype=torch.bool)
    batch = replace(noise_batch(), is_terminal=ended)
    with torch.no_grad():
        state = agent.world_model.observe(batch, torch.Generator().manual_seed(1)).state
    losses = agent.actor_critic.losses(agent.world_model, state, batch, torch.Generator().manual_seed(2))
    with torch.no_grad():
        arrival = agent.world_model.predicted_rewards(state.features)
        value = agent.critic.predict(agent.critic(state.features))
        expected = (0.5 * (value - arrival).square()).mean() / V2.imagination.horizon
    torch.testing.assert_close(losses.critic, expected)


@pytest.mark.parametrize(("every", "fraction"), [(3, 1.0), (1, 0.1), (2, 0.5)])
def test_the_slow_critic_moves_when_and_as_far_as_it_should(every: int, fraction: float) -> None:
    behaviour = make_agent(changed(V3, critic={"slow_every": every, "slow_fraction": fraction})).actor_critic
    assert behaviour.slow_critic is not None
    slow, fast = (network.mlp.output for network in (behaviour.slow_critic, behaviour.critic))
    assert slow is not None
    assert fast is not None
    expected = slow.bias.clone()
    for update in range(1, 7):
        with torch.no_grad():
            fast.bias.add_(1.0)
        behaviour.update_slow_critic()
        if update % every == 0:
            expected = expected + fraction * (fast.bias.detach() - expected)
        torch.testing.assert_close(slow.bias, expected)


def test_a_hard_copy_is_exact() -> None:
    behaviour = make_agent(changed(V2, critic={"slow_every": 1, "slow_fraction": 1.0})).actor_critic
    behaviour.update_slow_critic()
    assert behaviour.slow_critic is not None
    for slow, fast in zip(behaviour.slow_critic.parameters(), behaviour.critic.parameters(), strict=True):
        assert torch.equal(slow, fast)


def test_the_slow_critic_starts_as_the_critic() -> None:
    agent = DreamerAgent.from_config(V3, observation=make_agent(V3).observation, action=DISCRETE)
    slow = agent.actor_critic.slow_critic
    assert slow is not None
    for left, right in zip(slow.parameters(), agent.critic.parameters(), strict=True):
        assert torch.equal(left, right)


def test_only_so_many_states_are_started_from() -> None:
    agent = make_agent(changed(V2, imagination={"starts": 4}))
    losses = losses_of(agent, noise_batch())
    assert losses.start_returns is None
    assert bool(torch.isfinite(losses.actor))
    whole = losses_of(make_agent(V2), noise_batch())
    assert whole.start_returns is not None
    assert whole.start_returns.shape == (3, 5)
