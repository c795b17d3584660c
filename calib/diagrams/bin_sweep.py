"""Errors against the number of bins (Figures 2, 5 to 8), and the Brier score against points per bin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone

from calib.answers.advice import PointsPerBinChoice
from calib.answers.calibrated import calibrated_scores, fit_on
from calib.answers.model_tables import BASE, methods_to_compare, scored_by
from calib.base.exceptions import InputError
from calib.base.results import Drawn
from calib.calibrators.catalogue import PAPER
from calib.data.defaults import N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.kinds import kind_of
from calib.data.notions import Notion, Strategy
from calib.data.predictions import BasePrediction, Predictions, Scores, Values
from calib.data.several_models import pairs_of_models, rows_to_fit
from calib.data.validation import check_choice, check_counts
from calib.diagrams import style
from calib.evidence.rows import Rows, Source, as_evidence
from calib.stats.floors import noise_floor
from calib.stats.measures import ECES, MEASURES, Measure, ece_of

#: Errors of the paper's Figures 2 and 5 to 8, in their order.
SWEPT = ("conf_ece", "tl_ece", "tl_mce_bin", "cw_ece")


@dataclass(frozen=True, eq=False, repr=False)
class EceSweep(Drawn):
    """The plug-in ECE, or MCE, of one notion for several numbers of bins (Figure 2, Appendix E)."""

    notion: Notion  #: What the error conditions on
    n_bins: np.ndarray  #: (S,) int64: Numbers of bins B
    ece: np.ndarray  #: (S,) float64: The estimate for each B
    #: {"ece", "mce"}; the MCE averages classes inside bins, as in the paper's tables
    metric: str = "ece"

    def frame(self) -> pd.DataFrame:
        """Return one row per number of bins."""
        return pd.DataFrame({"notion": self.notion, "n_bins": self.n_bins, self.metric: self.ece})


def ece_sweep(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion | None = None,
    n_bins: Iterable[int] = range(5, 26),
    strategy: Strategy | None = None,
    metric: str = "ece",
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> EceSweep:
    """Plug-in ECE (or MCE) for several numbers of bins, from one sort (Figure 2, Appendix E).

    Parameters as for `calib.ece`; `n_bins` is an iterable. ``metric="mce"`` averages classes inside each bin,
    as in the paper's tables.
    """
    check_choice(metric, ("ece", "mce"), "metric")
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    if isinstance(evidence, Rows):
        evidence.problems(notion)  # sorted here once, for all numbers of bins
    strategy = evidence.strategy if strategy is None else strategy
    counts = check_counts(n_bins, "n_bins")
    tables = [
        evidence.cells(notion, n_bins=count, strategy=strategy, effects=False) for count in counts.tolist()
    ]
    values = [cells.ece() if metric == "ece" else cells.mce("bin") for cells in tables]
    return EceSweep(tables[0].notion, counts, np.array(values), metric)


def sweep_words(sweeps: Mapping[str, Mapping[str, EceSweep]], strong: str = "{}") -> str:
    """Say by how much TL-ECE exceeds conf-ECE, for the method with the largest excess, if both are known."""
    if any({"top-label", "confidence"} - set(pair) for pair in sweeps.values()):
        return "Noise adds more to an error with more bins, whose cells hold fewer rows."
    excess = {name: pair["top-label"].ece - pair["confidence"].ece for name, pair in sweeps.items()}
    name = max(excess, key=lambda method: excess[method].max())
    ends = max(float(excess[name].min()), 0.0), float(excess[name].max())
    low, high = (strong.format(f"{value:.4f}") for value in ends)
    words = f"For {name}, the measured TL-ECE exceeds conf-ECE by {low} to {high}, depending on B."
    if ends[1] < 0.5e-4:
        words = "The measured TL-ECE is the conf-ECE: in each bin, the gaps of all classes have one sign."
    return f"{words} Noise adds more to TL-ECE, whose cells hold fewer rows, and to both with more bins."


def draw_ece_sweeps(sweeps: Mapping[str, Mapping[str, EceSweep]]) -> style.Figure:
    """Draw Figure 2: errors against the number of bins, per method; conf-ECE is dashed, all others solid."""
    data = []
    for position, (method, by_notion) in enumerate(sweeps.items()):
        for notion, sweep in by_notion.items():
            short = "ECE" if notion == "binary" else ECES[sweep.notion].title
            short = short.replace("ECE", sweep.metric.upper())
            data += style.scatter(
                x=sweep.n_bins,
                y=sweep.ece,
                marker=style.method_marker(position, 6),
                line={**style.method_line(position), "dash": "dash" if notion == "confidence" else "solid"},
                name=style.escape(f"{method}, {short}"),
                hovertemplate=f"{style.escape(method)}<br>{short} %{{y:.4f}} with %{{x}} bins",
            )
    metrics = {sweep.metric.upper() for by_notion in sweeps.values() for sweep in by_notion.values()}
    return style.figure(
        data,
        height=460,
        xaxis={"title": "Number of bins B"},
        yaxis={"title": " and ".join(sorted(metrics)), "rangemode": "tozero"},
    )


def draw_points_per_bin(choice: PointsPerBinChoice) -> style.Figure:
    """Draw the cross-validated Brier score against the points per bin k; mark the proposed k and the base."""
    k = choice.points_per_bin
    data = style.scatter(
        x=k,
        y=choice.brier,
        error_y={"type": "data", "array": choice.standard_error, "thickness": 1.5, "width": 4},
        line={"color": style.INK, "width": 2.5},
        marker={"size": 7},
        name="histogram binning",
        customdata=(choice.standard_error,),
        hovertemplate="k = %{x}<br>Brier score %{y:.5f}<br>difference from the lowest: standard error "
        "%{customdata[0]:.5f}",
    )
    proposed = k == choice.chosen
    data += style.scatter(
        x=k[proposed],
        y=choice.brier[proposed],
        marker=style.marks(style.INK, 15, "circle-open", width=3),
        name=f"proposed, k = {choice.chosen}",
    )
    data += style.scatter(
        x=k[[0, -1]],
        y=[choice.base_brier] * 2,
        line={"color": style.GREY, "width": 2, "dash": "dash"},
        name="base model",
        hovertemplate="base model %{y:.5f}",
    )
    ticks = [str(points) for points in k]
    return style.figure(
        data,
        height=340,
        xaxis={"title": "Points per bin k", "type": "log", "tickvals": k, "ticktext": ticks},
        yaxis={"title": "Brier score"},
    )


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
    redraws = {"n_resamples": n_resamples, "random_state": random_state}
    steps = [(model, method) for model in pairs for method in (BASE, *chosen)]
    numbers: list[SweptNumber] = []
    scored: Iterable[Rows]
    for position, (model, method) in enumerate(steps):
        if progress:
            progress(position / len(steps), f"{model}: {method}")
        number, (fitting, rows) = partial(SweptNumber, model, method), pairs[model]
        try:
            if method == BASE:
                scored = repeat(Rows(rows))
            else:
                scored = _recalibrated(method, chosen[method], rows_to_fit(model, fitting), rows, counts)
            floors = redraws if method == BASE else None
            numbers += [
                number(measure.key, measure.title, count, None, *_values(evidence, measure, count, floors))
                for count, evidence in zip(counts, scored, strict=False)
                for measure in _measures(evidence)
            ]
        except InputError as error:
            left_out = [(key, count) for key in SWEPT for count in counts]
            numbers += [number(key, MEASURES[key].title, count, str(error)) for key, count in left_out]
    return ModelSweeps(pd.DataFrame(numbers))


def _recalibrated(
    name: str, calibrator: BaseEstimator, calibration: BasePrediction, rows: BasePrediction, counts: list[int]
) -> Iterable[Rows]:
    by_bins = getattr(getattr(calibrator, "binary", None), "n_bins", None) is not None
    if by_bins and isinstance(rows, Predictions):
        fits = (fit_on(clone(calibrator).set_params(binary__n_bins=count), calibration) for count in counts)
        return (Rows(calibrated_scores(fitted, rows)) for fitted in fits)
    return repeat(scored_by(name, calibrator, calibration, Rows(rows)))


def _measures(rows: Rows) -> list[Measure]:
    known = [MEASURES[key] for key in SWEPT if MEASURES[key].missing(rows) is None]
    return known or list(ece_of(rows.kind).values())


def _values(rows: Rows, measure: Measure, n_bins: int, redraws: dict[str, Any] | None) -> tuple[float, ...]:
    """Return an error, and with `redraws` its floor: mean, 5 and 95 % quantile."""
    if redraws is None:
        return (measure.value(rows, cells=rows.cells(measure.notion, n_bins=n_bins, effects=False)),)
    floor = noise_floor(rows, **measure.options, n_bins=n_bins, **redraws)
    return floor.observed, floor.mean, float(floor.quantile(0.05)), float(floor.quantile(0.95))


def draw_model_sweeps(sweeps: ModelSweeps) -> style.Figure:
    """Draw a panel for each error and model: a line for each method, in grey the range of a perfect model.

    The grey range has the base model's scores, and holds 90 of 100 perfect models.
    """
    models, methods, measures = sweeps.models, sweeps.methods, sweeps.measures
    titles = [style.short(model) for model in models]
    layout = style.grid(
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
            horizontal, vertical = style.axes(layout, "x")[place - 1], style.axes(layout, "y")[place - 1]
            vertical |= {"range": [0.0, 1.05 * highest or 1.0], "showticklabels": column == 0}
            if column == 0:
                vertical["title"] = MEASURES[measure].title
            horizontal["showticklabels"] = row == len(measures) - 1
            if row == len(measures) - 1:
                horizontal["title"] = "Bins B"
    return style.figure(data, height=90 + 210 * len(measures), **layout)


def _panel(
    lines: Mapping[Any, pd.DataFrame], methods: Sequence[str], title: str, model: str, place: int
) -> list[style.Properties]:
    """Draw the range of a perfect model, and the line of each method that the model has."""
    base, first = lines[BASE], place == 1
    ends = base["floor_lower"].to_numpy(), base["floor_upper"].to_numpy()
    data = style.area(
        base["n_bins"].tolist(),
        *ends,
        "rgba(128,128,128,0.3)",
        name="a perfect model, 90 of 100 cases",
        legendgroup="floor",
        showlegend=first,
        **style.at(place),
    )
    for position, method in enumerate(methods):
        if method in lines:
            data += style.scatter(
                x=lines[method]["n_bins"].to_numpy(),
                y=lines[method]["value"].to_numpy(dtype=float),
                line=style.method_line(position, 2),
                name=style.escape(method),
                legendgroup=method,
                showlegend=first,
                hovertemplate=f"{style.escape(model)}, {style.escape(method)}<br>{title} %{{y:.4f}} with "
                "%{x} bins",
                **style.at(place),
            )
    return data
