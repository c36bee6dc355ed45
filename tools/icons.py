"""Make the app icon's PNG, ICO and ICNS from ``assets/app/icon.svg``.

    python tools/icons.py            write them into assets/app
    python tools/icons.py --check    say whether the committed ones still come from the SVG

Below 24 px the strokes are drawn at 18 instead of 14, or they would fade. Needs Pillow, which
writes the two containers.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PIL import Image, ImageChops
from PySide6.QtCore import QBuffer, QByteArray, QIODevice
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

FOLDER = Path(__file__).resolve().parent.parent / "assets" / "app"
PNG_SIZES_PX = (16, 24, 32, 48, 64, 128, 256, 512)
ICO_SIZES_PX = (16, 24, 32, 48, 64, 128, 256)
ICNS_SIZES_PX = (16, 32, 64, 128, 256, 512, 1024)
SMALL_BELOW_PX = 24


def render(size_px: int) -> Image.Image:
    """The icon as RGBA, ``size_px`` square."""
    svg = (FOLDER / "icon.svg").read_text(encoding="utf-8")
    if size_px < SMALL_BELOW_PX:
        svg = svg.replace('stroke-width="14"', 'stroke-width="18"')
    image = QImage(size_px, size_px, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    painter = QPainter(image)
    QSvgRenderer(QByteArray(svg.encode())).render(painter)
    painter.end()
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")
    return Image.open(io.BytesIO(data.data())).convert("RGBA")


def build() -> dict[str, bytes]:
    """File name -> content of every icon file."""
    images = {size: render(size) for size in {*PNG_SIZES_PX, *ICO_SIZES_PX, *ICNS_SIZES_PX}}
    files = {f"icon-{size}.png": _save(images[size], "PNG") for size in PNG_SIZES_PX}
    files["icon.ico"] = _save(
        images[256],
        "ICO",
        sizes=[(size, size) for size in ICO_SIZES_PX],
        append_images=[images[size] for size in ICO_SIZES_PX if size != 256],
    )
    files["icon.icns"] = _save(
        images[1024],
        "ICNS",
        append_images=[images[size] for size in ICNS_SIZES_PX if size != 1024],
    )
    return files


def _save(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def _same_picture(one: bytes, other: bytes) -> bool:
    first, second = (Image.open(io.BytesIO(data)).convert("RGBA") for data in (one, other))
    return first.size == second.size and not ImageChops.difference(first, second).getbbox()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    app = QGuiApplication(sys.argv[:1])
    stale = []
    for name, content in build().items():
        file = FOLDER / name
        if not check:
            file.write_bytes(content)
        elif not file.exists() or not _same_picture(file.read_bytes(), content):
            stale.append(name)
    del app
    if stale:
        print("not made from icon.svg any more:", ", ".join(stale))
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
