"""Settings for a model that is started from a terminal: what was chosen, and what was typed."""

from __future__ import annotations

import dataclasses
import sys

from kimi_desktop.backends.model_code import code_of
from kimi_desktop.backends.types import LoadSettings, VllmSettings
from kimi_desktop.base.messages import Language, message
from kimi_desktop.base.terminal import printable
from kimi_desktop.models.types import LocalModel


def settings_to_start(
    chosen: LoadSettings,
    model: LocalModel,
    language: Language,
    *,
    context: int | None = None,
    trusts_code: bool = False,
    shut_in: bool = False,
) -> LoadSettings:
    """The engine's settings for the model, and for a Hugging Face folder what was typed.

    Args:
        chosen: what was last chosen for the model, else planned.
        model: of the library.
        language: of the line that names each file of the model's own.
        context: of the longest sequence of a folder; None = as chosen.
        trusts_code: its own Python files may run, just as they are now.
        shut_in: they run in a sandbox; False = as chosen.

    Raises:
        ModelError: a file of them cannot be read.
    """
    if not model.is_served:
        return chosen
    special = chosen.server or VllmSettings()
    if context is not None:
        wishes = dataclasses.replace(special.wishes, context=context)
        special = dataclasses.replace(special, wishes=wishes)
    if trusts_code:
        code = code_of(model.path)
        for file in code.files:
            text = message("cli.code_allowed", language, sha256=file.sha256, file=file.name)
            sys.stderr.write(printable(text) + "\n")
        special = dataclasses.replace(special, trusted_code=code.digest)
    if shut_in:
        special = dataclasses.replace(special, sandbox=True)
    return dataclasses.replace(chosen, server=special)
