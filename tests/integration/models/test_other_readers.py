"""Our header reader against the reference one (the ``gguf`` package), on files that it wrote."""

from __future__ import annotations

from pathlib import Path

from gguf import GGUFReader, GGUFValueType

from kimi_desktop.models.facts import facts_of
from kimi_desktop.models.gguf import LeftInFile, read_file
from kimi_desktop.models.library import Library
from kimi_desktop.models.types import ModelState
from kimi_desktop.planner.cache import kv_bytes_per_token


def agree(path: Path) -> None:
    """Every tensor and every value that we keep is what the reference reads."""
    ours, reference = read_file(path), GGUFReader(path)
    assert ours.data_offset == reference.data_offset
    assert ours.expected_bytes <= path.stat().st_size
    assert [
        (tensor.name, tensor.shape, tensor.type.name, tensor.size_bytes, tensor.n_elements)
        for tensor in ours.tensors
    ] == [
        (
            tensor.name,
            tuple(int(size) for size in tensor.shape),
            tensor.tensor_type.name,
            int(tensor.n_bytes),
            int(tensor.n_elements),
        )
        for tensor in reference.tensors
    ]
    fields = {name: field for name, field in reference.fields.items() if name[:5] != "GGUF."}
    assert set(ours.metadata) == set(fields)
    for name, field in fields.items():
        value = ours.metadata[name]
        if isinstance(value, LeftInFile):
            assert value.count == len(field.data), name
        elif field.types[0] is GGUFValueType.ARRAY:
            assert list(value) == list(field.contents()), name  # type: ignore[arg-type]
        else:
            assert value == field.contents(), name


def test_tiny_kimi(tiny_kimi: Path) -> None:
    agree(tiny_kimi)


def test_what_the_library_says_of_tiny_kimi(tiny_kimi: Path) -> None:
    models = Library(kv_bytes_per_token).scan([tiny_kimi.parent])
    (model,) = [model for model in models if model.path == tiny_kimi]
    assert model.state is ModelState.READY
    facts = model.facts
    assert facts is not None
    assert facts.architecture == "deepseek2"
    assert facts.has_thinking
    assert facts.n_expert > 0
    assert facts.geometry is not None
    assert facts.geometry.is_mla
    assert facts.geometry.exact
    assert (
        facts.kv_bytes_per_token
        == facts_of([read_file(tiny_kimi)], tiny_kimi.name, kv_bytes_per_token).kv_bytes_per_token
    )
