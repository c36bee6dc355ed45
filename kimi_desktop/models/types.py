"""Local models as frozen data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.events import Event
from kimi_desktop.models.geometry import Geometry, TensorTable
from kimi_desktop.models.hash_record import Change, Verified


class ModelState(StrEnum):
    """Whether a local model can be started."""

    READY = "ready"
    PARTIAL = "partial"
    """Parts of the set, or the end of a file, are missing."""
    BROKEN = "broken"
    """The header cannot be read; ``LocalModel.problem`` names the field."""
    COMPANION = "companion"
    """A projector, an adapter or an importance matrix: not a model of its own."""
    MISSING = "missing"
    """It was here at an earlier look; its folder, or the drive of it, is not there now."""


class ModelFormat(StrEnum):
    """How a model's weights are stored, which says what can run it."""

    GGUF = "gguf"
    """One file or a split set: llama.cpp."""
    SAFETENSORS = "safetensors"
    """A folder in Hugging Face's layout: vLLM and SGLang."""


class CompanionKind(StrEnum):
    """What a companion file is."""

    PROJECTOR = "projector"
    """The vision or audio part of a model ("mmproj")."""
    ADAPTER = "adapter"
    """A LoRA or a control vector."""
    IMPORTANCE_MATRIX = "importance_matrix"
    VOCABULARY = "vocabulary"
    """A tokenizer without weights."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a GGUF header says and the planner's header-only figures. Shapes as in llama.cpp."""

    name: str
    architecture: str
    quantization: str
    parameter_count: int
    n_layer: int
    """Transformer blocks; ``-ngl`` counts these and one more for the output."""
    n_expert: int
    n_expert_used: int
    context_train: int
    """Tokens the model was trained for."""
    weights_bytes: int
    """Sum of all tensors."""
    kv_bytes_per_token: int
    """What one more token of context takes in an f16 cache, windows being full; 0 when the
    architecture has a rule that is unknown here."""
    chat_template: str | None
    has_thinking: bool
    """The template knows a thinking block."""
    geometry: Geometry | None = None
    """What the planner counts with."""
    tensors: TensorTable | None = None


@dataclass(frozen=True, slots=True)
class LocalModel:
    """One row of the library: a single file, a split set, or a folder of safetensors as one."""

    id: str
    """Stable across scans: the path of the first file, or of the folder."""
    path: Path
    """What the engine is given: the first file of a set, or the folder."""
    title: str
    size_bytes: int
    parts_present: int
    parts_total: int
    state: ModelState
    facts: ModelFacts | None
    problem: KimiError | None
    is_starter: bool = False
    companion: CompanionKind | None = None
    format: ModelFormat = ModelFormat.GGUF
    files: tuple[Path, ...] = ()
    """What it is made of: the parts; of a checkpoint config, index and weights."""
    verified: Verified | None = None
    """Every file was compared with its hash and is as it was then."""
    change: Change | None = None
    """A file of it was proven once, and is not as it was then."""

    @property
    def is_startable(self) -> bool:
        """The engines that are started from here can load it: a whole GGUF file or set."""
        return self.state is ModelState.READY and self.format is ModelFormat.GGUF

    @property
    def is_served(self) -> bool:
        """Server engines (vLLM) load it: a whole folder of safetensors."""
        return self.state is ModelState.READY and self.format is ModelFormat.SAFETENSORS

    @property
    def family(self) -> str:
        """Models of one family differ by quantization alone (the quantization slider)."""
        return self.facts.name if self.facts else self.title


def remote_row(facts: ModelFacts, place: str, file_name: str) -> LocalModel:
    """A model that is elsewhere and of which the header was read, as a row of the library has it.

    Args:
        facts: of its header.
        place: "owner/name/file", for people and as its id.
        file_name: of its first part.
    """
    return LocalModel(
        id=place,
        path=Path(file_name),
        title=facts.name,
        size_bytes=facts.weights_bytes,
        parts_present=1,
        parts_total=1,
        state=ModelState.READY,
        facts=facts,
        problem=None,
    )


def default_model(models: Iterable[LocalModel], preferred: str) -> LocalModel | None:
    """The preferred one by id, else the first ready one that is no demo, else the demo, else None.

    One rule for the window and the terminal: what Start starts when nothing was chosen yet.
    """
    rows = tuple(models)
    for model in rows:
        if model.id == preferred:
            return model
    ready = (model for model in rows if model.is_startable)
    return min(ready, key=lambda model: model.is_starter, default=None)


@dataclass(frozen=True, slots=True)
class LibraryChanged(Event):
    """A scan of the models folders has finished."""

    models: tuple[LocalModel, ...]
    folders: tuple[Path, ...]
    missing: tuple[Path, ...] = ()
    """Folders that are not there: moved, or on a drive that is not connected."""


@dataclass(frozen=True, slots=True)
class ScanProgressed(Event):
    """A scan has looked at some of the models that it found."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class StarterProgress(Event):
    """The starter model is being assembled or fetched."""

    done_bytes: int
    total_bytes: int
    phase: str
    """"assembling", "checking", "downloading"."""
