from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wm_core.errors import CheckpointError
from wm_torchkit.state_tree import join_state, split_state

keys = st.one_of(st.text(max_size=4), st.integers(-3, 3), st.none(), st.tuples(st.integers(0, 2), st.text(max_size=2)))
leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.tuples(inner, inner), st.dictionaries(keys, inner, max_size=3)
    ),
    max_leaves=12,
)


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return [*map(repr, a)] == [*map(repr, b)] and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and math.isnan(a):
        return math.isnan(b)
    return a == b and (not isinstance(a, float) or math.copysign(1, a) == math.copysign(1, b))


def through_json(state: Any) -> Any:
    tensors, tree = split_state(state)
    return join_state(tensors, json.loads(json.dumps(tree, allow_nan=False)))


@settings(deadline=None, max_examples=150)
@given(trees)
def test_plain_values_come_back_exactly_with_their_types(state: Any) -> None:
    assert same(through_json(state), state)


@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD])
def test_an_optimizer_goes_on_exactly(optimizer: Any) -> None:
    def run(steps: list[int], model: torch.nn.Module, opt: torch.optim.Optimizer) -> None:
        for step in steps:
            opt.zero_grad()
            model(torch.full((1, 3), float(step))).square().sum().backward()
            opt.step()

    torch.manual_seed(0)
    model = torch.nn.Linear(3, 2)
    other = torch.nn.Linear(3, 2)
    first = optimizer(model.parameters(), lr=1e-2)
    run([1, 2], model, first)
    other.load_state_dict(through_json(model.state_dict()))
    second = optimizer(other.parameters(), lr=1.0)
    second.load_state_dict(through_json(first.state_dict()))
    run([3, 4], model, first)
    run([3, 4], other, second)
    assert model.weight.equal(other.weight)


def test_arrays_and_tensors_keep_kind_dtype_and_shape() -> None:
    state = {
        "a.b": torch.tensor(3, dtype=torch.bfloat16),
        "a": {"b": np.array([[1, 2]], np.int64)},
        0: np.zeros((0, 5), np.float32),
        "0": torch.tensor([True, False]),
    }
    back = through_json(state)
    assert back["a.b"].dtype == torch.bfloat16
    assert back["a.b"].shape == ()
    assert back["a"]["b"].dtype == np.int64
    assert back["a"]["b"].tolist() == [[1, 2]]
    assert isinstance(back[0], np.ndarray)
    assert back[0].shape == (0, 5)
    assert back["0"].tolist() == [True, False]


def test_saved_tensors_do_not_follow_later_changes() -> None:
    weight, array = torch.zeros(2), np.zeros(2)
    tensors, tree = split_state([weight, array])
    weight += 1
    array += 1
    assert all((values == 0).all() for values in join_state(tensors, tree))


def test_what_cannot_be_saved_is_named_by_its_place() -> None:
    with pytest.raises(TypeError, match=r"set at state\.optimizer\.0"):
        split_state({"optimizer": [{1, 2}]})
    with pytest.raises(TypeError, match="key of type float"):
        split_state({1.5: 0})


def test_a_missing_tensor_or_unknown_kind_is_an_error() -> None:
    with pytest.raises(CheckpointError, match="lacks its tensor 'state'"):
        join_state({}, {"tensor": "state"})
    with pytest.raises(CheckpointError, match="'pickle'"):
        join_state({}, {"pickle": "state"})
