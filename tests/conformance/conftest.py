"""Every registered solver, skipped with a reason where it is not installed, and points of Iris."""

from __future__ import annotations

import pytest
from programs import NAMES, installed

import mlmio


@pytest.fixture(params=NAMES)
def solver(request):
    return installed(request.param)


@pytest.fixture(scope="session")
def iris():
    return mlmio.load_dataset("iris", per_class=5, seed=0)


@pytest.fixture(scope="session")
def little_iris():
    return mlmio.load_dataset("iris", per_class=3, seed=0)


@pytest.fixture(scope="session")
def known(little_iris):
    return mlmio.solve("linear + quadratic + nearest + mccormick", little_iris)
