from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from wm_core.errors import CheckpointError, UsageError
from wm_torchkit.seeding import MAX_SEED, RandomStreams
from wm_torchkit.state_tree import join_state, split_state


def test_the_same_seed_and_name_give_the_same_numbers() -> None:
    a, b = RandomStreams(3), RandomStreams(3)
    b.numpy_generator("other").random(10)
    assert (a.numpy_generator("replay").random(5) == b.numpy_generator("replay").random(5)).all()
    assert a.torch_generator("dream").get_state().equal(b.torch_generator("dream").get_state())
    assert a.seed("env", 7) == b.seed("env", 7)


def test_names_seeds_and_indices_give_different_numbers() -> None:
    streams = RandomStreams(0)
    draws = {streams.numpy_generator(name).integers(2**62) for name in ("a", "b", "c")}
    draws |= {torch.randint(2**62, (), generator=streams.torch_generator(name)).item() for name in ("a", "b")}
    draws |= {RandomStreams(1).numpy_generator("a").integers(2**62)}
    assert len(draws) == 6
    seeds = {streams.seed("env", index) for index in range(200)}
    assert len(seeds) == 200
    assert all(0 <= seed < MAX_SEED for seed in seeds)


def test_a_name_is_one_generator() -> None:
    streams = RandomStreams(0)
    assert streams.numpy_generator("x") is streams.numpy_generator("x")
    assert streams.torch_generator("x") is streams.torch_generator("x")


def test_the_state_comes_back_through_json_and_tensors_in_place() -> None:
    streams = RandomStreams(9)
    numpy, dream = streams.numpy_generator("replay"), streams.torch_generator("dream")
    numpy.random(3), torch.rand(3, generator=dream)
    tensors, tree = split_state(streams.state_dict())
    expected = numpy.random(4), torch.rand(4, generator=dream), np.float64(0)
    state = join_state(tensors, json.loads(json.dumps(tree)))
    streams.load_state_dict(state)
    assert (numpy.random(4) == expected[0]).all()
    assert torch.rand(4, generator=dream).equal(expected[1])
    fresh = RandomStreams(9)
    fresh.load_state_dict(state)
    assert (fresh.numpy_generator("replay").random(4) == expected[0]).all()


def test_global_random_numbers_are_drawn_from_a_stream_and_the_global_state_is_left_alone() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    streams = RandomStreams(0)
    draws = []
    for _ in range(2):
        with streams.as_global("world model"):
            draws.append(torch.nn.functional.dropout(torch.ones(64)))
    assert torch.get_rng_state().equal(before)
    assert not draws[0].equal(draws[1])
    again = RandomStreams(0)
    with again.as_global("world model"):
        both = [torch.nn.functional.dropout(torch.ones(64)) for _ in range(2)]
    assert all(a.equal(b) for a, b in zip(draws, both, strict=True))


def test_an_error_inside_still_restores_the_global_state() -> None:
    before = torch.get_rng_state()
    with pytest.raises(RuntimeError), RandomStreams(0).as_global("x"):
        torch.rand(2) @ torch.rand(3)
    assert torch.get_rng_state().equal(before)


def test_another_seed_or_a_negative_one_is_refused() -> None:
    with pytest.raises(UsageError, match="-1"):
        RandomStreams(-1)
    with pytest.raises(CheckpointError, match="seed 1, not 2"):
        RandomStreams(2).load_state_dict(RandomStreams(1).state_dict())


def test_states_of_another_device_are_refused() -> None:
    streams = RandomStreams(0)
    streams.torch_generator("dream")
    state = streams.state_dict()
    state["torch"]["dream"]["device"] = "cuda"
    with pytest.raises(CheckpointError, match="trained on cuda"):
        streams.load_state_dict(state)
