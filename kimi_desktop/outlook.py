"""What is expected of a run before it begins, and what it teaches afterwards. Any thread."""

from __future__ import annotations

import contextlib

from kimi_desktop.backends.learned import LearnedSpeeds
from kimi_desktop.backends.load_planner import LoadPlanner
from kimi_desktop.backends.types import LoadSettings
from kimi_desktop.base.errors import PlanError
from kimi_desktop.chat.types import AnswerStats
from kimi_desktop.learning import kept_tokens, run_of
from kimi_desktop.models.service import LocalModels
from kimi_desktop.models.types import LocalModel
from kimi_desktop.monitor.notebook import RunIntent
from kimi_desktop.monitor.run_types import Band, RunForecast
from kimi_desktop.planner.speed import forecast_speed
from kimi_desktop.planner.speed_learn import is_telling
from kimi_desktop.planner.speed_types import FinishedRun, SpeedForecast


class Outlook:
    """Joins the library, the plans and what was learned."""

    def __init__(self, models: LocalModels, plans: LoadPlanner, learned: LearnedSpeeds) -> None:
        self._models, self._plans, self._learned = models, plans, learned

    def model_of(self, settings: LoadSettings) -> LocalModel | None:
        """The library's model that these settings load."""
        models = self._models.models
        return next((one for one in models if one.path == settings.model_path), None)

    def expected(
        self, settings: LoadSettings, model: LocalModel, kept: int, prompt: int
    ) -> SpeedForecast | None:
        """The speed of a running engine's next answer; None for a model that tells nothing."""
        try:
            setup = self._plans.work_of(settings, model, kept)
        except PlanError:
            return None
        if not is_telling(FinishedRun(setup)):
            return None
        return forecast_speed(setup, prompt, factors=self._learned.factors())

    def intent(self, settings: LoadSettings) -> RunIntent:
        """Of a run that begins: which model, and what is forecast of it."""
        model = self.model_of(settings)
        if model is None:
            return RunIntent(settings.model_path.stem, "", RunForecast())
        quantization = model.facts.quantization if model.facts is not None else ""
        try:
            priced = self._plans.price(settings, model, self._plans.profile)
        except PlanError:
            return RunIntent(model.title, quantization, RunForecast())
        decode, load = priced.speed.decode_tps, priced.speed.load_s
        held = {
            row.device: row.used_bytes - row.others_bytes for row in priced.plan.forecast.devices
        }
        forecast = RunForecast(
            Band(decode.low, decode.likely, decode.high),
            Band(load.low, load.likely, load.high),
            held,
        )
        return RunIntent(model.title, quantization, forecast)

    def learn(self, stats: AnswerStats, settings: LoadSettings | None) -> None:
        """An answer corrects what is forecast of this machine."""
        if settings is None:
            return
        model = self.model_of(settings)
        if model is None:
            return
        with contextlib.suppress(PlanError):  # no header, or nobody has looked at the machine
            setup = self._plans.work_of(settings, model, kept_tokens(stats))
            self._learned.learn(run_of(stats, setup))
