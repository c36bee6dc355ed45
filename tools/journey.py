"""The app's journey in the terminal, for a machine without a display; then a picture of the window.

    python tools/journey.py [--lang en|zh_CN]

Machine and verdict, engine start, a streamed answer with tokens per second. It uses the user's own
profile, like the window would. The picture goes to ``.run/window.png``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from kimi_desktop.base.errors import KimiError
from kimi_desktop.base.logs import log_to_file
from kimi_desktop.base.messages import Language, describe_error, message, system_language
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.chat.terminal import TerminalChat
from kimi_desktop.core import Core
from kimi_desktop.machine.doctor import doctor
from kimi_desktop.planner.tiers import machine_verdict
from kimi_desktop.terminal import find_model, running_core

PICTURE = Path(__file__).resolve().parent.parent / ".run" / "window.png"
QUESTION = {Language.EN: "What is the capital of France?", Language.ZH_CN: "法国的首都是哪里？"}
PICTURE_WAIT_S = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lang", choices=[*Language])
    chosen = parser.parse_args().lang
    language = Language(chosen) if chosen else system_language()
    paths = AppPaths.default()
    try:
        paths.make()
        log_to_file(paths.logs)
        doctor(
            json_output=False,
            language=language,
            folders=[paths.data],
            out=sys.stdout,
            judge=machine_verdict,
        )
        print(flush=True)
        with running_core(paths, Language.EN) as core:
            return journey(core, paths, language)
    except KeyboardInterrupt:
        return 130
    except (KimiError, OSError) as error:
        print(*describe_error(error, language), sep="\n", file=sys.stderr)
        return 1


def journey(core: Core, paths: AppPaths, language: Language) -> int:
    model = find_model(core, None)
    if model.is_starter:
        print(message("cli.demo", language), flush=True)
    talk = TerminalChat(core.chats, core.engine, core.bus, language)
    try:
        talk.wait_until_ready(core.engine.start(core.engine.settings_for(model)), model.title)
    except KimiError:  # it has been said
        return 1
    print(f"\n> {QUESTION[language]}", flush=True)
    code = talk.run(QUESTION[language])
    if code == 0:
        print("\n" + picture(core, paths, language), flush=True)
    return code


def picture(core: Core, paths: AppPaths, language: Language) -> str:
    """The window, offscreen, over the running engine, after the same question there."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    try:
        from PySide6.QtCore import QTimer
        from PySide6.QtWidgets import QApplication

        from kimi_desktop.app import DesktopApp
        from kimi_desktop.ui.shell import Shell
    except ImportError as error:
        return message("cli.no_picture", language, detail=str(error))
    qt = QApplication(sys.argv[:1])
    shell = Shell(paths.config)
    app = DesktopApp(qt, core, shell)
    chat_id = core.chats.new_chat()
    app.window.show_page("chat")
    shell.show()
    core.chats.send(chat_id, QUESTION[language])
    deadline = time.monotonic() + PICTURE_WAIT_S

    def look() -> None:
        answered = core.chats.generating_chat is None and len(core.monitor.history(60)) >= 3
        if answered or time.monotonic() > deadline:
            PICTURE.parent.mkdir(exist_ok=True)
            shell.grab().save(str(PICTURE))
            qt.quit()

    timer = QTimer()
    timer.timeout.connect(look)
    timer.start(500)
    qt.exec()
    app.bridge.close()
    shell.hide()
    return message("cli.window_picture", language, path=str(PICTURE))


if __name__ == "__main__":
    raise SystemExit(main())
