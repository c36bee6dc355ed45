"""How vLLM would serve a folder of safetensors: the legal ways to divide it, what each means. Qt.

The code that a model brings along is listed with its hashes; it runs only when that was allowed
here, and a changed file asks again.
"""

from __future__ import annotations

import dataclasses

from PySide6.QtWidgets import QHBoxLayout, QWidget

from kimi_desktop.backends.server_planner import ServerOffer
from kimi_desktop.backends.types import LoadSettings, VllmSettings
from kimi_desktop.base.messages import describe_error
from kimi_desktop.models.types import LocalModel
from kimi_desktop.planner.vllm_types import ServerWishes, Split
from kimi_desktop.ui.bridge import Bridge
from kimi_desktop.ui.language import language
from kimi_desktop.ui.model_names import full_name
from kimi_desktop.ui.model_picker import select_model
from kimi_desktop.ui.overlay import Overlay
from kimi_desktop.ui.widgets.button import Button, ButtonKind
from kimi_desktop.ui.widgets.field import Field, LabeledField
from kimi_desktop.ui.widgets.label import SEMIBOLD, Label, TextSize
from kimi_desktop.ui.widgets.segmented import Segmented
from kimi_desktop.ui.widgets.toggle import CheckBox

AUTO = "auto"
SHOWN_HASH = 12
MOST_FILES = 8
LONGEST_CONTEXT = 9
"""Digits."""


class ServeSheet(Overlay):
    """Start is possible once a plan fits and its code was allowed."""

    def __init__(self, window: QWidget, bridge: Bridge, model: LocalModel) -> None:
        super().__init__(window, width=620)
        self._bridge = bridge
        self._model = model
        self._offer: ServerOffer | None = None
        engine = bridge.services.engine
        self._settings: LoadSettings = engine.settings_for(model)
        self._build = engine.name_of(self._settings)
        special = self._settings.server or VllmSettings()
        self._wishes = special.wishes
        heading = self.tr("Serve {name} with vLLM").format(name=full_name(model))
        self.build = Label(
            self._build
            or self.tr("vLLM was not found. Point at a Python that has it: Settings, Engine."),
            tone="muted" if self._build else "warn",
            wrap=True,
        )
        self.tensor = Segmented()
        self.tensor.set_label(self.tr("GPUs for every layer"))
        self.tensor_row = LabeledField(self.tensor)
        self.tensor_row.set_label(self.tr("GPUs for every layer"))
        self.context = Field()
        self.context.setPlaceholderText(self.tr("As long as fits"))
        if self._wishes.context:
            self.context.setText(str(self._wishes.context))
        self.context_row = LabeledField(self.context)
        self.context_row.set_label(self.tr("Longest context, tokens"))
        self.answer = Label(self.tr("Planning…"), wrap=True)
        self.code = Label(wrap=True, tone="warn", size=TextSize.SMALL)
        self.allow = CheckBox(self.tr("I trust these files: they may run on this computer"))
        self.cancel_button = Button(self.tr("Cancel"))
        self.start_button = Button(self.tr("Start"), kind=ButtonKind.PRIMARY, icon="play")
        self._arrange(heading)
        self.tensor.chosen.connect(self._on_tensor)
        self.context.editingFinished.connect(self._on_context)
        self.allow.toggled.connect(self._show_start)
        self.cancel_button.clicked.connect(self.dismiss)
        self.start_button.clicked.connect(self._start)
        self._find()

    def _arrange(self, heading: str) -> None:
        self.body.addWidget(Label(heading, size=TextSize.HEADING, weight=SEMIBOLD, wrap=True))
        for part in (self.build, self.tensor_row, self.context_row, self.answer, self.code):
            self.body.addWidget(part)
        self.body.addWidget(self.allow)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addStretch(1)
        buttons.addWidget(self.cancel_button)
        buttons.addWidget(self.start_button)
        self.body.addLayout(buttons)
        self.panel.setAccessibleName(heading)
        hidden: tuple[QWidget, ...] = (self.tensor_row, self.code, self.allow)
        for widget in hidden:
            widget.hide()
        self.start_button.setEnabled(False)

    @property
    def _on_cpu(self) -> bool:
        return bool(self._build) and not self._bridge.services.engine.uses_gpus(self._settings)

    def _find(self) -> None:
        found = self._bridge.services.servers.find(self._model, self._wishes)
        self._bridge.watch(found, self._on_offer, self._on_failed)

    def _on_offer(self, offer: ServerOffer) -> None:
        first = self._offer is None
        self._offer = offer
        choices = offer.choices.tensor if offer.choices is not None else ()
        legal = [choice.value for choice in choices if choice.problem is None]
        sizes = [(str(size), str(size)) for size in legal]
        self.tensor.set_options([(AUTO, self.tr("Auto")), *sizes])
        split = self._wishes.split
        self.tensor.choose(AUTO if split is None else str(split.tensor))
        self.tensor_row.setVisible(len(sizes) > 1 and not self._on_cpu)
        words = self._bridge.services.servers.words(
            offer, self._build, language(), on_cpu=self._on_cpu
        )
        self.answer.setText("\n".join(words))
        if first:
            special = self._settings.server or VllmSettings()
            digest = offer.code.digest
            self.allow.setChecked(bool(digest) and special.trusted_code == digest)
        self._show_code(offer)
        self._show_start()
        self._cover()

    def _show_code(self, offer: ServerOffer) -> None:
        files = offer.code.files
        lines = [f"{file.name}  {file.sha256[:SHOWN_HASH]}…" for file in files[:MOST_FILES]]
        if len(files) > MOST_FILES:
            lines.append(self.tr("and {count} more").format(count=len(files) - MOST_FILES))
        intro = self.tr("The model's own Python files, with their SHA-256:")
        self.code.setText("\n".join([intro, *lines]))
        self.code.setVisible(bool(files))
        self.allow.setVisible(bool(files))

    def _show_start(self) -> None:
        offer = self._offer
        fits = offer is not None and (self._on_cpu or (offer.plan is not None and offer.plan.fits))
        allowed = offer is not None and (not offer.code.files or self.allow.isChecked())
        self.start_button.setEnabled(bool(self._build) and fits and allowed)

    def _on_failed(self, error: BaseException) -> None:
        self._offer = None
        self.answer.setText(" ".join(describe_error(error, language())))
        self._show_start()
        self._cover()

    def _on_tensor(self, key: str) -> None:
        split = None if key == AUTO else Split(tensor=int(key))
        self._wish(dataclasses.replace(self._wishes, split=split))

    def _on_context(self) -> None:
        text = self.context.text().strip()
        known = text.isdecimal() and len(text) <= LONGEST_CONTEXT and int(text) > 0
        self.context_row.set_note(
            "" if known or not text else self.tr("A number of tokens, or empty."),
            error=bool(text) and not known,
        )
        if known or not text:
            self._wish(dataclasses.replace(self._wishes, context=int(text) if text else None))

    def _wish(self, wishes: ServerWishes) -> None:
        if wishes != self._wishes:
            self._wishes = wishes
            self._find()

    def _start(self) -> None:
        offer = self._offer
        special = self._settings.server or VllmSettings()
        digest = offer.code.digest if offer is not None else ""
        server = dataclasses.replace(special, wishes=self._wishes, trusted_code=digest)
        self.dismiss()
        select_model(self._bridge, self._model)
        self._bridge.navigation.start_engine(dataclasses.replace(self._settings, server=server))
