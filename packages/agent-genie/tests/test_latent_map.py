"""The dictionary from latent to real actions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_agent_genie.latent_map import LatentMap
from wm_core.errors import UsageError


@settings(deadline=None, max_examples=20)
@given(pairs=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=40))
def test_it_counts_its_pairs_and_draws_only_what_was_seen(pairs: list[tuple[int, int]]) -> None:
    latent_map = LatentMap(4, 3)
    codes, actions = (torch.tensor(each) for each in zip(*pairs, strict=True))
    latent_map.fill(codes, actions)
    assert latent_map.labels == len(pairs)
    rng = np.random.default_rng(0)
    for code in range(4):
        seen = {action for c, action in pairs if c == code}
        drawn = {latent_map.draw(code, rng) for _ in range(60)}
        if seen:
            assert drawn <= {(action, False) for action in seen}
        else:
            assert drawn == {(0, True), (1, True), (2, True)}


def test_it_draws_in_proportion() -> None:
    latent_map = LatentMap(2, 3)
    latent_map.fill(torch.zeros(4, dtype=torch.long), torch.tensor([0, 2, 2, 2]))
    rng = np.random.default_rng(0)
    drawn = np.bincount([latent_map.draw(0, rng)[0] for _ in range(4000)], minlength=3) / 4000
    np.testing.assert_allclose(drawn, [0.25, 0, 0.75], atol=0.03)


def test_the_likeliest_action_of_an_unseen_code_is_none() -> None:
    latent_map = LatentMap(3, 3)
    latent_map.fill(torch.tensor([0, 0, 2]), torch.tensor([1, 1, 0]))
    assert latent_map.likeliest().tolist() == [1, -1, 0]


def test_filling_it_again_forgets_what_it_held() -> None:
    latent_map = LatentMap(2, 2)
    latent_map.fill(torch.tensor([0, 0]), torch.tensor([0, 0]))
    latent_map.fill(torch.tensor([1]), torch.tensor([1]))
    assert latent_map.counts.tolist() == [[0, 0], [0, 1]]


def test_actions_that_the_environment_lacks_are_refused() -> None:
    with pytest.raises(UsageError, match=r"the environment has 0\.\.2"):
        LatentMap(2, 3).fill(torch.tensor([0]), torch.tensor([3]))
