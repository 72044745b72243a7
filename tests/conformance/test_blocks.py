"""Every registered block keeps the contract of a block; those registered later too."""

from __future__ import annotations

import pickle
import re
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pyomo.environ as pyo
import pytest
from instances import (
    broken_statements,
    complete_composition,
    plain_data,
    random_metric,
    solved,
)
from pyomo.core.expr.visitor import identify_variables

from mlmio import Block, Composition, CompositionError, Dataset, block, compose
from mlmio.composition import Assembly
from mlmio.registry import blocks
from mlmio.sizes import Dimensions
from mlmio.slots import SLOTS

NAMES = blocks.names()


@pytest.fixture(params=NAMES)
def part(request: pytest.FixtureRequest) -> Block:
    return block(request.param)


@pytest.fixture
def data() -> Dataset:
    return plain_data()


@pytest.fixture
def assembly(part: Block, data: Dataset) -> Assembly:
    return complete_composition(part).assemble(data)


def test_it_is_registered_under_its_name_in_a_slot(part: Block) -> None:
    assert block(part.name) == part
    assert part.slot in SLOTS


def test_its_docstring_says_everything_in_order(part: Block) -> None:
    text = type(part).__doc__ or ""
    said = [":math:", "math::", "Source:", "Needs", "Adds", "Relations:"]
    found = [text.find(word) for word in said]
    assert all(position >= 0 for position in found[2:]), dict(zip(said, found, strict=True))
    order = [min(p for p in found[:2] if p >= 0), *found[2:]]
    assert order == sorted(order), dict(zip(said, found, strict=True))
    assert part.source


def test_its_docstring_names_every_parameter(part: Block) -> None:
    text = type(part).__doc__ or ""
    for field in fields(part):
        assert re.search(rf"^ *(\w+, )*{field.name}(, \w+)* :", text, re.M), field.name


def test_its_string_makes_it(part: Block) -> None:
    assert compose(str(part)).blocks == (part,)


def test_it_is_a_value(part: Block) -> None:
    again = pickle.loads(pickle.dumps(part))
    assert again == part
    assert hash(again) == hash(part)
    assert {again, part} == {part}
    for field in fields(part):
        with pytest.raises(FrozenInstanceError):
            setattr(part, field.name, None)


def test_it_refuses_an_unknown_parameter(part: Block) -> None:
    with pytest.raises(CompositionError, match=f"'{part.name}' has no parameter 'wrong'"):
        block(part.name, wrong=1)


def test_it_refuses_nonsense_for_a_parameter(part: Block) -> None:
    for field in fields(part):
        for nonsense in (float("nan"), object()):
            with pytest.raises(CompositionError, match=f"'{part.name}'"):
                block(part.name, **{field.name: nonsense})


def test_its_relations_are_to_blocks_of_its_slot(part: Block) -> None:
    for other in (*part.restricts, *part.tightens):
        assert blocks.get(other).slot == part.slot
    assert set(part.parameter_order) <= {field.name for field in fields(part)}


def test_it_adds_what_it_says(part: Block, assembly: Assembly) -> None:
    n = Dimensions.of(assembly.data)
    for other in assembly.blocks:
        other.extend(n)
    b = assembly.model.component(part.label)
    variables = list(b.component_data_objects(pyo.Var))
    size = part.size(n)
    assert len(variables) == size.variables
    assert sum(v.is_binary() for v in variables) == size.binaries
    assert len(list(b.component_data_objects(pyo.Constraint))) == size.rows


def test_its_class_of_problem_is_true(part: Block, assembly: Assembly) -> None:
    b = assembly.model.component(part.label)
    bodies = [row.body for row in b.component_data_objects(pyo.Constraint)]
    variables = [*b.component_data_objects(pyo.Var)]
    variables += [v for body in bodies for v in identify_variables(body, include_fixed=True)]
    sets = any(b.component_data_objects(pyo.SOSConstraint))
    discrete = sets or any(v.is_integer() for v in variables)
    nonlinear = any(body.polynomial_degree() not in (0, 1) for body in bodies)
    allowed = {
        (False, False): {"LP"},
        (False, True): {"MILP"},
        (True, False): {"SOCP", "MINLP"},
        (True, True): {"MISOCP", "MINLP"},
    }
    assert part.problem_class in allowed[nonlinear, discrete]


@pytest.mark.parametrize("seed", range(4))
def test_its_model_holds_where_its_mathematics_does(assembly: Assembly, seed: int) -> None:
    metric = random_metric(assembly.data, tuple(assembly.context.orders), seed)
    outliers = np.random.default_rng(seed).uniform(size=assembly.data.N) < 0.2 * seed
    has_outliers = assembly.context.outliers is not None
    evaluation = assembly.complete(metric, outliers if has_outliers else None)
    violated = [v for v in evaluation.violations if v.amount > 1e-9]
    broken = broken_statements(assembly.model)
    assert bool(broken) == bool(violated), f"model: {broken[:3]}; data: {violated[:3]}"
    assert pyo.value(assembly.model.objective) == pytest.approx(evaluation.objective, abs=1e-9)


def test_its_optimum_passes_the_certificate(part: Block) -> None:
    composition = complete_composition(part)
    result = solved(composition)
    if result is None:
        pytest.skip(f"no installed solver takes {composition.problem_class}")
    assert result.status == "optimal", str(result)
    assert result.verified


def test_an_optimum_can_be_completed_again(assembly: Assembly) -> None:
    """The solution of any solver satisfies the model as a warm start does."""
    composition = assembly.composition
    result = solved(composition) or solved(composition | "bigm")
    assert result is not None
    assert result.metric is not None, str(result)
    # The cone may have come to another basis.
    found = composition | Composition(result.resolved.slot("cone"))
    assembly = found.assemble(plain_data())
    outliers = np.isin(assembly.data.ids, result.outliers)
    evaluation = assembly.complete(result.metric, outliers)
    assert max((v.amount for v in evaluation.violations), default=0.0) < 1e-6
    assert pyo.value(assembly.model.objective) == pytest.approx(result.objective, abs=1e-6)
