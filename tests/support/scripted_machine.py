"""The machine, the library, the samples and the gateway of the scripted services."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path

from kimi_desktop.backends.types import EngineState, EngineStateChanged
from kimi_desktop.base.errors import ErrorCode, KimiError, ServeError
from kimi_desktop.base.events import Event, EventBus
from kimi_desktop.base.messages import Language
from kimi_desktop.base.operation import Operation
from kimi_desktop.base.settings import SettingsStore
from kimi_desktop.machine import checks
from kimi_desktop.machine.measured import Measured, with_measured
from kimi_desktop.machine.types import (
    CheckRow,
    Machine,
    MachineProbed,
    MeasuredPart,
    MeasureProgressed,
    Verdict,
)
from kimi_desktop.models.types import LibraryChanged, LocalModel, StarterProgress
from kimi_desktop.monitor.types import Mark, Sample, SampleTaken
from kimi_desktop.planner.tiers import machine_verdict
from kimi_desktop.serve.types import (
    ClientKey,
    ServeChanged,
    ServeState,
    ServeStatus,
    Snippet,
    SnippetKind,
)
from tests.support import scripted_data as data
from tests.support.scripted_desk import Desk


class ScriptedMachine:
    """The machine service; ``machine`` may be None (not yet looked)."""

    def __init__(self, desk: Desk, bus: EventBus, machine: Machine | None) -> None:
        self._desk = desk
        self._bus = bus
        self.machine = machine
        self.to_find: Machine = machine or data.cpu_only_box()

    def probe(self) -> Operation[Machine]:
        operation = self._desk.operation("machine.probe", self.to_find)
        if operation.done:
            self.set_machine(self.to_find)
        return operation

    def measure(self) -> Operation[Machine]:
        measured = self.measured()
        operation = self._desk.operation("machine.measure", measured)
        if operation.done:
            self.set_machine(measured)
        return operation

    def measured(self) -> Machine:
        """The machine with what a measurement finds."""
        found = self.machine or self.to_find
        rates = Measured(
            ram=262e9,
            disks={disk.path: 6.4e9 for disk in found.disks},
            links={gpu.uuid: 53e9 for gpu in found.gpus},
        )
        return with_measured(found, rates)

    def lacks_measures(self, machine: Machine) -> bool:
        return machine.memory.read_bytes_per_s_measured is None

    def progress(self, part: MeasuredPart, share: float) -> None:
        """A measurement is under way."""
        self._bus.publish(MeasureProgressed(part, share))

    def set_machine(self, machine: Machine) -> None:
        """A look has finished."""
        self.machine = machine
        self._bus.publish(MachineProbed(machine, took_s=0.8))

    def check_rows(self, machine: Machine, language: Language) -> tuple[CheckRow, ...]:
        return checks.check_rows(machine, language)

    def verdict(self, machine: Machine, language: Language) -> Verdict:
        return machine_verdict(machine, language)


class ScriptedModels:
    """The library."""

    def __init__(self, desk: Desk, bus: EventBus, folder: Path) -> None:
        self._desk = desk
        self._bus = bus
        self.models: tuple[LocalModel, ...] = ()
        self.folders: tuple[Path, ...] = (folder,)
        self.missing_folders: tuple[Path, ...] = ()
        self.starter_available = True
        self.first_chat_error: KimiError | None = None

    def set_models(self, *models: LocalModel) -> None:
        """A scan has finished."""
        self.models = models
        self._bus.publish(LibraryChanged(self.models, self.folders, self.missing_folders))

    def freshen(self) -> None:
        self._desk.note("models.freshen")

    def scan(self) -> Operation[tuple[LocalModel, ...]]:
        self._bus.publish(LibraryChanged(self.models, self.folders))
        return self._desk.operation("models.scan", self.models)

    def add_folder(self, folder: Path) -> Operation[tuple[LocalModel, ...]]:
        self.folders = (*self.folders, folder)
        self._bus.publish(LibraryChanged(self.models, self.folders))
        return self._desk.operation("models.add_folder", self.models, folder)

    def remove_folder(self, folder: Path) -> Operation[tuple[LocalModel, ...]]:
        self.folders = tuple(f for f in self.folders if f != folder)
        self._bus.publish(LibraryChanged(self.models, self.folders))
        return self._desk.operation("models.remove_folder", self.models, folder)

    def progress(self, done_bytes: int, total_bytes: int, phase: str) -> None:
        """The starter is being assembled, checked or downloaded."""
        self._bus.publish(StarterProgress(done_bytes, total_bytes, phase))

    def install_starter(self) -> Operation[LocalModel]:
        model = data.starter_model(self.folders[0])
        operation = self._desk.operation("models.install_starter", model)
        if operation.done:
            self.set_models(*(m for m in self.models if m.id != model.id), model)
        return operation

    def fetch_first_chat(self) -> Operation[LocalModel]:
        if self.first_chat_error is not None:
            return self._desk.failed("models.fetch_first_chat", self.first_chat_error)
        starter = data.starter_model(self.folders[0])
        model = dataclasses.replace(
            starter,
            id=str(self.folders[0] / "small-instruct-Q4_K_M.gguf"),
            path=self.folders[0] / "small-instruct-Q4_K_M.gguf",
            title="Small Instruct 0.6B",
            is_starter=False,
        )
        operation = self._desk.operation("models.fetch_first_chat", model)
        if operation.done:
            self.set_models(*(m for m in self.models if m.id != model.id), model)
        return operation


class ScriptedMonitor:
    """Samples as they were put in."""

    def __init__(self, desk: Desk, bus: EventBus) -> None:
        self._desk = desk
        self._bus = bus
        self.samples: tuple[Sample, ...] = ()
        self.said: list[Mark] = []

    def take(self, sample: Sample) -> None:
        """One more sample."""
        self.samples = (*self.samples, sample)
        self._bus.publish(SampleTaken(sample))

    def marks(self) -> tuple[Mark, ...]:
        return tuple(self.said)

    def history(self, seconds: float) -> tuple[Sample, ...]:
        if not self.samples:
            return ()
        oldest = self.samples[-1].at - seconds
        return tuple(sample for sample in self.samples if sample.at >= oldest)

    def export_csv(self, file: Path) -> Operation[Path]:
        lines = ["at,phase", *(f"{sample.at},{sample.phase}" for sample in self.samples)]
        file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return self._desk.operation("monitor.export_csv", file, file)


class ScriptedServe:
    """The gateway's switch; it takes the port from the settings and follows the engine."""

    def __init__(self, desk: Desk, bus: EventBus, store: SettingsStore) -> None:
        self._desk = desk
        self._bus = bus
        self._store = store
        self._keys = itertools.count(1)
        self.status = ServeStatus(ServeState.OFF)
        self.error: KimiError | None = None
        self._model = ""
        self.addresses: tuple[str, ...] = ("192.168.1.20", "10.0.0.4")
        bus.subscribe(self._on_event)

    def _on_event(self, event: Event) -> None:
        if isinstance(event, EngineStateChanged):
            ready = event.status.state in (EngineState.READY, EngineState.GENERATING)
            self._model = "kimi-k2.6" if ready else ""
            if self.status.state is ServeState.ON and self.status.model != self._model:
                self.set_status(dataclasses.replace(self.status, model=self._model))

    def set_status(self, status: ServeStatus) -> None:
        """The gateway changed."""
        self.status = status
        self._bus.publish(ServeChanged(status))

    def switch_on(self) -> Operation[ServeStatus]:
        if self.error is not None:
            failed = ServeStatus(ServeState.FAILED, error=self.error, address=self.status.address)
            self.set_status(failed)
            return self._desk.failed("serve.switch_on", self.error)
        status = dataclasses.replace(
            self._idle(ServeState.ON), url=self._url(), api_key=self._key(), model=self._model
        )
        operation = self._desk.operation("serve.switch_on", status)
        self.set_status(status if operation.done else self._idle(ServeState.STARTING))
        return operation

    def switch_off(self) -> Operation[ServeStatus]:
        self.set_status(self._idle(ServeState.OFF))
        return self._desk.operation("serve.switch_off", self.status)

    def _idle(self, state: ServeState) -> ServeStatus:
        before = self.status
        return ServeStatus(
            state, address=before.address, api_key=before.api_key, clients=before.clients
        )

    def renew_key(self) -> Operation[ServeStatus]:
        self.set_status(dataclasses.replace(self.status, api_key=self._key()))
        return self._desk.operation("serve.renew_key", self.status)

    def add_client(self, name: str) -> Operation[ServeStatus]:
        if name in [client.name for client in self.status.clients] or not name:
            error = ServeError(ErrorCode.SERVE_CLIENT_NAME, {"name": name})
            return self._desk.failed("serve.add_client", error)
        clients = (*self.status.clients, ClientKey(name, f"kd-{name}-{next(self._keys)}"))
        self.set_status(dataclasses.replace(self.status, clients=clients))
        return self._desk.operation("serve.add_client", self.status, name)

    def revoke_client(self, name: str) -> Operation[ServeStatus]:
        clients = tuple(client for client in self.status.clients if client.name != name)
        self.set_status(dataclasses.replace(self.status, clients=clients))
        return self._desk.operation("serve.revoke_client", self.status, name)

    def lan_addresses(self) -> Operation[tuple[str, ...]]:
        return self._desk.operation("serve.lan_addresses", self.addresses)

    def set_address(self, address: str) -> Operation[ServeStatus]:
        self.set_status(dataclasses.replace(self.status, address=address))
        if self.status.state is ServeState.ON:
            self.set_status(dataclasses.replace(self.status, url=self._url()))
        return self._desk.operation("serve.set_address", self.status, address)

    def set_encrypted(self, *, encrypted: bool) -> Operation[ServeStatus]:
        self._store.update(
            lambda s: dataclasses.replace(
                s, serve=dataclasses.replace(s.serve, encrypted=encrypted)
            )
        )
        if self.status.state is ServeState.ON:
            self.set_status(
                dataclasses.replace(
                    self.status,
                    url=self._url(),
                    certificate=Path("/profile/serve-certificate.pem") if encrypted else None,
                    fingerprint=":".join(["AB"] * 32) if encrypted else "",
                )
            )
        return self._desk.operation("serve.set_encrypted", self.status, encrypted)

    def save_certificate(self, file: Path) -> Operation[Path]:
        return self._desk.operation("serve.save_certificate", file, file)

    def snippets(self) -> tuple[Snippet, ...]:
        if self.status.state is not ServeState.ON or not self.status.model:
            return ()
        url, key, model = self.status.url, self.status.api_key, self.status.model
        body = {"model": model, "messages": [{"role": "user", "content": "Hello"}]}
        curl = (
            f"curl {url}/chat/completions \\\n"
            f'  -H "Authorization: Bearer {key}" \\\n'
            '  -H "Content-Type: application/json" \\\n'
            f"  -d '{json.dumps(body)}'"
        )
        python = (
            "import json\nimport urllib.request\n\n"
            "request = urllib.request.Request(\n"
            f'    "{url}/chat/completions",\n'
            f"    json.dumps({body!r}).encode(),\n"
            f'    {{"Authorization": "Bearer {key}", "Content-Type": "application/json"}},\n'
            ")\n"
            "with urllib.request.urlopen(request) as response:\n"
            '    print(json.load(response)["choices"][0]["message"]["content"])'
        )
        openai = (
            "from openai import OpenAI\n\n"
            f'client = OpenAI(base_url="{url}", api_key="{key}")\n'
            "answer = client.chat.completions.create(\n"
            f'    model="{model}",\n'
            '    messages=[{"role": "user", "content": "Hello"}],\n'
            ")\n"
            "print(answer.choices[0].message.content)"
        )
        return (
            Snippet(SnippetKind.CURL, curl),
            Snippet(SnippetKind.PYTHON, python),
            Snippet(SnippetKind.OPENAI, openai),
        )

    def _url(self) -> str:
        serve, address = self._store.settings.serve, self.status.address
        scheme = "https" if address and serve.encrypted else "http"
        return f"{scheme}://{address or '127.0.0.1'}:{serve.port}/v1"

    def _key(self) -> str:
        return f"kimi-scripted-{next(self._keys):04d}"
