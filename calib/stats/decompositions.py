"""What recalibration can and cannot remove: parts of the Brier score and log loss, and the CORP curve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from calib.base.exceptions import InputError
from calib.base.results import Drawn
from calib.data.defaults import N_BINS
from calib.data.notions import Notion, Strategy
from calib.data.predictions import Scores, Values
from calib.data.validation import check_choice
from calib.evidence.row_scores import TINY, weighted_mean
from calib.evidence.rows import Source, as_evidence
from calib.stats.smoothed import SmoothedCurve, one_score_notion


@dataclass(frozen=True, repr=False)
class Decomposition(Drawn):
    """A decomposed proper score of binary problems (Murphy 1973; Broecker 2009).

    score = calibration + refinement + binning, and refinement = uncertainty - resolution.
    """

    #: Notion of the problems, and how their scores were binned
    notion: str
    strategy: str
    n_bins: int  #: Bins per problem asked for
    rule: str  #: "brier" or "log_loss" (nats); for each entry, of the event of its problem
    score: float  #: Mean score over entries
    #: Distance of mean scores from observed frequencies: what recalibration can remove, 0 or more
    calibration: float
    refinement: float  #: Score if every cell predicted its frequency: recalibration cannot improve it
    uncertainty: float  #: Score of predicting the base rate of each claim
    resolution: float  #: Gain of the cells over the base rate: uncertainty - refinement, 0 or more
    binning: float  #: Remainder because scores inside one cell differ; exactly 0 for "discrete"


class CorpTerms(NamedTuple):
    """Terms of a proper score by the CORP curve: score = miscalibration - discrimination + uncertainty.

    `miscalibration` is what an isotonic map can remove, `discrimination` what the order of the scores adds to
    the base rate, `uncertainty` the score of the base rate.
    """

    miscalibration: float
    discrimination: float
    uncertainty: float


@dataclass(frozen=True, eq=False, repr=False)
class CorpCurve(SmoothedCurve, Drawn):
    """Reliability without bins: isotonic regression of outcomes on scores (Dimitriadis et al. 2021)."""

    #: Terms of the Brier score and of the log loss (nats), exact for both (their Theorem 1)
    brier: CorpTerms
    log_loss: CorpTerms

    smoother = "isotonic"

    @property
    def words(self) -> str:
        """Describe the terms of both scores, and the distance of the scores from the curve."""
        sentences = []
        for name, (off, order, base) in (("Brier score", self.brier), ("Log loss", self.log_loss)):
            parts = f"{off:.4f} (miscalibration) - {order:.4f} (discrimination) + {base:.4f} (uncertainty)"
            sentences.append(f"{name} {off - order + base:.4f} = {parts}")
        return f"{'; '.join(sentences)}. {self.distance_words}."


def decomposition(
    y_true: Source,
    scores: Scores | None = None,
    *,
    rule: str = "brier",
    notion: Notion | None = None,
    n_bins: int = N_BINS,
    strategy: Strategy | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> Decomposition:
    """Split the Brier score or log loss into calibration, refinement and uncertainty.

    Parameters
    ----------
    y_true, scores, notion, n_bins, strategy, sample_weight, cluster
        As for `calib.ece`; or `BinaryProblems` alone.
    rule : {"brier", "log_loss"}
        The proper score of the binary events of the notion, averaged over classes for "class-wise".

    Notes
    -----
    Murphy (1973) for the Brier score, Broecker (2009), "Reliability, sufficiency, and the decomposition of
    proper scores", for both. `binning` is the remainder because scores of a cell differ from their mean
    (Stephenson et al. 2008).
    """
    check_choice(rule, ("brier", "log_loss"), "rule")
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    cells = evidence.cells(notion, n_bins=n_bins, strategy=strategy, effects=False)
    score = evidence.event_mean(rule, notion)
    predicted, observed = cells.mean_score, cells.mean_outcome
    claims = np.bincount(cells.claim, weights=cells.weight * observed, minlength=cells.n_claims)
    base = claims / cells.n_samples
    if rule == "brier":
        calibration = cells.share @ (predicted - observed) ** 2
        refinement = cells.share @ (observed * (1.0 - observed))
        uncertainty = np.mean(base * (1.0 - base))
    else:
        refinement = cells.share @ _entropy(observed)
        calibration = cells.share @ (_cross_entropy(observed, predicted) - _entropy(observed))
        uncertainty = np.mean(_entropy(base))
    rests = uncertainty - refinement, score - calibration - refinement
    terms = map(float, (score, calibration, refinement, uncertainty, *rests))
    return Decomposition(*cells.binning, rule, *terms)


def corp_curve(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion | None = None,
    problem: int = 0,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> CorpCurve:
    """Fit the CORP reliability curve of one binary problem: no bins to choose.

    Parameters
    ----------
    y_true, scores, sample_weight, cluster
        As for `calib.ece`; or `BinaryProblems` alone.
    notion : str, optional
        By default P(Y = 1) of 1-D scores, else "confidence".
    problem : int
        0 for "confidence", the class code for "top-label" and "class-wise".

    Notes
    -----
    Dimitriadis, Gneiting & Jordan (2021), "Stable reliability diagrams for probabilistic classifiers".
    """
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    problems = evidence.problems(notion or one_score_notion(evidence))
    scores_of_class, outcomes = problems.problem(problem)
    if not len(scores_of_class):
        raise InputError(f"problem {problem} has no entries: this class is never predicted")
    first = np.flatnonzero(np.append(True, scores_of_class[1:] != scores_of_class[:-1]))
    count = np.diff(np.append(first, len(scores_of_class)))
    weights = problems.weights_of(problem)
    weight = np.add.reduceat(weights, first) if problems.is_weighted else count
    rate = np.add.reduceat(weights * outcomes, first) / weight
    frequency = np.clip(isotonic_regression(rate, weights=weight.astype(np.float64)).x, 0.0, 1.0)
    base = weighted_mean(outcomes, weights)
    single = scores_of_class[first].astype(np.float64)
    share = weight / weight.sum()

    def terms(loss: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> CorpTerms:
        score_loss, curve_loss = (float(share @ loss(rate, at)) for at in (single, frequency))
        base_loss = float(share @ loss(rate, np.full(len(rate), base)))
        return CorpTerms(score_loss - curve_loss, base_loss - curve_loss, base_loss)

    brier = terms(lambda truth, at: truth * (1.0 - at) ** 2 + (1.0 - truth) * at**2)
    return CorpCurve(single, frequency, count, weight, brier, terms(_cross_entropy))


def _log(probability: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(probability, TINY))


def _cross_entropy(truth: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    return -(truth * _log(predicted) + (1.0 - truth) * _log(1.0 - predicted))


def _entropy(truth: np.ndarray) -> np.ndarray:
    return _cross_entropy(truth, truth)
