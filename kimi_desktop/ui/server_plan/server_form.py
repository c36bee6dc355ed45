"""All that can be chosen of a server: preset, split, context, cache, budgets, parsers. Qt thread.

It shows what is planned and tells what the user does; it decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from kimi_desktop.backends.server_facts import FLAGS_OF, NO_PARSER, PARSER_PRESET
from kimi_desktop.backends.server_planner import ServerOffer
from kimi_desktop.base.units import GIB, format_count
from kimi_desktop.planner.vllm_presets import OfferedPreset
from kimi_desktop.planner.vllm_types import CacheFormat, ServerWishes
from kimi_desktop.ui.language import language
from kimi_desktop.ui.server_plan.planning import ServerPlanning
from kimi_desktop.ui.server_plan.split_fields import SplitFields, problem_words
from kimi_desktop.ui.widgets.field import Field, LabeledField
from kimi_desktop.ui.widgets.fold import Fold
from kimi_desktop.ui.widgets.label import Label, TextSize
from kimi_desktop.ui.widgets.legal_select import LegalItem, LegalSelect
from kimi_desktop.ui.widgets.number_field import NumberField
from kimi_desktop.ui.widgets.toggle import CheckBox

MOST_CONTEXT = 2**31 - 1
MOST_SEQUENCES = 65_536
MOST_OFFLOAD_GIB = 4_096
MOST_CACHE_GIB = 4_096
PERCENT = 100


class ServerForm(QWidget):
    """Its choices go to a ``ServerPlanning``, whose changes it shows."""

    def __init__(self, planning: ServerPlanning, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._planning = planning
        self.preset = LegalSelect()
        self.split = SplitFields()
        self.context = NumberField(1, MOST_CONTEXT)
        self.cache = LegalSelect()
        self.share = NumberField(1, PERCENT)
        self.sequences = NumberField(1, MOST_SEQUENCES)
        self.batched = NumberField(1, MOST_CONTEXT)
        self.offload = NumberField(0, MOST_OFFLOAD_GIB)
        self.cpu_cache = NumberField(1, MOST_CACHE_GIB)
        self.name = Field()
        self.tools, self.thoughts = LegalSelect(), LegalSelect()
        self.text_only, self.eager = CheckBox(), CheckBox()
        self.lacks = Label(tone="warn", size=TextSize.SMALL, wrap=True)
        self.fold = Fold()
        self._preset_field = LabeledField(self.preset)
        self._cache_field = LabeledField(self.cache)
        self._name_field = LabeledField(self.name)
        self._tools_field = LabeledField(self.tools)
        self._thoughts_field = LabeledField(self.thoughts)
        self._more = QWidget()
        self._arrange()
        self._connect()
        self.retranslate()

    def changeEvent(self, event: QEvent) -> None:
        """Words follow the language."""
        if event.type() is QEvent.Type.LanguageChange:
            self.retranslate()
        super().changeEvent(event)

    def show_plan(self) -> None:
        """Set every control, without telling."""
        planning = self._planning
        offer = planning.offer
        if planning.model is None:
            return
        wishes, special, facts = planning.wishes, planning.special, planning.facts
        on_cpu = planning.on_cpu
        self._show_preset(offer, wishes)
        choices = offer.choices if offer is not None and not on_cpu else None
        self.split.setVisible(choices is not None)
        if choices is not None:
            self.split.show_choices(choices, wishes.split, facts)
        self.context.show_number(wishes.context)
        self._show_cache(wishes)
        share = wishes.memory_share
        self.share.show_number(None if share is None else round(share * PERCENT))
        self.sequences.show_number(wishes.n_sequences)
        self.batched.show_number(wishes.n_batched_tokens)
        self.offload.show_number(wishes.offload_bytes // GIB or None)
        self.cpu_cache.show_number(special.cpu_cache_gib or None)
        if not self.name.hasFocus():
            self.name.setText(special.served_name)
        self._show_parsers(offer)
        self._show_switches(offer, wishes)
        self.share.setVisible(not on_cpu)
        self.offload.setVisible(not on_cpu)
        self.cpu_cache.setVisible(on_cpu)
        self._say_defaults(offer, on_cpu=on_cpu)
        lacks = facts.lacks if facts is not None else ()
        words = self.tr("{build} does not know what this model asks for: {flags}.")
        name = facts.name if facts is not None else ""
        self.lacks.setText(words.format(build=name, flags=", ".join(lacks)))
        self.lacks.setVisible(bool(lacks))

    def retranslate(self) -> None:
        """Set the words."""
        self._preset_field.set_label(self.tr("Preset"))
        self.split.retranslate()
        self._cache_field.set_label(self.tr("KV type"))
        self._name_field.set_label(self.tr("Served as"))
        self._tools_field.set_label(self.tr("Tool calls"))
        self._thoughts_field.set_label(self.tr("Thoughts"))
        self.text_only.setText(self.tr("Text only: the part that sees is not loaded"))
        self.eager.setText(self.tr("No CUDA graphs: starts sooner, decodes slower"))
        self.show_plan()

    # inside

    def _arrange(self) -> None:
        main, more = QGridLayout(), QGridLayout(self._more)
        top = Qt.AlignmentFlag.AlignTop
        for grid in (main, more):
            grid.setContentsMargins(0, 0, 0, 0)
            grid.setHorizontalSpacing(16)
            grid.setVerticalSpacing(12)
            grid.setColumnStretch(0, 1)
            grid.setColumnStretch(1, 1)
        fields: tuple[QWidget, ...] = (self.context, self._cache_field, self.share, self.sequences)
        for place, field in enumerate(fields):
            main.addWidget(field, place // 2, place % 2, top)
        main.addWidget(self.cpu_cache, 1, 0, top)
        folded: tuple[QWidget, ...] = (
            self.batched, self.offload, self._tools_field, self._thoughts_field, self._name_field,
        )  # fmt: skip
        for place, field in enumerate(folded):
            more.addWidget(field, place // 2, place % 2, top)
        more.addWidget(self.text_only, 3, 0, 1, 2)
        more.addWidget(self.eager, 4, 0, 1, 2)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(16)
        layout.addWidget(self.lacks)
        layout.addWidget(self._preset_field)
        layout.addWidget(self.split)
        layout.addLayout(main)
        layout.addWidget(self.fold)
        layout.addWidget(self._more)
        self._more.hide()
        self.lacks.hide()

    def _connect(self) -> None:
        plan = self._planning
        plan.changed.connect(self.show_plan)
        self.fold.toggled.connect(self._more.setVisible)
        self.preset.picked.connect(plan.take)
        self.split.chosen.connect(lambda split: plan.wish(split=split))
        self.context.taken.connect(lambda number: plan.wish(context=number))
        self.cache.picked.connect(self._on_cache)
        self.share.taken.connect(
            lambda n: plan.wish(memory_share=None if n is None else n / PERCENT)
        )
        self.sequences.taken.connect(lambda number: plan.wish(n_sequences=number))
        self.batched.taken.connect(lambda number: plan.wish(n_batched_tokens=number))
        self.offload.taken.connect(lambda number: plan.wish(offload_bytes=(number or 0) * GIB))
        self.cpu_cache.taken.connect(lambda number: plan.put(cpu_cache_gib=number or 0))
        self.name.editingFinished.connect(self._on_name)
        self.tools.picked.connect(lambda name: plan.put(tool_parser=name))
        self.thoughts.picked.connect(lambda name: plan.put(reasoning_parser=name))
        self.text_only.clicked.connect(lambda on: plan.wish(text_only=on))
        self.eager.clicked.connect(lambda on: plan.wish(eager=on))

    def _show_preset(self, offer: ServerOffer | None, wishes: ServerWishes) -> None:
        presets = offer.presets if offer is not None and not self._planning.on_cpu else ()
        self._preset_field.setVisible(bool(presets))
        if not presets:
            return
        free = ServerWishes(context=wishes.context, users=wishes.users)
        items = [LegalItem(self.tr("By the planner"), free)]
        items += [self._preset_item(each) for each in presets]
        values = [item.value for item in items]
        chosen = values.index(wishes) if wishes in values else len(items)
        if chosen == len(items):
            items.append(LegalItem(self.tr("Own choices"), wishes))
        self.preset.show_items(items, chosen)
        self._preset_field.set_note(items[chosen].tip)

    def _preset_item(self, offered: OfferedPreset) -> LegalItem:
        preset, now = offered.preset, language()
        return LegalItem(
            preset.title.text(now),
            offered.wishes,
            problem_words(offered.problem),
            preset.note.text(now),
        )

    def _show_cache(self, wishes: ServerWishes) -> None:
        facts = self._planning.facts
        why = ""
        if facts is not None and not facts.takes_fp8_cache:
            why = self.tr("{engine} does not take it.").format(engine=facts.name)
        items = (
            LegalItem(self.tr("Automatic (16 bits)"), ""),
            LegalItem("FP8", CacheFormat.FP8.value, why),
        )
        self.cache.show_items(items, 1 if wishes.cache is CacheFormat.FP8 else 0)

    def _show_parsers(self, offer: ServerOffer | None) -> None:
        special, facts = self._planning.special, self._planning.facts
        known = facts.tool_parsers if facts is not None else ()
        found = (offer.tool_parser, offer.reasoning_parser) if offer is not None else ("", "")
        self._show_parser(self.tools, special.tool_parser, found[0], known)
        self._show_parser(self.thoughts, special.reasoning_parser, found[1], ())

    def _show_parser(
        self, select: LegalSelect, now: str, automatic: str, known: Sequence[str]
    ) -> None:
        names = [*dict.fromkeys((PARSER_PRESET, *known, *([now] if now else ())))]
        names = [name for name in names if name != NO_PARSER]
        missing = self.tr("{engine} does not have it.").format(engine=self._planning.build)
        items = [
            LegalItem(
                self.tr("Automatic ({value})").format(value=automatic or self.tr("none")), ""
            ),
            LegalItem(self.tr("None"), NO_PARSER),
            *(LegalItem(n, n, missing if known and n not in known else "") for n in names),
        ]
        values = [item.value for item in items]
        select.show_items(items, values.index(now))

    def _show_switches(self, offer: ServerOffer | None, wishes: ServerWishes) -> None:
        facts = self._planning.facts
        unknown = facts.unknown if facts is not None else frozenset()
        sees = offer is not None and offer.model.config.has_vision
        self.text_only.setVisible(sees or wishes.text_only)
        for switch, key, on in (
            (self.text_only, "text_only", wishes.text_only),
            (self.eager, "eager", wishes.eager),
        ):
            switch.setChecked(on)
            missing = key in unknown
            switch.setEnabled(not missing or on)
            words = ""
            if missing and facts is not None:
                words = self.tr("{engine} has no {flag}.")
                words = words.format(engine=facts.name, flag=facts.names.get(key, FLAGS_OF[key]))
            switch.setToolTip(words)

    def _say_defaults(self, offer: ServerOffer | None, *, on_cpu: bool) -> None:
        """What an empty field means now."""
        plan = offer.plan if offer is not None and not on_cpu else None
        planned = plan.forecast.settings if plan is not None else None
        auto, value = self.tr("Automatic"), self.tr("Automatic ({value})")

        def words(number: int | None) -> str:
            return auto if not number else value.format(value=format_count(number))

        self.context.set_texts(
            self.tr("Longest context, tokens"), words(planned.context if planned else None)
        )
        share = planned.memory_share if planned is not None else None
        self.share.set_texts(
            self.tr("Share of each GPU, %"), words(round(share * PERCENT) if share else None)
        )
        self.sequences.set_texts(
            self.tr("Sequences at once"), words(planned.n_sequences if planned else None)
        )
        self.batched.set_texts(
            self.tr("Tokens of one step"), words(planned.n_batched_tokens if planned else None)
        )
        self.offload.set_texts(self.tr("Weights in RAM per GPU, GiB"), self.tr("None"))
        self.cpu_cache.set_texts(self.tr("KV cache in RAM, GiB"), auto)
        model = self._planning.model
        self.name.setPlaceholderText(model.path.name if model is not None else "")
        self._say_folded(offer)

    def _say_folded(self, offer: ServerOffer | None) -> None:
        """In short what is behind the fold."""
        wishes, special = self._planning.wishes, self._planning.special
        plan = offer.plan if offer is not None else None
        batched = plan.forecast.settings.n_batched_tokens if plan is not None else None
        found = offer.tool_parser if offer is not None else ""
        parts = []
        if batched := wishes.n_batched_tokens or batched:
            parts.append(self.tr("steps of {count} tokens").format(count=format_count(batched)))
        if wishes.offload_bytes:
            size = self.tr("{count} GiB in RAM").format(count=wishes.offload_bytes // GIB)
            parts.append(size)
        if (parser := special.tool_parser or found) and parser != NO_PARSER:
            parts.append(parser)
        if wishes.text_only:
            parts.append(self.tr("text only"))
        if wishes.eager:
            parts.append(self.tr("no CUDA graphs"))
        self.fold.set_texts(self.tr("Advanced"), " · ".join(parts))

    def _on_cache(self, value: str) -> None:
        self._planning.wish(cache=CacheFormat(value) if value else None)

    def _on_name(self) -> None:
        name = self.name.text().strip()
        if name != self._planning.special.served_name:
            self._planning.put(served_name=name)
