"""The agent as a whole: weights, acting, dreaming, learning."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from dreamer_configs import ADAMS, CONTINUOUS, DISCRETE, PIXELS, V1, V2, V3, VERSIONS, changed, make_agent, noise_batch

from wm_agent_dreamer.agent import DreamerAgent
from wm_agent_dreamer.config import DreamerConfig, OptimizersConfig
from wm_agent_dreamer.layouts import ActionLayout, Observation, ObservationLayout
from wm_agent_dreamer.learner import DreamerLearner
from wm_torchkit.nan_guard import NonFiniteError


def generators(count: int) -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed) for seed in range(count)]


def frames(count: int) -> Observation:
    return Observation(torch.rand(count, 3, 16, 16, generator=torch.Generator().manual_seed(9)))


@pytest.mark.parametrize("config", VERSIONS.values(), ids=VERSIONS)
def test_weights_depend_on_the_seed_alone(config: DreamerConfig) -> None:
    state = torch.get_rng_state()
    first, again, other = (
        DreamerAgent.from_config(config, observation=PIXELS, action=DISCRETE, seed=seed) for seed in (3, 3, 4)
    )
    assert torch.equal(torch.get_rng_state(), state)
    pairs = zip(first.parameters(), again.parameters(), strict=True)
    assert all(torch.equal(left, right) for left, right in pairs)
    assert not torch.equal(
        first.world_model.rssm.posterior_input.weights[0], other.world_model.rssm.posterior_input.weights[0]
    )


def test_rewards_and_values_start_at_zero_and_the_policy_uniform() -> None:
    agent = DreamerAgent.from_config(V3, observation=PIXELS, action=DISCRETE)
    features = torch.randn(4, V3.rssm.feature_size)
    assert agent.world_model.predicted_rewards(features).tolist() == [0.0] * 4
    assert agent.critic.predict(agent.critic(features)).tolist() == [0.0] * 4
    entropy = agent.actor_critic.actor.distribution(agent.actor_critic.actor(features)).entropy(torch.zeros(4, 3))
    assert entropy.min().item() == pytest.approx(1.0986, abs=0.01)


@pytest.mark.parametrize("action", [DISCRETE, CONTINUOUS], ids=["discrete", "continuous"])
@pytest.mark.parametrize("config", VERSIONS.values(), ids=VERSIONS)
def test_a_lane_acts_the_same_in_any_batch(config: DreamerConfig, action: ActionLayout) -> None:
    agent, seen = make_agent(config, action), frames(3)
    assert seen.image is not None
    first = torch.ones(3, dtype=torch.bool)
    together, state = agent.policy_step(seen, agent.initial_state(3), is_first=first, generators=generators(3))
    alone, alone_state = agent.policy_step(
        Observation(seen.image[1:2]), agent.initial_state(1), is_first=first[:1], generators=generators(3)[1:2]
    )
    torch.testing.assert_close(alone[0], together[1])
    torch.testing.assert_close(alone_state.rssm.stoch[0], state.rssm.stoch[1])


def test_an_episodes_beginning_forgets_state_and_action() -> None:
    agent, seen = make_agent(V3), frames(2)
    begins, goes_on = torch.ones(2, dtype=torch.bool), torch.zeros(2, dtype=torch.bool)
    fresh, _ = agent.policy_step(seen, agent.initial_state(2), is_first=begins, generators=generators(2))
    _, state = agent.policy_step(frames(2), agent.initial_state(2), is_first=goes_on, generators=generators(2))
    again, _ = agent.policy_step(seen, state, is_first=begins, generators=generators(2))
    assert torch.equal(fresh, again)


@pytest.mark.parametrize("config", VERSIONS.values(), ids=VERSIONS)
def test_acting_embeds_and_infers_as_training_does(config: DreamerConfig) -> None:
    """A stream walked step by step with the policy has the states that a batch of it has."""
    agent, batch = make_agent(config), noise_batch(batch=1, steps=4)
    assert batch.observation.image is not None
    generator = torch.Generator().manual_seed(1)
    noise = agent.world_model.rssm.draw_noise((4, 1), generator, torch.device("cpu"))
    with torch.no_grad():
        whole = agent.world_model.rssm.observe(
            agent.world_model.encoder(batch.observation), batch.action, batch.is_first, noise
        )
    state = agent.initial_state(1).rssm
    for t in range(4):
        with torch.no_grad():
            embedding = agent.world_model.encoder(Observation(batch.observation.image[:, t]))
            step = agent.world_model.rssm.observe(
                embedding.unsqueeze(1),
                batch.action[:, t : t + 1],
                batch.is_first[:, t : t + 1],
                noise[t : t + 1],
                state,
            )
        state = step.final
        torch.testing.assert_close(state.features, whole.state.features[:, t], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("config", VERSIONS.values(), ids=VERSIONS)
def test_continuous_actions_stay_in_bounds(config: DreamerConfig) -> None:
    agent = make_agent(changed(config, actor={"init_std": 5.0}), CONTINUOUS)
    for mode in (False, True):
        action, _ = agent.policy_step(
            frames(3),
            agent.initial_state(3),
            is_first=torch.ones(3, dtype=torch.bool),
            generators=generators(3),
            mode=mode,
        )
        assert action.abs().max() <= 1


def test_the_mode_draws_the_latent_but_not_the_action() -> None:
    agent, first = make_agent(V3), torch.ones(3, dtype=torch.bool)
    action, state = agent.policy_step(
        frames(3), agent.initial_state(3), is_first=first, generators=generators(3), mode=True
    )
    actor = agent.actor_critic.actor
    assert torch.equal(action, actor.distribution(actor(state.rssm.features)).mode)


@pytest.mark.parametrize("config", VERSIONS.values(), ids=VERSIONS)
def test_a_dream_follows_given_actions_and_repeats_itself(config: DreamerConfig) -> None:
    agent = make_agent(config)
    start = agent.initial_state(2).rssm
    actions = torch.nn.functional.one_hot(torch.randint(3, (2, 6)), 3).float()
    dreams = [agent.imagine(start, 6, actions=actions, generator=torch.Generator().manual_seed(1)) for _ in range(2)]
    assert dreams[0].observation.image is not None
    assert dreams[1].observation.image is not None
    assert torch.equal(dreams[0].observation.image, dreams[1].observation.image)
    assert torch.equal(dreams[0].actions, actions)
    assert dreams[0].observation.image.shape == (2, 6, 3, 16, 16)
    assert 0 <= dreams[0].observation.image.min() <= dreams[0].observation.image.max() <= 1
    assert dreams[0].rewards.shape == dreams[0].continues.shape == (2, 6)
    assert 0 <= dreams[0].continues.min() <= dreams[0].continues.max() <= 1


def test_a_dream_of_the_policy_takes_its_actions() -> None:
    agent = make_agent(V3)
    dream = agent.imagine(agent.initial_state(2).rssm, 4, generator=torch.Generator().manual_seed(1))
    assert torch.equal(dream.actions.sum(-1), torch.ones(2, 4))


@pytest.mark.parametrize(("horizon", "actions"), [(0, None), (4, torch.zeros(2, 3, 3))])
def test_impossible_dreams_are_refused(horizon: int, actions: torch.Tensor | None) -> None:
    agent = make_agent(V3)
    with pytest.raises(ValueError, match=r"at least 1 step|actions must be"):
        agent.imagine(agent.initial_state(2).rssm, horizon, actions=actions)


LEARNT = {
    "v1": changed(V1, loss={"free_nats": 0.0}),
    "v2": V2,
    "v3-joint": V3.model_copy(
        update={"optimizers": OptimizersConfig.model_validate({"joint": {"learning_rate": 1e-2, "warmup": 5}})}
    ),
    "v3-adams": V3.model_copy(update={"optimizers": ADAMS}),
}


@pytest.mark.parametrize("config", LEARNT.values(), ids=LEARNT)
def test_updates_lower_the_loss_of_the_world_model(config: DreamerConfig) -> None:
    agent = DreamerAgent.from_config(config, observation=PIXELS, action=DISCRETE)
    learner, generator = DreamerLearner(agent), torch.Generator().manual_seed(0)
    batch = replace(noise_batch(), observation=Observation(torch.full((3, 5, 3, 16, 16), 0.9)))
    losses = [float(learner.update(batch, generator)["loss"]) for _ in range(25)]
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize("config", LEARNT.values(), ids=LEARNT)
def test_the_world_model_can_learn_alone(config: DreamerConfig) -> None:
    agent = make_agent(config)
    learner = DreamerLearner(agent)
    learner.world_model_only = True
    before = {name: value.clone() for name, value in agent.state_dict().items()}
    metrics = learner.update(noise_batch(), torch.Generator().manual_seed(0))
    after = agent.state_dict()
    moved = {name.split(".")[0] for name, value in before.items() if not torch.equal(value, after[name])}
    assert moved == {"world_model"}
    assert "actor_loss" not in metrics


@pytest.mark.parametrize("config", LEARNT.values(), ids=LEARNT)
def test_a_restored_learner_goes_on_the_same(config: DreamerConfig) -> None:
    agents = [make_agent(config) for _ in range(2)]
    learners = [DreamerLearner(agent) for agent in agents]
    batch = noise_batch()
    learners[0].update(batch, torch.Generator().manual_seed(0))
    agents[1].load_state_dict(agents[0].state_dict())
    for name, optimizer in learners[1].optimizers.items():
        optimizer.load_state_dict(deepcopy(learners[0].optimizers[name].state_dict()))
    for learner in learners:
        learner.update(batch, torch.Generator().manual_seed(1))
    for (name, left), right in zip(agents[0].state_dict().items(), agents[1].state_dict().values(), strict=True):
        assert torch.equal(left, right), name


@pytest.mark.parametrize("config", LEARNT.values(), ids=LEARNT)
def test_a_batch_that_is_not_finite_stops_the_training(config: DreamerConfig) -> None:
    agent, batch = make_agent(config), noise_batch()
    batch.reward[0, 1] = float("nan")
    before = {name: value.clone() for name, value in agent.world_model.state_dict().items()}
    with pytest.raises(NonFiniteError, match="not finite"):
        DreamerLearner(agent).update(batch, torch.Generator().manual_seed(0))
    assert all(torch.equal(before[name], value) for name, value in agent.world_model.state_dict().items())


@pytest.mark.parametrize("config", VERSIONS.values(), ids=VERSIONS)
def test_bfloat16_products_train_too(config: DreamerConfig) -> None:
    agent = make_agent(
        changed(config, compute={"precision": "bfloat16"}), CONTINUOUS, ObservationLayout(image=(3, 16, 16), vector=2)
    )
    batch = noise_batch(CONTINUOUS, agent.observation)
    metrics = DreamerLearner(agent).update(batch, torch.Generator().manual_seed(0))
    assert all(bool(torch.isfinite(value)) for value in metrics.values())
    assert {parameter.dtype for parameter in agent.parameters()} == {torch.float32}
