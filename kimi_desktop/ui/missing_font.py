"""Says once that no installed font can write Chinese, in words that can be read then. Qt thread."""

from __future__ import annotations

from kimi_desktop.base.messages import Language
from kimi_desktop.ui.language import language
from kimi_desktop.ui.notices import Notices
from kimi_desktop.ui.theme import has_chinese_font
from kimi_desktop.ui.widgets.message_bar import MessageBar


def warn_without_chinese_font(notices: Notices) -> None:
    """Chinese without such a font would be rows of boxes, and so would be a Chinese warning."""
    if language() is not Language.ZH_CN or has_chinese_font():
        return
    bar = MessageBar("warn")
    bar.show_message(
        "No installed font has Chinese characters: they show as boxes.",
        "Install one (Debian, Ubuntu: fonts-noto-cjk or fonts-wqy-microhei), or take English.",
    )
    notices.add(bar)
