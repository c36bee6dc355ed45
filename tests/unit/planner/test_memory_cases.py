"""Weights and cache against what llama.cpp really allocated: every byte of every case."""

from __future__ import annotations

import pytest

from kimi_desktop.planner.cache import cache_by_device, cells
from kimi_desktop.planner.memory import shape_of
from kimi_desktop.planner.weights import layer_devices, weights_by_device
from tests.support.measured import MeasuredCase, measured_cases, model_facts, model_names

MODELS = model_names()


def cases_of(model: str) -> list[MeasuredCase]:
    return [case for case in measured_cases() if case.model == model]


def test_the_data_is_complete() -> None:
    assert len(measured_cases()) == 493
    assert {case.model for case in measured_cases()} == set(MODELS)


@pytest.mark.parametrize("model", MODELS)
def test_weights_are_byte_exact(model: str) -> None:
    shape = shape_of(model_facts(model))
    for case in cases_of(model):
        weights = weights_by_device(shape, case.placement, case.split)
        found = {device: size for device, size in weights.bytes.items() if size}
        assert (case.id, found) == (case.id, case.weights)
        assert (case.id, weights.repacked_bytes) == (case.id, case.repacked)


@pytest.mark.parametrize("model", MODELS)
def test_cache_is_byte_exact(model: str) -> None:
    geometry = model_facts(model).geometry
    assert geometry is not None
    assert geometry.exact
    for case in cases_of(model):
        devices = layer_devices(geometry.n_layer, case.placement.n_gpu_layers, case.split)
        found = cache_by_device(geometry, case.placement, devices)
        assert (case.id, found) == (case.id, case.kv)
        assert (case.id, cells(geometry, case.placement).n_ctx) == (case.id, case.n_ctx)
