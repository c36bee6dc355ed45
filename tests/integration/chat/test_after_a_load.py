"""What the app looks at after a load, as it is wired: the engine's log and a first answer."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kimi_desktop.backends.read_back import read_loaded
from kimi_desktop.backends.types import EngineOptions, LoadRemarked, LoadSettings
from kimi_desktop.base.errors import ErrorCode
from kimi_desktop.base.paths import AppPaths
from kimi_desktop.core import Core
from tests.support.engine_bench import wait_until
from tests.support.engine_programs import short_folder
from tests.support.heard import WAIT_S, Heard

pytestmark = pytest.mark.skipif("sys.platform == 'win32'", reason="signals")

CONTEXT = 2048


@pytest.fixture
def home() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


@pytest.fixture
def core(home: Path) -> Iterator[Core]:
    made = Core(AppPaths.under(home))
    made.start()
    yield made
    made.close()


@pytest.fixture
def load(core: Core, home: Path, tiny_kimi: Path) -> LoadSettings:
    folder = home / "models"
    folder.mkdir()
    shutil.copy(tiny_kimi, folder)
    (model,) = core.models.add_folder(folder).result(WAIT_S)
    return dataclasses.replace(core.engine.settings_for(model), context=CONTEXT, n_threads=1)


def test_a_good_load_is_asked_and_nothing_is_said(core: Core, load: LoadSettings) -> None:
    heard = Heard(core.bus)
    core.engine.start(load).result(WAIT_S)
    wait_until(lambda: "eval time" in core.engine.log_text())
    loaded = read_loaded(core.engine.log_text().splitlines())
    assert loaded.context == CONTEXT
    assert loaded.buffers["CPU_Mapped"] > 0
    assert loaded.gpu_bytes == ()
    core.close()
    assert heard.all(LoadRemarked) == []


def test_a_template_that_does_not_fit_is_told(core: Core, load: LoadSettings, home: Path) -> None:
    heard = Heard(core.bus)
    template = home / "wrong 模板.jinja"
    template.write_text("1", encoding="utf-8")
    wrong = EngineOptions(template_file=str(template))
    core.engine.start(dataclasses.replace(load, options=wrong)).result(WAIT_S)
    (remark,) = heard.wait(LoadRemarked).remarks
    assert remark.code is ErrorCode.ENGINE_FIRST_EMPTY


def test_a_log_that_differs_from_the_plan_is_told(
    core: Core, load: LoadSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard = Heard(core.bus)
    real = core.engine.log_text
    monkeypatch.setattr(
        core.engine, "log_text", lambda: real().replace(f"= {CONTEXT}\n", f"= {CONTEXT // 4}\n")
    )
    core.engine.start(load).result(WAIT_S)
    (remark,) = heard.wait(LoadRemarked).remarks
    assert remark.code is ErrorCode.ENGINE_LOADED_CONTEXT
    assert remark.params == {"loaded": CONTEXT // 4, "planned": CONTEXT}
