"""Every icon is drawn, tinted, sharp at every scale, and follows the theme."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QPoint, QSize
from PySide6.QtGui import QIcon, QImage, QPainter
from PySide6.QtWidgets import QApplication

from kimi_desktop.base.assets import assets_folder
from kimi_desktop.base.settings import ThemeChoice
from kimi_desktop.ui import icons
from kimi_desktop.ui.navigation import PAGES
from kimi_desktop.ui.theme import Theme

NAMES = sorted(path.stem for path in (assets_folder() / "icons").glob("*.svg"))


def inked(image: QImage) -> int:
    return sum(
        image.pixelColor(x, y).alpha() > 100
        for x in range(image.width())
        for y in range(image.height())
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_icon_is_of_one_family(qapp: QApplication, name: str):
    root = ElementTree.parse(assets_folder() / "icons" / f"{name}.svg").getroot()
    assert root.get("viewBox") == "0 0 20 20"
    assert root.get("stroke-width") == "1.5"
    assert root.get("stroke") == "currentColor"
    assert root.get("fill") == "none"
    assert inked(icons.pixmap(name, 20, "#FF0000", 1.0).toImage()) > 0


def test_every_page_has_an_icon():
    assert set(PAGES) <= set(NAMES)


def test_the_tint_is_the_colour_asked_for(qapp: QApplication):
    image = icons.pixmap("stop", 20, "#00FF00", 4.0).toImage()
    assert image.size() == QSize(80, 80)
    edge = image.pixelColor(22, 40)
    assert (edge.red(), edge.green(), edge.blue()) == (0, 255, 0)
    assert image.pixelColor(40, 40).alpha() == 0


def test_small_icons_get_bolder_lines(qapp: QApplication):
    thin = inked(icons.pixmap("plus", 20, "#FFFFFF", 5.0).toImage()) / 100**2
    bold = inked(icons.pixmap("plus", 12, "#FFFFFF", 5.0).toImage()) / 60**2
    assert bold > thin * 1.2


def test_an_icon_follows_the_theme(qapp: QApplication):
    theme = Theme(qapp)
    found = icons.icon("copy")
    shades = []
    for choice in (ThemeChoice.DARK, ThemeChoice.LIGHT):
        theme.choose(choice)
        canvas = QImage(20, 20, QImage.Format.Format_ARGB32)
        canvas.fill(0)
        painter = QPainter(canvas)
        found.paint(painter, 0, 0, 20, 20)
        painter.end()
        shades.append(canvas)
    assert shades[0] != shades[1]
    assert inked(shades[0]) == inked(shades[1])
    copied = QIcon(found)
    assert not copied.pixmap(QSize(16, 16), QIcon.Mode.Disabled).isNull()
    theme.choose(ThemeChoice.DARK)


def test_an_unknown_icon_is_an_error_at_once(qapp: QApplication):
    with pytest.raises(FileNotFoundError):
        icons.icon("no-such-icon")


def test_painting_goes_where_it_should(qapp: QApplication):
    canvas = QImage(40, 40, QImage.Format.Format_ARGB32)
    canvas.fill(0)
    painter = QPainter(canvas)
    icons.paint(painter, "stop", QPoint(20, 20), 20, "#FFFFFF")
    painter.end()
    assert inked(canvas.copy(0, 0, 20, 20)) == 0
    assert inked(canvas.copy(20, 20, 20, 20)) > 0


def test_the_app_has_its_icon_and_mark(qapp: QApplication):
    assert not icons.app_icon().isNull()
    assert icons.logo(24, 2.0, "#2A313B").size() == QSize(48, 48)
