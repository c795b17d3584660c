"""Errors against the number of bins (Figure 2, Appendix E), and the Brier score against points per bin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone

from calib.answers.advice import PointsPerBinChoice
from calib.answers.calibrated import calibrated_scores, fit_on
from calib.base.results import Drawn
from calib.data.notions import Notion, Strategy
from calib.data.predictions import Announcement, Predictions, Scores, Values
from calib.data.validation import check_choice
from calib.diagrams.style import GREY, INK, Figure, escape, figure, marks, method_line, method_marker, scatter
from calib.evidence.rows import Rows, Source, as_evidence
from calib.stats.measures import ECES


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
    counts = np.array(list(n_bins), dtype=np.int64)
    tables = [
        evidence.cells(notion, n_bins=count, strategy=strategy, effects=False) for count in counts.tolist()
    ]
    values = [cells.ece() if metric == "ece" else cells.mce("bin") for cells in tables]
    return EceSweep(tables[0].notion, counts, np.array(values), metric)


def refitted_rows(
    calibrator: BaseEstimator, calibration: Announcement, evaluation: Predictions, n_bins: int
) -> Rows:
    """Return the evaluation rows with the scores of histogram binning that is fitted with `n_bins` bins."""
    fitted = fit_on(clone(calibrator).set_params(binary__n_bins=n_bins), calibration)
    return Rows(calibrated_scores(fitted, evaluation))


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


def draw_ece_sweeps(sweeps: Mapping[str, Mapping[str, EceSweep]]) -> Figure:
    """Draw Figure 2: errors against the number of bins, per method; conf-ECE is dashed, all others solid."""
    data = []
    for position, (method, by_notion) in enumerate(sweeps.items()):
        for notion, sweep in by_notion.items():
            short = "ECE" if notion == "binary" else ECES[sweep.notion].title
            short = short.replace("ECE", sweep.metric.upper())
            data += scatter(
                x=sweep.n_bins,
                y=sweep.ece,
                marker=method_marker(position, 6),
                line={**method_line(position), "dash": "dash" if notion == "confidence" else "solid"},
                name=escape(f"{method}, {short}"),
                hovertemplate=f"{escape(method)}<br>{short} %{{y:.4f}} with %{{x}} bins",
            )
    metrics = {sweep.metric.upper() for by_notion in sweeps.values() for sweep in by_notion.values()}
    return figure(
        data,
        height=460,
        xaxis={"title": "Number of bins B"},
        yaxis={"title": " and ".join(sorted(metrics)), "rangemode": "tozero"},
    )


def draw_points_per_bin(choice: PointsPerBinChoice) -> Figure:
    """Draw the cross-validated Brier score against the points per bin k; mark the proposed k and the base."""
    k = choice.points_per_bin
    data = scatter(
        x=k,
        y=choice.brier,
        error_y={"type": "data", "array": choice.standard_error, "thickness": 1.5, "width": 4},
        line={"color": INK, "width": 2.5},
        marker={"size": 7},
        name="histogram binning",
        customdata=(choice.standard_error,),
        hovertemplate="k = %{x}<br>Brier score %{y:.5f}<br>difference from the lowest: standard error "
        "%{customdata[0]:.5f}",
    )
    proposed = k == choice.chosen
    data += scatter(
        x=k[proposed],
        y=choice.brier[proposed],
        marker=marks(INK, 15, "circle-open", width=3),
        name=f"proposed, k = {choice.chosen}",
    )
    data += scatter(
        x=k[[0, -1]],
        y=[choice.base_brier] * 2,
        line={"color": GREY, "width": 2, "dash": "dash"},
        name="base model",
        hovertemplate="base model %{y:.5f}",
    )
    ticks = [str(points) for points in k]
    return figure(
        data,
        height=340,
        xaxis={"title": "Points per bin k", "type": "log", "tickvals": k, "ticktext": ticks},
        yaxis={"title": "Brier score"},
    )
