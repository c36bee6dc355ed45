"""The one style sheet: only what Qt draws itself. Our own controls paint from the tokens."""

from __future__ import annotations

from kimi_desktop.ui.tokens import Tokens

TONES = ("muted", "accent", "ok", "warn", "bad")
"""Values of a label's ``tone`` property besides the default text colour."""

_TEMPLATE = """
QToolTip {{
  background: {raised}; color: {text}; border: 1px solid {control}; padding: 4px 8px;
}}
QMenu {{
  background: {panel}; color: {text}; border: 1px solid {control}; padding: 4px;
}}
QMenu::item {{ padding: 6px 24px 6px 12px; border-radius: 4px; }}
QMenu::item:selected {{ background: {hover}; }}
QMenu::item:disabled {{ color: {muted}; }}
QMenu::separator {{ height: 1px; background: {line}; margin: 4px 8px; }}
QMenu::icon {{ padding-left: 8px; }}

QLineEdit {{
  background: {window}; color: {text}; border: 1px solid {control}; border-radius: 8px;
  padding: 0 7px; min-height: 30px; max-height: 30px;
  selection-background-color: {accent}; selection-color: {on_accent};
}}
QLineEdit:hover {{ border-color: {text}; }}
QLineEdit:focus {{
  border: 2px solid {accent}; padding: 0 6px; min-height: 28px; max-height: 28px;
}}
QLineEdit:disabled {{ border-color: {line}; color: {muted}; }}
QLineEdit[failed="true"] {{
  border: 2px solid {bad}; padding: 0 6px; min-height: 28px; max-height: 28px;
}}
QLineEdit[small="true"] {{
  border-radius: 6px; min-height: 22px; max-height: 22px; padding: 0 5px;
}}
QLineEdit[small="true"]:focus, QLineEdit[small="true"][failed="true"] {{
  min-height: 20px; max-height: 20px; padding: 0 4px;
}}

QPlainTextEdit, QTextEdit {{
  background: {code}; color: {text}; border: 1px solid {control}; border-radius: 8px; padding: 4px;
  selection-background-color: {accent}; selection-color: {on_accent};
}}
QPlainTextEdit:focus, QTextEdit:focus {{ border: 2px solid {accent}; padding: 3px; }}
QTextBrowser {{
  background: transparent; border: 0; padding: 0;
  selection-background-color: {accent}; selection-color: {on_accent};
}}
QTextBrowser:focus {{ border: 0; padding: 0; }}

QAbstractItemView {{
  background: {panel}; color: {text}; border: 1px solid {control}; outline: 0;
  selection-background-color: {hover}; selection-color: {text};
}}
QComboBox QAbstractItemView {{ padding: 4px; }}
QComboBox QAbstractItemView::item {{ min-height: 28px; padding: 0 8px; border-radius: 4px; }}
QComboBox QAbstractItemView::item:selected {{ background: {hover}; color: {text}; }}

QHeaderView::section {{
  background: {panel}; color: {muted}; border: 0; border-bottom: 1px solid {line}; padding: 0 4px;
}}
QScrollArea, QAbstractScrollArea[bare="true"] {{ background: transparent; border: 0; }}
QScrollBar:vertical {{ background: transparent; width: 12px; margin: 0; }}
QScrollBar:horizontal {{ background: transparent; height: 12px; margin: 0; }}
QScrollBar::handle {{ background: {control}; border-radius: 3px; }}
QScrollBar::handle:vertical {{ min-height: 32px; margin: 2px 3px; }}
QScrollBar::handle:horizontal {{ min-width: 32px; margin: 3px 2px; }}
QScrollBar::handle:hover, QScrollBar::handle:pressed {{ background: {muted}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
"""


def style_sheet(t: Tokens) -> str:
    """The style sheet of a theme."""
    names = (
        *("window", "panel", "raised", "line", "control", "text", "muted", "accent"),
        *("on_accent", "hover", "bad", "code"),
    )
    filled = _TEMPLATE.format(**{name: getattr(t, name) for name in names})
    tones = "\n".join(f'QLabel[tone="{tone}"] {{ color: {getattr(t, tone)}; }}' for tone in TONES)
    return filled + tones
