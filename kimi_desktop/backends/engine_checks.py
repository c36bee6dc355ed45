"""Asks the chosen engine about a model before it is started: would it load, what would it hold.

Called from any thread; everything runs on the IO thread and in its pool, and can be cancelled.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kimi_desktop.backends.command import EngineBuild
from kimi_desktop.backends.load_probe import LoadProber
from kimi_desktop.base.errors import BackendError, ModelError
from kimi_desktop.base.io_loop import IoLoop
from kimi_desktop.base.operation import Operation
from kimi_desktop.models.catalogue_types import Catalogue, Engine, EngineFloor
from kimi_desktop.models.header_copy import HeaderCopy, copy_file_header, probe_bytes
from kimi_desktop.models.types import LocalModel, ModelFacts, ModelState
from kimi_desktop.models.will_load import Answer, BuildAnswer, LoadVerdict, judge_gguf

NO_ENGINE = "llama.cpp"


class EngineChecks:
    """One per program: it remembers what builds have answered."""

    def __init__(
        self,
        io: IoLoop,
        *,
        build: Callable[[], Awaitable[EngineBuild]],
        catalogue: Callable[[], Catalogue],
    ) -> None:
        """Join it to the engine.

        Args:
            io: where it runs.
            build: the build that a start would use now; raises BackendError when there is none.
            catalogue: what is known of published models.
        """
        self._io = io
        self._build = build
        self._catalogue = catalogue
        self._prober = LoadProber()

    def will_load(
        self, model: LocalModel, header: HeaderCopy | None = None
    ) -> Operation[LoadVerdict]:
        """Whether the chosen engine would load ``model``. Up to a second, the first time.

        Args:
            model: a row of the library, or one made from headers on a server.
            header: of its first part, for a model that is not on this computer.
        """
        return self._io.submit(lambda: self.judge(model, header))

    async def judge(self, model: LocalModel, header: HeaderCopy | None = None) -> LoadVerdict:
        """The same on the IO thread. Never fails: what cannot be asked is said in the verdict."""
        floor = self._floor(model.facts)
        try:
            build = await self._build()
        except BackendError:
            return judge_gguf(model, NO_ENGINE, None, floor)
        answer: BuildAnswer | None = None
        facts = model.facts
        if model.state is ModelState.READY and facts is not None and facts.tensors is not None:
            try:
                if header is None:
                    header = await self._io.in_pool(copy_file_header, model.path)
                types = {tensor.type for tensor in facts.tensors}
                probe = await self._io.in_pool(probe_bytes, header, types)
                answer = await self._prober.ask(build, probe)
            except (OSError, ModelError) as error:
                answer = BuildAnswer(Answer.UNCLEAR, str(error))
        return judge_gguf(model, build.name, answer, floor)

    def _floor(self, facts: ModelFacts | None) -> EngineFloor | None:
        entry = self._catalogue().find(facts.name) if facts else None
        return entry.floor(Engine.LLAMA_CPP) if entry else None
