"""Deleting, undoing and moving models, and the chats that a model answered in."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QFileDialog

from kimi_desktop.backends.types import EngineState
from kimi_desktop.base.errors import ErrorCode, ModelError
from kimi_desktop.ui.models.library_table import RowAction
from kimi_desktop.ui.widgets.button import ButtonKind


@pytest.fixture
def model(page, services):
    """Kimi K2.6 in two bits; the one in four is loaded."""
    chosen = services.models.models[0]
    page.library.table.select(chosen.id)
    return chosen


def click(qtbot, widget) -> None:
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)


# delete


def test_delete_says_what_goes_and_what_it_frees(page, services, overlays, model, qtbot):
    services.desk.hold.add("keeper.look_at_removal")
    click(qtbot, page.details.remove)
    (sheet,) = overlays
    assert sheet.heading.text() == "Move Kimi K2.6 UD-Q2_K_XL to the trash?"
    assert sheet.detail.text() == "Looking at its files"
    assert not sheet.confirm_button.isEnabled()
    services.desk.release("keeper.look_at_removal")
    qtbot.waitUntil(sheet.confirm_button.isEnabled)
    assert sheet.detail.text() == ("14 files, 340 GB. It frees 340 GB when the trash is emptied.")
    assert sheet.confirm_button.kind is ButtonKind.DANGER
    qtbot.keyClick(sheet, Qt.Key.Key_Escape)
    assert services.desk.called("keeper.remove") == 0


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "It frees no space"),
        (0.5, "It frees 170 GB when the trash is emptied; the rest belongs to another program"),
    ],
)
def test_links_free_less(page, services, overlays, model, qtbot, share, words):
    services.keeper.freed_share = share
    page.act(RowAction.REMOVE, model)
    qtbot.waitUntil(lambda: words in overlays[0].detail.text())


def test_its_chats_stay(page, services, overlays, model, qtbot):
    services.chats.answered[model.id] = tuple(chat.id for chat in services.chats.chats()[:2])
    page.act(RowAction.REMOVE, model)
    qtbot.waitUntil(lambda: "It answered in 2 chats. They stay." in overlays[0].more.text())


def test_deleted_and_undone(page, services, overlays, offered, asked, model, qtbot):
    page.act(RowAction.REMOVE, model)
    qtbot.waitUntil(overlays[0].confirm_button.isEnabled)
    click(qtbot, overlays[0].confirm_button)
    qtbot.waitUntil(lambda: len(offered) == 1)
    text, action, undo = offered[0]
    assert (text, action) == ("Kimi K2.6 is in the trash.", "Undo")
    assert page.library.table.rows.line_of(model.id) == -1
    undo()
    qtbot.waitUntil(lambda: asked["note_made"] == ["Kimi K2.6 is back."])
    (removed,) = next(a for name, a in services.desk.calls if name == "keeper.restore")
    assert removed.removal.model_id == model.id
    services.models.set_models(*services.models.models, model)
    assert page.library.table.current_row().model == model


def test_without_a_trash_the_other_way_is_offered_and_not_taken(
    page, services, overlays, asked, model, qtbot
):
    services.keeper.error = ModelError(
        ErrorCode.MODEL_NO_TRASH, {"path": "/net/m.gguf", "detail": "no trash"}
    )
    page.act(RowAction.REMOVE, model)
    sheet = overlays[0]
    qtbot.waitUntil(sheet.confirm_button.isEnabled)
    click(qtbot, sheet.confirm_button)
    qtbot.waitUntil(sheet.failure.isVisible)
    assert "/net/m.gguf" in sheet.failure.text()
    assert sheet.heading.text() == "Delete Kimi K2.6 UD-Q2_K_XL for good?"
    assert sheet.detail.text() == "14 files, 340 GB. It frees 340 GB at once."
    assert sheet.cancel_button.hasFocus()
    assert services.desk.called("keeper.remove_for_good") == 0
    click(qtbot, sheet.confirm_button)
    qtbot.waitUntil(lambda: asked["note_made"] == ["Kimi K2.6 is deleted; 340 GB are free again."])


def test_what_is_loaded_cannot_go(page, services, qtbot):
    loaded = services.models.models[1]
    page.library.table.select(loaded.id)
    assert not page.details.remove.isEnabled()
    assert not page.details.move_button.isEnabled()
    services.engine.set_state(EngineState.STOPPED)
    assert page.details.remove.isEnabled()


def test_the_delete_key_asks(page, services, overlays, model, qtbot):
    page.library.table.setFocus()
    qtbot.keyClick(page.library.table, Qt.Key.Key_Delete)
    assert len(overlays) == 1
    overlays[0].dismiss()
    page.library.table.select(services.models.models[1].id)
    qtbot.keyClick(page.library.table, Qt.Key.Key_Delete)
    assert len(overlays) == 1


# move


def test_places_to_move_to(page, services, overlays, model, qtbot):
    click(qtbot, page.details.move_button)
    (sheet,) = overlays
    qtbot.waitUntil(lambda: len(sheet.cards) == 3)
    archive, old, stick = sheet.cards
    assert archive.isChecked()
    assert archive.accessibleName() == "/mnt/archive/models"
    assert "7.41 TB free" in archive.accessibleDescription()
    assert "nothing is copied" in old.accessibleDescription()
    assert not stick.isEnabled()
    assert "Not enough space" in stick.accessibleDescription()
    assert sheet.note.isVisible()
    old.setChecked(True)
    assert not sheet.note.isVisible()
    qtbot.keyClick(sheet, Qt.Key.Key_Escape)


def test_moved_with_progress(page, services, overlays, asked, model, qtbot):
    services.desk.hold.add("keeper.move")
    page.act(RowAction.MOVE, model)
    qtbot.waitUntil(overlays[0].move_button.isEnabled)
    click(qtbot, overlays[0].move_button)
    folder = Path("/mnt/archive/models")
    assert services.desk.calls[-1] == ("keeper.move", (model.id, folder))
    card = page.library.tasks.card(f"move {model.id}")
    assert "Moving Kimi K2.6 UD-Q2_K_XL to /mnt/archive/models" in card.progress.title()
    services.keeper.progress(model, 100 * 10**9, 70 * 10**9)
    assert card.progress.facts().startswith("85.0 GB of 340 GB (25%)")
    services.desk.release("keeper.move")
    qtbot.waitUntil(lambda: page.library.tasks.card(f"move {model.id}") is None)
    assert "every byte compared" in asked["note_made"][0]
    assert not page.library.tasks.isVisible()


def test_a_move_can_be_cancelled(page, services, overlays, model, qtbot):
    services.desk.hold.add("keeper.move")
    page.act(RowAction.MOVE, model)
    qtbot.waitUntil(overlays[0].move_button.isEnabled)
    click(qtbot, overlays[0].move_button)
    card = page.library.tasks.card(f"move {model.id}")
    click(qtbot, card.progress.cancel_button)
    qtbot.waitUntil(lambda: page.library.tasks.card(f"move {model.id}") is None)


def test_a_move_that_fails_says_so_in_place(page, services, overlays, model, qtbot):
    services.desk.hold.add("keeper.move")
    page.act(RowAction.MOVE, model)
    qtbot.waitUntil(overlays[0].move_button.isEnabled)
    click(qtbot, overlays[0].move_button)
    error = ModelError(ErrorCode.MODEL_MOVE_MISMATCH, {"path": "/mnt/x", "file": "a.gguf"})
    services.desk.fail("keeper.move", error)
    card = page.library.tasks.card(f"move {model.id}")
    qtbot.waitUntil(card.failure.isVisible)
    assert "does not give back what was written" in card.failure.text()
    click(qtbot, card.close_button)
    assert page.library.tasks.card(f"move {model.id}") is None


def test_any_other_folder(page, services, overlays, model, qtbot, monkeypatch):
    page.act(RowAction.MOVE, model)
    sheet = overlays[0]
    qtbot.waitUntil(lambda: len(sheet.cards) == 3)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_args: "/data/new")
    click(qtbot, sheet.other)
    qtbot.waitUntil(lambda: len(sheet.cards) == 4)
    assert sheet.chosen().folder == Path("/data/new")
    click(qtbot, sheet.other)  # the same again
    QApplication.processEvents()
    assert len(sheet.cards) == 4
    services.keeper.error = ModelError(
        ErrorCode.MODEL_NOT_MOVED, {"path": "/data/new", "detail": "gone"}
    )
    click(qtbot, sheet.other)
    qtbot.waitUntil(sheet.failure.isVisible)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_args: "")
    click(qtbot, sheet.other)
    assert services.desk.called("keeper.look_at_place") == 3
    sheet.dismiss()


# chats


def test_the_chats_of_a_model_are_listed_and_opened(page, services, bridge, model, qtbot):
    chats = services.chats.chats()
    assert not page.details.chats.isVisible()
    services.chats.answered[model.id] = tuple(chat.id for chat in chats)
    services.chats.rename(chats[0].id, "Renamed")
    assert page.details.chats.titles() == [
        chat.title for chat in services.chats.chats_of(model.id)[:3]
    ]
    assert "Renamed" in page.details.chats.titles()
    opened = []
    bridge.navigation.chat_wanted.connect(opened.append)
    click(qtbot, page.details.chats.row(1))
    assert opened == [services.chats.chats_of(model.id)[1].id]
    page.library.table.select(services.models.models[2].id)
    assert not page.details.chats.isVisible()
