"""What the engine is told besides the placement: reachable, kept, on the command line, checked."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QFileDialog

from kimi_desktop.backends.types import EngineOptions
from kimi_desktop.base.errors import BackendError, ErrorCode


@pytest.fixture
def options(qtbot, page):
    qtbot.mouseClick(page.choices.options.fold, Qt.MouseButton.LeftButton)
    QApplication.processEvents()
    return page.choices.options


def pick(select, key) -> None:
    select.choose(key)
    select.activated.emit(select.currentIndex())


def test_every_option_reaches_the_settings_that_start(qtbot, page, options, services, tmp_path):
    files = {name: tmp_path / f"{name} 图.gguf" for name in ("projector", "lora", "draft")}
    files["template"] = tmp_path / "t.jinja"
    for file in files.values():
        file.write_bytes(b"")
    pick(options.flash, "on")
    pick(options.numa, "isolate")
    pick(options.speculation, "draft-simple")
    QApplication.processEvents()
    assert options.draft.isVisible()
    pick(options.draft_tokens, 8)
    for field, file in (
        (options.projector, files["projector"]),
        (options.template, files["template"]),
        (options.lora, files["lora"]),
        (options.draft, files["draft"]),
    ):
        field.field.setText(str(file))
        field.field.editingFinished.emit()
    options.extra.setText("--cache-reuse 256")
    options.extra.editingFinished.emit()
    wanted = EngineOptions(
        "on",
        "isolate",
        str(files["projector"]),
        str(files["template"]),
        str(files["lora"]),
        "draft-simple",
        str(files["draft"]),
        8,
        "--cache-reuse 256",
    )
    model = page.planning.model
    assert services.plans.options(model) == wanted
    qtbot.waitUntil(lambda: page.planning.settings.options == wanted)
    assert services.store.settings.engine.options[model.id]["draft_tokens"] == 8
    assert "guesses ahead" in options.fold.summary()


def test_manual_settings_take_them_along(qtbot, page, options):
    page.planning.set_manual()
    pick(options.flash, "off")
    assert page.planning.choices.settings.options.flash_attention == "off"


def test_a_search_that_runs_already_does_not_bring_older_ones(qtbot, page, options, services):
    page.planning.begin(page.planning.model, ())  # a search begins
    pick(options.flash, "on")
    pick(options.flash, "")
    pick(options.flash, "off")
    qtbot.waitUntil(lambda: not page.planning._search.is_busy)
    QApplication.processEvents()
    assert page.planning.settings.options == EngineOptions(flash_attention="off")


def test_defaults_leave_nothing_in_the_settings(options, page, services):
    pick(options.flash, "on")
    pick(options.flash, "")
    assert page.planning.model.id not in services.store.settings.engine.options


def test_what_the_engine_would_refuse_is_said_at_the_field(qtbot, page, options, services):
    params = {"flag": "-c", "other": "-c 8192"}
    services.engine.problem = BackendError(ErrorCode.ENGINE_FLAG_CONFLICT, params)
    options.extra.setText("-c 4096")
    options.extra.editingFinished.emit()
    qtbot.waitUntil(lambda: options.extra.failed)
    assert "-c conflicts with -c 8192" in options.extra.accessibleDescription()
    services.engine.problem = None
    options.extra.setText("")
    options.extra.editingFinished.emit()
    qtbot.waitUntil(lambda: not options.extra.failed)


def test_a_file_is_chosen_and_a_missing_one_is_marked(qtbot, options, page, tmp_path, monkeypatch):
    file = tmp_path / "mmproj.gguf"
    file.write_bytes(b"")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_a: (str(file), ""))
    options.projector.button.click()
    qtbot.waitUntil(lambda: page.planning.settings.options.projector == str(file))
    assert not options.projector.field.failed
    options.projector.field.setText(str(tmp_path / "gone.gguf"))
    options.projector.field.editingFinished.emit()
    assert options.projector.field.failed


def test_options_belong_to_a_model(qtbot, page, options, services):
    pick(options.flash, "on")
    others = [m for m in services.models.models if m.is_startable and m != page.planning.model]
    page.planning.begin(others[0], ())
    assert services.plans.options(others[0]) == EngineOptions()
    qtbot.waitUntil(lambda: page.choices.options.flash.currentData() == "")


def test_settings_that_nobody_understands_are_passed_over(page, services):
    model = page.planning.model
    services.store.update(
        lambda s: dataclasses.replace(
            s,
            engine=dataclasses.replace(
                s.engine, options={model.id: {"flash_attention": "maybe", "draft_tokens": "x"}}
            ),
        )
    )
    assert services.plans.options(model) == EngineOptions()
