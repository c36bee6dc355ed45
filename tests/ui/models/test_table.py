"""The library's table: order, filter, columns, mouse, keyboard, menu."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu

from kimi_desktop.ui.models.row_painter import action_places
from kimi_desktop.ui.models.rows import rows_of
from kimi_desktop.ui.models.table_header import LEAST_NAME, WIDTHS, hidden_columns
from kimi_desktop.ui.models.table_model import Column
from tests.support import scripted_data
from tests.ui.models.test_rows import companion


def lines(page) -> list[str]:
    """Name and quantization of every line."""
    rows = page.library.table.rows
    found = (rows.row_at(line) for line in range(rows.rowCount()))
    return [
        f"{rows.text(r, Column.NAME)} {rows.text(r, Column.QUANTIZATION)}".strip() for r in found
    ]


def click_header(page, qtbot, column: Column):
    head = page.library.table.header()
    x = head.sectionViewportPosition(column) + 20
    qtbot.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(x, 10))


def test_names_come_in_order_and_a_click_sorts_by_another_column(page, qtbot):
    assert lines(page)[0] == "Gemma 3 270M Q4_K_M"
    assert lines(page)[-1] == "notes"

    click_header(page, qtbot, Column.SIZE)
    assert lines(page)[0] == "notes"
    assert lines(page)[-1] == "Kimi K2.6 UD-Q8_K_XL"
    click_header(page, qtbot, Column.SIZE)
    assert lines(page)[0] == "Kimi K2.6 UD-Q8_K_XL"

    click_header(page, qtbot, Column.ACTIONS)
    assert lines(page)[0] == "Kimi K2.6 UD-Q8_K_XL"


@pytest.mark.parametrize("column", [c for c in Column if c is not Column.ACTIONS])
@pytest.mark.parametrize("descending", [False, True])
def test_companions_stay_at_the_end_in_every_order(page, services, tmp_path, column, descending):
    extra = companion(tmp_path / "aaa.gguf")
    services.models.set_models(extra, *services.models.models)
    page.library.table.sort_by(column, descending)
    assert lines(page)[-1] == "aaa"


def test_the_cursor_stays_on_its_model(page, services):
    table = page.library.table
    wanted = services.models.models[2]
    table.select(wanted.id)
    table.sort_by(Column.SIZE, True)
    assert table.current_row().model == wanted
    table.set_filter("kimi")
    assert table.current_row().model == wanted
    services.models.set_models(*reversed(services.models.models))
    assert table.current_row().model == wanted


def test_a_model_is_selected_as_soon_as_it_is_there(page, services, tmp_path):
    late = scripted_data.kimi_model(tmp_path / "late", "Q3_K_M", 450)
    page.library.table.select(late.id)
    services.models.set_models(*services.models.models, late)
    assert page.library.table.current_row().model == late


def test_the_filter_hides_and_says_when_nothing_is_left(page, qtbot):
    qtbot.keyClicks(page.library.filter, "q8")
    assert lines(page) == ["Kimi K2.6 UD-Q8_K_XL"]
    qtbot.keyClicks(page.library.filter, "x")
    assert lines(page) == []
    assert page.library.no_match.isVisible()
    assert page.library.no_match.sentence() == "No model matches “q8x”."
    assert not page.details.isVisible()

    qtbot.mouseClick(page.library.no_match.button, Qt.MouseButton.LeftButton)
    assert len(lines(page)) == 6
    assert page.library.table.isVisible()
    assert page.details.isVisible()


def test_columns_give_way_but_never_name_and_quantization():
    wide = sum(WIDTHS.values()) + LEAST_NAME
    assert hidden_columns(wide) == frozenset()
    assert hidden_columns(wide - 1) == {Column.ARCHITECTURE}
    assert hidden_columns(300) == {
        Column.ARCHITECTURE,
        Column.CONTEXT,
        Column.PARTS,
        Column.VERIFIED,
    }


def test_a_narrow_window_hides_columns(page):
    page.resize(904, 532)
    QApplication.processEvents()
    table = page.library.table
    assert table.isColumnHidden(Column.ARCHITECTURE)
    assert not table.isColumnHidden(Column.QUANTIZATION)
    page.resize(1800, 900)
    QApplication.processEvents()
    assert not table.isColumnHidden(Column.ARCHITECTURE)


def test_cells_say_what_ui_says(page, services):
    rows = page.library.table.rows
    kimi = services.models.models[1]
    row = rows.row_at(rows.line_of(kimi.id))
    texts = {column.name: rows.text(row, column) for column in Column}
    assert texts == {
        "NAME": "Kimi K2.6",
        "QUANTIZATION": "UD-Q4_K_XL",
        "PARTS": "14/14",
        "SIZE": "584 GB",
        "ARCHITECTURE": "deepseek2",
        "CONTEXT": "256K",
        "VERIFIED": "",
        "STATE": "Running",
        "ACTIONS": "",
    }


def test_a_screen_reader_hears_the_whole_row(page, services):
    table = page.library.table
    broken = services.models.models[5]
    index = table.rows.index(table.rows.line_of(broken.id), Column.NAME)
    spoken = index.data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken.startswith("notes, 1.2 MB, Damaged, ")
    assert "general.architecture" in spoken
    assert "general.architecture" in index.data(Qt.ItemDataRole.ToolTipRole)
    partial = services.models.models[4]
    index = table.rows.index(table.rows.line_of(partial.id), Column.NAME)
    assert "5 of 8 parts" in index.data(Qt.ItemDataRole.AccessibleTextRole)


def test_rows_with_a_problem_are_higher(page, services):
    table = page.library.table
    heights = {}
    for line in range(table.rows.rowCount()):
        index = table.rows.index(line, 0)
        heights[table.rows.row_at(line).model.id] = table.rowHeight(index)
    whole, broken = services.models.models[0], services.models.models[5]
    assert heights[broken.id] > heights[whole.id]
    assert table.content_height() == table.header().height() + sum(heights.values())


def click_action(page, qtbot, model_id: str, name: str):
    table = page.library.table
    index = table.rows.index(table.rows.line_of(model_id), Column.ACTIONS)
    places = dict(action_places(table.visualRect(index)))
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=places[name].center())


def test_the_icon_starts_a_model_and_the_body_only_selects(page, services, asked, qtbot):
    starter = services.models.models[3]
    table = page.library.table
    index = table.rows.index(table.rows.line_of(starter.id), Column.NAME)
    place = table.visualRect(index).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert table.current_row().model == starter
    assert not asked["start_wanted"]

    click_action(page, qtbot, starter.id, "play")
    assert [settings.model_path for settings in asked["start_wanted"]] == [starter.path]


def test_the_icon_of_a_wreck_does_nothing(page, services, asked, qtbot):
    click_action(page, qtbot, services.models.models[5].id, "play")
    assert not asked["start_wanted"]
    assert not asked["problem_met"]


def test_a_double_click_starts(page, services, asked, qtbot):
    starter = services.models.models[3]
    table = page.library.table
    index = table.rows.index(table.rows.line_of(starter.id), Column.NAME)
    place = table.visualRect(index).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    qtbot.mouseDClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert [settings.model_path for settings in asked["start_wanted"]] == [starter.path]


def test_arrows_move_and_enter_starts(page, services, asked, qtbot):
    table = page.library.table
    starter = services.models.models[3]
    table.setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(table, Qt.Key.Key_Home)
    assert table.current_row().model == starter
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert table.current_row().model != starter
    qtbot.keyClick(table, Qt.Key.Key_Up)
    qtbot.keyClick(table, Qt.Key.Key_Return)
    assert [settings.model_path for settings in asked["start_wanted"]] == [starter.path]


def texts_of(menu: QMenu) -> dict[str, bool]:
    return {action.text(): action.isEnabled() for action in menu.actions() if action.text()}


def test_the_menu_has_every_action_and_the_order(page, services):
    table = page.library.table
    starter, broken = services.models.models[3], services.models.models[5]
    menu = table.menu_for(table.rows.row_at(table.rows.line_of(starter.id)))
    assert texts_of(menu) == {
        "Start": True,
        "Open in Plan": True,
        "Show in folder": True,
        "Copy path": True,
        "Verify again": True,
        "Look for newer versions": True,
        "Move to another folder…": True,
        "Delete…": True,
        "Sort by": True,
    }
    wreck = table.menu_for(table.rows.row_at(table.rows.line_of(broken.id)))
    assert texts_of(wreck)["Start"] is False
    assert texts_of(wreck)["Copy path"] is True


# An offscreen platform says so whenever a menu pops up.
menus = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


@menus
def test_the_menu_key_opens_the_menu_and_sorting_works_from_there(page, qtbot):
    table = page.library.table
    table.setFocus()
    place = QPoint(5, 5)
    event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, place, table.mapToGlobal(place))
    QApplication.sendEvent(table.viewport(), event)
    (menu,) = [
        m
        for m in table.findChildren(QMenu, options=Qt.FindChildOption.FindDirectChildrenOnly)
        if m.isVisible()
    ]
    order = menu.actions()[-1].menu()
    (by_size,) = [action for action in order.actions() if action.text() == "Size"]
    by_size.trigger()
    menu.close()
    assert table.rows.sorting == (Column.SIZE, False)
    assert lines(page)[0] == "notes"


@menus
def test_more_opens_the_same_menu(page, services, qtbot):
    table = page.library.table
    click_action(page, qtbot, services.models.models[3].id, "more")
    shown = [menu for menu in table.findChildren(QMenu) if menu.isVisible()]
    assert len(shown) == 1
    shown[0].close()


def test_painting_covers_every_kind_of_row(page, services, tmp_path, qtbot):
    """Nothing to compare with: painting must not fail or warn, hovered or not."""
    services.models.set_models(*services.models.models, companion(tmp_path / "mmproj.gguf"))
    table = page.library.table
    table.setFocus(Qt.FocusReason.TabFocusReason)
    for line in range(table.rows.rowCount()):
        rect = table.visualRect(table.rows.index(line, Column.ACTIONS))
        qtbot.mouseMove(table.viewport(), rect.center())
        assert not table.grab().isNull()
    assert rows_of(services.models.models)
