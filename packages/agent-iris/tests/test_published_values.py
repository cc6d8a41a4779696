"""The numbers of the published implementation, on weights and inputs given by formula (see iris_formula.py).

Each large output is known by its shape, mean, standard deviation and values at flat indices.
"""

from __future__ import annotations

import pytest
import torch
from iris_formula import image, integers, published_tensors, u
from torch import Tensor

from wm_agent_iris import published
from wm_agent_iris.actor_critic_loss import compute_lambda_return
from wm_agent_iris.agent import IRISAgent
from wm_agent_iris.config import IRISConfig, TokenizerConfig
from wm_agent_iris.tokenizer.losses import tokenizer_loss
from wm_agent_iris.world_model.world_model import WorldModelBatch

TOKENS = [
    [7, 443, 7, 297, 30, 144, 7, 7, 140, 7, 254, 70, 7, 254, 7, 377],
    [7, 50, 7, 7, 303, 436, 7, 504, 30, 303, 42, 62, 7, 275, 7, 62],
    [7, 7, 7, 7, 7, 30, 7, 353, 7, 30, 70, 461, 7, 56, 254, 7],
    [7, 271, 7, 7, 510, 50, 62, 7, 297, 30, 140, 70, 374, 7, 133, 297],
]


@pytest.fixture(scope="module")
def agent() -> IRISAgent:
    """The paper's configuration with the weights by formula, by way of the importer; LPIPS off."""
    config = IRISConfig(tokenizer=TokenizerConfig(perceptual_weight=0.0))
    agent = IRISAgent.from_config(config, action_size=6)
    agent.load_state_dict(published.convert(published_tensors(), "the formula").weights)
    return agent


def assert_digest(tensor: Tensor, shape: tuple[int, ...], mean: float, std: float, at: dict[int, float]) -> None:
    assert tuple(tensor.shape) == shape
    flat = tensor.detach().double().flatten()
    assert float(flat.mean()) == pytest.approx(mean, abs=1e-5)
    assert float(flat.std(unbiased=False)) == pytest.approx(std, abs=1e-5)
    assert [float(flat[i]) for i in at] == pytest.approx(list(at.values()), abs=1e-4)


def test_encoder(agent: IRISAgent) -> None:
    x = agent.tokenizer.preprocess(image("iris.obs", 4, 3, 64, 64))
    with torch.no_grad():
        features = agent.tokenizer.encoder_features(x)
    at = {0: 1.3435638, 7919: -0.1055831, 15838: 0.4973845, 23757: 0.0187059, 31676: -0.1007839, 6827: -0.8134331}
    assert_digest(features, (4, 512, 4, 4), -0.00184829, 0.50857309, at)


def test_tokens(agent: IRISAgent) -> None:
    assert agent.tokenizer.encode(image("iris.obs", 4, 3, 64, 64)).tolist() == TOKENS


def test_decoder(agent: IRISAgent) -> None:
    tokenizer = agent.tokenizer
    codes = tokenizer.quantizer.codebook[torch.tensor(TOKENS).flatten()]
    with torch.no_grad():
        unclamped = (tokenizer.decoder_output(tokenizer.as_map(codes)) + 1) / 2
    at = {0: 0.4585918, 7919: 0.7617862, 15838: 0.5344667, 23757: 0.4818691, 31676: 0.3369774, 37957: 0.4396767}
    assert_digest(unclamped, (4, 3, 64, 64), 0.59129066, 0.27333128, at)
    assert torch.equal(tokenizer.decode(torch.tensor(TOKENS)), unclamped.clamp(0, 1))


def test_tokenizer_losses(agent: IRISAgent) -> None:
    with torch.no_grad():
        loss = tokenizer_loss(agent.tokenizer, image("iris.obs", 4, 3, 64, 64))
    assert float(loss.reconstruction) == pytest.approx(0.65908605, abs=1e-5)
    assert float(loss.commitment) == pytest.approx(1.07666159, abs=1e-5)
    assert float(loss.codebook + loss.commitment) == pytest.approx(2.15332317, abs=1e-5)
    assert float(loss.total) == pytest.approx(2.15332317 + 0.65908605, abs=1e-5)


def test_transformer_and_heads(agent: IRISAgent) -> None:
    tokens = integers("iris.seq", 512, 2, 340).reshape(2, 20, 17)[:, :, :16]
    actions = integers("iris.act", 6, 2, 20)
    transformer = agent.world_model.transformer
    with torch.no_grad():
        hidden, output = transformer.hidden(tokens, actions), transformer(tokens, actions)
    at = {0: -1.2232078, 7919: -1.5310891, 15838: 0.2728198, 23757: 2.2001595, 63352: -0.5038131, 87109: -0.6698157}
    assert_digest(hidden, (2, 340, 256), 0.00712619, 1.01187626, at)
    at = {0: 0.6891813, 7919: 0.1372866, 15838: -0.3154111, 23757: 0.3330466, 79190: -1.0136050, 87109: -0.3921337}
    assert_digest(output.observations, (2, 320, 512), -0.02016591, 0.69558845, at)
    at = {0: 0.4263195, 119: 1.2123898, 118: -0.1495343, 117: 0.7953330, 116: 0.4868304, 109: 0.0963014}
    assert_digest(output.rewards, (2, 20, 3), 0.35409123, 0.39725030, at)
    at = {0: 0.9253583, 79: 0.5675502, 78: 1.0373310, 77: -0.0450202, 76: 0.3176104, 69: 0.4342352}
    assert_digest(output.ends, (2, 20, 2), 0.54295503, 0.43849152, at)


def test_world_model_losses(agent: IRISAgent) -> None:
    mask = torch.ones(2, 20, dtype=torch.bool)
    mask[1, 12:] = False
    ends = torch.zeros(2, 20, dtype=torch.bool)
    ends[1, 11] = True
    batch = WorldModelBatch(
        tokens=agent.tokenizer.encode(image("iris.batch_obs", 2, 20, 3, 64, 64)),
        actions=integers("iris.batch_act", 6, 2, 20),
        rewards=(integers("iris.batch_rew", 7, 2, 20) - 3).float(),
        ends=ends,
        mask=mask,
    )
    with torch.no_grad():
        loss = agent.world_model.loss(batch)
    assert float(loss.observations) == pytest.approx(6.28414440, abs=1e-4)
    assert float(loss.rewards) == pytest.approx(1.10641980, abs=1e-4)
    assert float(loss.ends) == pytest.approx(0.94526160, abs=1e-4)
    assert float(loss.total) == pytest.approx(6.28414440 + 1.10641980 + 0.94526160, abs=1e-4)


def test_actor_critic_after_burn_in(agent: IRISAgent) -> None:
    mask = torch.ones(3, 5, dtype=torch.bool)
    mask[1, :3] = False
    mask[2] = False
    state = agent.actor_critic.burn_in(image("iris.burnin", 3, 5, 3, 64, 64) / 255, mask)
    at = {0: -0.1217604, 239: 0.2082987, 478: -0.0457232, 717: -0.0712864, 956: -0.0104795, 1195: 0.0, 854: 0.0056754}
    assert_digest(state[0, 0], (3, 512), 0.01048528, 0.14300205, at)

    with torch.no_grad():
        output = agent.actor_critic(image("iris.ac_obs", 3, 1, 3, 64, 64) / 255, state)
    logits = [
        [0.2089674, 0.4003989, 0.2958367, -0.2550252, 0.1701050, 0.0930152],
        [0.1898522, 0.3085094, 0.3078143, -0.1865341, 0.1393896, 0.1182509],
        [0.0309009, 0.1999426, 0.2352959, -0.0895752, 0.1676003, 0.0170921],
    ]
    assert torch.allclose(output.logits[:, 0], torch.tensor(logits), atol=1e-5)
    assert output.values.flatten().tolist() == pytest.approx([-0.0982571, -0.1579114, -0.0654511], abs=1e-5)


def test_lambda_returns() -> None:
    ends = torch.zeros(2, 6, dtype=torch.bool)
    ends[0, 2] = True
    returns = compute_lambda_return(3 * u("iris.lr_rew", 2, 6), 3 * u("iris.lr_val", 2, 6), ends, 0.995, 0.95)
    expected = [
        [4.1204405, 4.6013556, 2.8401682, 0.7352471, 0.2668400, -0.7071213],
        [-0.4539344, 0.8246117, 0.8947676, 1.0112998, 1.1288445, 1.5679196],
    ]
    assert torch.allclose(returns.float(), torch.tensor(expected), atol=1e-5)


@pytest.mark.parametrize(
    ("component", "parameters"), [("tokenizer", 4_027_523), ("world_model", 8_448_005), ("actor_critic", 3_218_983)]
)
def test_parameter_counts(agent: IRISAgent, component: str, parameters: int) -> None:
    assert sum(p.numel() for p in agent.get_submodule(component).parameters()) == parameters


def test_bf16_stays_close(agent: IRISAgent) -> None:
    tokens = integers("iris.seq", 512, 2, 340).reshape(2, 20, 17)[:, :4, :16]
    actions = integers("iris.act", 6, 2, 20)[:, :4]
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        mixed = agent.world_model.transformer(tokens, actions).observations
    with torch.no_grad():
        exact = agent.world_model.transformer(tokens, actions).observations
    assert mixed.dtype == torch.bfloat16
    assert float((mixed - exact).abs().mean()) < 0.02
