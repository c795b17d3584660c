"""Errors of several models and methods against the number of bins (Figures 2, 5 to 8), in small multiples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from calib.answers.model_tables import BASE, methods_to_compare, scored_by
from calib.base.exceptions import InputError
from calib.base.results import Drawn
from calib.calibrators.catalogue import PAPER
from calib.data.defaults import N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.kinds import kind_of
from calib.data.predictions import Announcement, Predictions
from calib.data.several_models import pairs_of_models, rows_to_fit
from calib.diagrams.bin_sweep import refitted_rows
from calib.diagrams.style import (
    Figure,
    Properties,
    area,
    at,
    axes,
    escape,
    figure,
    grid,
    method_line,
    scatter,
    shorten,
)
from calib.evidence.rows import Rows
from calib.stats.floors import noise_floor
from calib.stats.measures import MEASURES, Measure, ece_of

#: Errors of the paper's Figures 2 and 5 to 8, in their order.
SWEPT = ("conf_ece", "tl_ece", "tl_mce_bin", "cw_ece")


@dataclass(frozen=True)
class SweptNumber:
    """An error of a model with a method in a number of bins; NaN if the method could not be fitted."""

    model: str
    method: str
    measure: str  #: Key of the error in `calib.stats.measures.MEASURES`
    title: str  #: Name of the error in tables
    n_bins: int
    failure: str | None  #: Why the method could not be fitted; None if it could
    value: float = np.nan
    #: Mean, 5 and 95 % quantile of a perfect model's errors with the base scores
    floor: float = np.nan
    floor_lower: float = np.nan
    floor_upper: float = np.nan


@dataclass(frozen=True, eq=False, repr=False)
class ModelSweeps(Drawn):
    """Errors of models, before and after calibration, against the number of bins."""

    table: pd.DataFrame  #: One row for each model, method, error and number of bins; see `frame`

    def frame(self) -> pd.DataFrame:
        """Return one row for each model, method, error and number of bins, as in `SweptNumber`."""
        return self.table.copy()

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(dict.fromkeys(self.table["model"]))

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, the base first."""
        return tuple(dict.fromkeys(self.table["method"]))

    @property
    def measures(self) -> tuple[str, ...]:
        """Keys of the errors in `calib.stats.measures.MEASURES`."""
        return tuple(dict.fromkeys(self.table["measure"]))


def sweep_models(
    models: Mapping[str, Any],
    methods: Iterable[str] | Mapping[str, Any] = PAPER,
    *,
    n_bins: Iterable[int] = range(5, 26),
    calibration: float = 0.5,
    n_resamples: int = N_RESAMPLES,
    random_state: int | None = RANDOM_STATE,
    progress: Callable[[float, str], object] | None = None,
) -> ModelSweeps:
    """Compute conf-ECE, TL-ECE, TL-MCE and CW-ECE of models and methods for several numbers of bins.

    Parameters
    ----------
    models, methods, calibration, n_resamples, random_state, progress
        As for `calib.compare_models`.
    n_bins : iterable of int
        Numbers of bins B.

    Notes
    -----
    Histogram binning by bins is fitted again for each B, and assessed at each of its values (App. E).

    Examples
    --------
    >>> from calib.datasets import three_classes
    >>> rows = three_classes(n_calibration=500, n_evaluation=500).evaluation
    >>> swept = sweep_models({"A": rows}, ["TS"], n_bins=[5, 10], n_resamples=20)
    >>> swept.measures, len(swept.frame())
    (('conf_ece', 'tl_ece', 'tl_mce_bin', 'cw_ece'), 16)
    """
    counts = list(n_bins)
    if not counts or min(counts) < 1:
        raise InputError(f"n_bins must be numbers of bins of 1 or more; got {counts[:10]}")
    pairs = pairs_of_models(models, calibration, random_state)
    chosen = methods_to_compare(methods, kind_of(next(iter(pairs.values()))[1]), N_BINS)
    redrawn = partial(_with_floor, n_resamples=n_resamples, random_state=random_state)
    steps = [(model, method) for model in pairs for method in (BASE, *chosen)]
    numbers: list[SweptNumber] = []
    scored: Iterable[Rows]
    values: Callable[[Rows, Measure, int], tuple[float, ...]]
    for position, (model, method) in enumerate(steps):
        if progress:
            progress(position / len(steps), f"{model}: {method}")
        number, (fitting, rows) = partial(SweptNumber, model, method), pairs[model]
        try:
            if method == BASE:
                scored, values = repeat(Rows(rows)), redrawn
            else:
                scored = _recalibrated(method, chosen[method], rows_to_fit(model, fitting), rows, counts)
                values = _error
            numbers += [
                number(measure.key, measure.title, count, None, *values(evidence, measure, count))
                for count, evidence in zip(counts, scored, strict=False)
                for measure in _measures(evidence)
            ]
        except InputError as error:
            left_out = [(key, count) for key in SWEPT for count in counts]
            numbers += [number(key, MEASURES[key].title, count, str(error)) for key, count in left_out]
    return ModelSweeps(pd.DataFrame(numbers))


def _recalibrated(
    name: str, calibrator: BaseEstimator, calibration: Announcement, rows: Announcement, counts: list[int]
) -> Iterable[Rows]:
    """Return the rows with calibrated scores for each number of bins."""
    by_bins = getattr(getattr(calibrator, "binary", None), "n_bins", None) is not None
    if by_bins and isinstance(rows, Predictions):
        return map(partial(refitted_rows, calibrator, calibration, rows), counts)
    return repeat(scored_by(name, calibrator, calibration, Rows(rows)))


def _measures(rows: Rows) -> list[Measure]:
    known = [MEASURES[key] for key in SWEPT if MEASURES[key].missing(rows) is None]
    return known or list(ece_of(rows.kind).values())


def _error(rows: Rows, measure: Measure, n_bins: int) -> tuple[float, ...]:
    return (measure.value(rows, cells=rows.cells(measure.notion, n_bins=n_bins, effects=False)),)


def _with_floor(
    rows: Rows, measure: Measure, n_bins: int, *, n_resamples: int, random_state: int | None
) -> tuple[float, ...]:
    redraws: dict[str, Any] = {"n_resamples": n_resamples, "random_state": random_state}
    floor = noise_floor(rows, **measure.options, n_bins=n_bins, **redraws)
    return floor.observed, floor.mean, float(floor.quantile(0.05)), float(floor.quantile(0.95))


def draw_model_sweeps(sweeps: ModelSweeps) -> Figure:
    """Draw a panel for each error and model: a line for each method, in grey the range of a perfect model.

    The grey range has the base model's scores, and holds 90 of 100 perfect models.
    """
    models, methods, measures = sweeps.models, sweeps.methods, sweeps.measures
    titles = [escape(shorten(model)) for model in models]
    layout = grid(
        len(measures),
        len(models),
        [*titles, *[""] * (len(models) * (len(measures) - 1))],
        vertical_spacing=0.06,
        horizontal_spacing=0.03,
    )
    data = []
    for row, measure in enumerate(measures):
        measured = sweeps.table[sweeps.table["measure"] == measure]
        highest = float(np.nanmax(measured[["value", "floor_upper"]].to_numpy(dtype=float), initial=0.0))
        for column, model in enumerate(models):
            place = row * len(models) + column + 1
            lines = dict(iter(measured[measured["model"] == model].groupby("method", sort=False)))
            data += _panel(lines, methods, MEASURES[measure].title, model, place)
            horizontal, vertical = axes(layout, "x")[place - 1], axes(layout, "y")[place - 1]
            vertical |= {"range": [0.0, 1.05 * highest or 1.0], "showticklabels": column == 0}
            if column == 0:
                vertical["title"] = MEASURES[measure].title
            horizontal["showticklabels"] = row == len(measures) - 1
            if row == len(measures) - 1:
                horizontal["title"] = "Bins B"
    return figure(data, height=90 + 210 * len(measures), **layout)


def _panel(
    lines: Mapping[Any, pd.DataFrame], methods: Sequence[str], title: str, model: str, place: int
) -> list[Properties]:
    """Draw the range of a perfect model, and the line of each method that the model has."""
    base, first = lines[BASE], place == 1
    ends = base["floor_lower"].to_numpy(), base["floor_upper"].to_numpy()
    data = area(
        base["n_bins"].tolist(),
        *ends,
        "rgba(128,128,128,0.3)",
        name="a perfect model, 90 of 100 cases",
        legendgroup="floor",
        showlegend=first,
        **at(place),
    )
    for position, method in enumerate(methods):
        if method in lines:
            data += scatter(
                x=lines[method]["n_bins"].to_numpy(),
                y=lines[method]["value"].to_numpy(dtype=float),
                line=method_line(position, 2),
                name=escape(method),
                legendgroup=method,
                showlegend=first,
                hovertemplate=f"{escape(model)}, {escape(method)}<br>{title} %{{y:.4f}} with %{{x}} bins",
                **at(place),
            )
    return data
