"""Verify again from the library, and importing what other programs have."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QFileDialog

from kimi_desktop.base.errors import DownloadError, ErrorCode
from kimi_desktop.downloads.imports.types import LinkKind, Outcome
from kimi_desktop.downloads.verify.types import PartState, PartVerdict, VerifyReport
from kimi_desktop.models.hash_record import Witness
from kimi_desktop.ui.models.import_sheet import ImportSheet
from kimi_desktop.ui.models.library_table import RowAction
from tests.support.scripted_imports import FOUND

GB = 10**9
MIB = 2**20


@pytest.fixture
def model(page, services):
    chosen = services.models.models[0]
    page.library.table.select(chosen.id)
    return chosen


def click(qtbot, widget) -> None:
    QApplication.processEvents()
    qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)


# verify


def test_verified_with_progress_and_cancel(page, services, model, qtbot):
    services.desk.hold.add("verify.verify")
    click(qtbot, page.details.verify)
    assert services.desk.calls[-1] == ("verify.verify", (model.path,))
    key = f"verify {model.id}"
    card = page.library.tasks.card(key)
    assert card.progress.title().startswith("Verifying Kimi K2.6 UD-Q2_K_XL")
    services.verify.progress(model.path, 85 * GB, 340 * GB)
    assert card.progress.facts().startswith("85.0 GB of 340 GB (25%)")
    services.verify.progress(Path("/other"), 1, 2)  # somebody else's
    page.act(RowAction.VERIFY, model)  # once is enough
    assert services.desk.called("verify.verify") == 1
    click(qtbot, card.progress.cancel_button)
    qtbot.waitUntil(lambda: page.library.tasks.card(key) is None)


def test_what_is_right_is_told_and_dated(page, services, asked, model, qtbot):
    page.act(RowAction.VERIFY, model)
    qtbot.waitUntil(lambda: bool(asked["note_made"]))
    assert asked["note_made"][0].startswith("Kimi K2.6 UD-Q2_K_XL: ")
    assert services.desk.called("models.scan") == 1
    qtbot.waitUntil(page.library.refresh.isEnabled)


def test_what_nobody_vouches_for_says_so(page, services, asked, model, qtbot):
    part = PartVerdict("m.gguf", PartState.UNPROVEN, GB, GB, sha256="c" * 64)
    services.verify.report = VerifyReport("/m", (part,), GB, 1.0)
    page.act(RowAction.VERIFY, model)
    qtbot.waitUntil(lambda: bool(asked["note_made"]))
    assert "Nothing says what the file should be" in asked["note_made"][0]


@pytest.fixture
def bad(page, services, model, qtbot):
    """A report card of a model with a bad range and a swapped part."""
    good = PartVerdict("a.gguf", PartState.OK, GB, GB, witness=Witness.LISTING)
    altered = PartVerdict(
        "b.gguf", PartState.ALTERED, GB, GB, bad_ranges=((0, 16 * MIB), (64 * MIB, 80 * MIB))
    )
    swapped = PartVerdict("c.gguf", PartState.SWAPPED, GB, GB, other="d.gguf")
    services.verify.report = VerifyReport("/m", (good, altered, swapped), 3 * GB, 1.0)
    page.act(RowAction.VERIFY, model)
    key = f"verify {model.id}"
    qtbot.waitUntil(lambda: page.library.tasks.report(key) is not None)
    return page.library.tasks.report(key)


def test_bad_parts_are_named(bad, qtbot):
    assert bad.heading.text() == ("Kimi K2.6 UD-Q2_K_XL: 2 of 3 files are not as they should be")
    assert [line.text() for line in bad.lines] == [
        "b.gguf: altered. 34 MB must be fetched again.",
        "c.gguf: this is d.gguf under a wrong name.",
    ]
    click(qtbot, bad.copy_button)
    assert "b.gguf" in QGuiApplication.clipboard().text()


def repair_button(bad):
    return bad._buttons.itemAt(0).widget()


def test_repair_fetches_what_is_bad(page, services, bad, offered, bridge, model, qtbot):
    button = repair_button(bad)
    assert button.text() == "Repair, fetch 34 MB"
    click(qtbot, button)
    qtbot.waitUntil(lambda: services.desk.called("verify.repair") == 1)
    qtbot.waitUntil(lambda: page.library.tasks.report(f"verify {model.id}") is None)


def test_a_repair_that_cannot_be_says_why(page, services, bad, qtbot):
    services.desk.hold.add("verify.repair")
    click(qtbot, repair_button(bad))
    services.desk.fail("verify.repair", DownloadError(ErrorCode.DOWNLOAD_NO_REPAIR, {"file": "b"}))
    qtbot.waitUntil(bad.failure.isVisible)


def test_the_report_is_closed(page, bad, model, qtbot):
    click(qtbot, bad.close_button)
    assert page.library.tasks.report(f"verify {model.id}") is None
    assert not page.library.tasks.isVisible()


def test_a_verification_that_fails_stays_in_place(page, services, model, qtbot):
    services.desk.hold.add("verify.verify")
    page.act(RowAction.VERIFY, model)
    services.desk.fail("verify.verify", DownloadError(ErrorCode.IMPORT_NOT_THERE, {"path": "/m"}))
    card = page.library.tasks.card(f"verify {model.id}")
    qtbot.waitUntil(card.failure.isVisible)


# import


@pytest.fixture
def sheet(page, overlays, qtbot) -> ImportSheet:
    click(qtbot, page.import_button)
    qtbot.waitUntil(lambda: len(overlays[0].rows) == 3)
    return overlays[0]


def test_what_is_here_is_listed_with_whose_it_is(sheet):
    first = sheet.rows[0]
    assert first.box.text() == "unsloth/Kimi-K2.6-GGUF"
    assert first.where.full_text().startswith("Hugging Face cache · /home/ada/.cache")
    assert first.size_label.text() == "584 GB"
    assert not sheet.import_button.isEnabled()
    first.box.setChecked(True)
    sheet.rows[2].box.setChecked(True)
    assert sheet.import_button.text() == "Import 2, 589 GB"


def test_imported_with_progress_and_a_report(page, services, sheet, qtbot):
    services.desk.hold.add("imports.run")
    sheet.rows[1].box.setChecked(True)
    click(qtbot, sheet.import_button)
    assert services.desk.calls[-1] == ("imports.run", ((FOUND[1],),))
    card = page.library.tasks.card("import")
    assert "lmstudio-community/Kimi-Dev-72B-GGUF: 47.4 GB are read" in card.progress.title()
    services.imports.progress(10 * GB, 47 * GB)
    assert card.progress.facts().startswith("10.0 GB of 47.0 GB")
    services.desk.release("imports.run")
    qtbot.waitUntil(lambda: page.library.tasks.report("import") is not None)
    report = page.library.tasks.report("import")
    assert report.heading.text() == "Imported, nothing copied"
    assert "second names of the originals" in report.lines[0].text()


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (LinkKind.CLONE, "share their blocks"),
        (LinkKind.SYMBOLIC_LINK, "gone when the other program removes them"),
    ],
)
def test_how_it_was_linked(page, services, sheet, qtbot, link, words):
    services.imports.link = link
    sheet.rows[0].box.setChecked(True)
    click(qtbot, sheet.import_button)
    qtbot.waitUntil(lambda: page.library.tasks.report("import") is not None)
    assert words in page.library.tasks.report("import").lines[0].text()


def test_a_damaged_file_is_named(page, services, sheet, qtbot):
    services.imports.outcome, services.imports.link = Outcome.DAMAGED, None
    sheet.rows[0].box.setChecked(True)
    sheet.rows[1].box.setChecked(True)
    click(qtbot, sheet.import_button)
    qtbot.waitUntil(lambda: page.library.tasks.report("import") is not None)
    report = page.library.tasks.report("import")
    assert "2 of 2 models have a problem" in report.heading.text()
    assert any(line.text().startswith("m.gguf: damaged.") for line in report.lines)


def test_any_folder(page, services, sheet, qtbot, monkeypatch):
    services.imports.found = FOUND[:1]
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_args: "/data/models")
    click(qtbot, sheet.other)
    qtbot.waitUntil(lambda: len(sheet.rows) == 1)
    assert services.desk.calls[-1] == ("imports.find", (Path("/data/models"),))
    assert sheet.rows[0].box.isChecked()  # the only one is meant
    services.imports.error = DownloadError(ErrorCode.IMPORT_NOTHING, {"path": "/data/models"})
    click(qtbot, sheet.other)
    qtbot.waitUntil(sheet.failure.isVisible)
    assert "holds no model" in sheet.failure.text()
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_args: "")
    click(qtbot, sheet.other)
    assert services.desk.called("imports.find") == 3
    sheet.dismiss()


def test_nothing_is_here(page, services, overlays, qtbot):
    services.imports.found = ()
    click(qtbot, page.import_button)
    qtbot.waitUntil(lambda: "hold no model" in overlays[0].status.text())
    assert not overlays[0].import_button.isEnabled()
    overlays[0].dismiss()
