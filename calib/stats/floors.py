"""Noise floors: the calibration error a perfectly calibrated model of the same size would show."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypedDict, Unpack

import numpy as np
import pandas as pd
from scipy.special import ndtri

from calib.base.exceptions import InputError
from calib.base.interval_words import POWER, would_show
from calib.base.results import Drawn, Result
from calib.data.defaults import LEVEL, N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.notions import Notion, Strategy
from calib.data.predictions import Scores, Values
from calib.data.validation import check_choice, check_norm, check_share, random_generator
from calib.evidence.binning import BinStatistics
from calib.evidence.clusters import too_few
from calib.evidence.rows import Evidence, Rows, Source, as_evidence, known_rows
from calib.evidence.sampling import Draw, Progress, Sampler, adder, draw_exclusive, redrawn, resample
from calib.evidence.sums import SummedRows
from calib.stats.frequencies import folded_inverse
from calib.stats.simplex_errors import cell_means, vectors_of

#: Largest p-value of an error "above noise".
SIGNIFICANCE = 0.05
#: How many of 100 perfect models are within noise.
CASES = round(100 * (1.0 - SIGNIFICANCE))
#: The two verdicts. No model is ever called calibrated: noise can hide an error.
ABOVE_NOISE, WITHIN_NOISE = "above noise", "not distinguishable from noise"
#: Largest difference of equal errors: sums of the same terms in another order.
TIE = 1e-12
#: If at most this share of redraws equals the observed value, each of them counts half.
HALF_TIES = 0.03
#: An error with a lower-tail p-value up to this is suspiciously low: were the rows used for fitting?
TOO_LOW = 0.005


@dataclass(frozen=True, eq=False, repr=False)
class NoiseFloor(Drawn):
    """An observed calibration error beside the errors of a perfect model of the same size."""

    #: The error ("ece" or "mce"), its notion, and how scores were binned
    metric: str
    notion: str
    strategy: str
    #: Requested bins per problem, and rows
    n_bins: int
    n_samples: int
    observed: float  #: The metric on the observed outcomes, in [0, 1]
    samples: np.ndarray  #: (R,) float64: The metric on outcomes redrawn as Bernoulli(score), ascending
    weighted: bool = False  #: Whether rows have weights, in the observed outcomes and in the redrawn ones
    untold: str | None = None  #: Why there is no verdict, such as too few clusters; None if there is

    @property
    def mean(self) -> float:
        """Mean of the metric of a perfect model of this size."""
        return float(self.samples.mean())

    @property
    def p_value(self) -> float:
        """(1 + redraws at or above the observed) / (1 + redraws), in (0, 1].

        Uniform for a perfect model. Ties of at most `HALF_TIES` of the redraws count half (mid-p, Lancaster
        1961): a perfect model is above noise in about 5 % of samples, never more than 6.5 %. If more redraws
        tie, they count whole, and p is too large. If class-wise or top-K scores of a row sum to more than 1,
        the spread, hence p, is approximate.
        """
        whole = p_values(np.array([self.observed]), self.samples[None])[0]
        tied = np.mean(np.abs(self.samples - self.observed) <= TIE)
        return float(whole - 0.5 * tied if tied <= HALF_TIES else whole)

    @property
    def verdict(self) -> str:
        """`ABOVE_NOISE` if p is at most `SIGNIFICANCE`, `WITHIN_NOISE`, or `untold`."""
        return self.untold or (ABOVE_NOISE if self.p_value <= SIGNIFICANCE else WITHIN_NOISE)

    @property
    def is_too_low(self) -> bool:
        """Whether the error is lower than chance allows: at most `TOO_LOW` of perfect models are as low."""
        return bool(p_values(np.array([-self.observed]), -self.samples[None])[0] <= TOO_LOW)

    @property
    def words(self) -> str:
        """The verdict, a perfect model's errors, and the true error that noise could hide."""
        upper, digits, cases = _printed_upper(self)
        hidden = f"; {self.hidden}" * (self.verdict == WITHIN_NOISE)
        return f"{self.verdict} ({perfect_words(self.mean, upper, digits, cases)}{hidden})"

    @cached_property
    def smallest(self) -> float:
        """The true error that would show in 80 of 100 such samples; see `smallest_errors`."""
        upper = self.quantile(1.0 - SIGNIFICANCE)
        return float(smallest_errors(self.samples, upper, self.n_samples, largest=self.metric == "mce"))

    @property
    def hidden(self) -> str:
        """Say which true error would show in 80 of 100 such samples."""
        return error_would_show(self.smallest)

    def quantile(self, q: float) -> float:
        """Value that a perfect model of this size stays at or below with probability `q`."""
        return float(np.quantile(self.samples, q))

    def frame(self) -> pd.DataFrame:
        names = ("metric", "notion", "strategy", "n_bins", "n_samples", "observed")
        floor = {f"perfect_q{100 * q:02.0f}": self.quantile(q) for q in (0.05, 0.95)}
        row = {name: getattr(self, name) for name in names} | {"perfect_mean": self.mean} | floor
        return pd.DataFrame([row | {"p_value": self.p_value, "n_resamples": len(self.samples)}])


@dataclass(frozen=True, eq=False, repr=False)
class ProblemFloors(Result):
    """ECE of every binary problem (class) beside the ECE of a perfect model of the same size."""

    problem: np.ndarray  #: (Q,) int64: Problems that have entries, or their owners
    label: np.ndarray  #: (Q,) int64: Class code of each, -1 if classes are pooled; with owners, these
    count: np.ndarray  #: (Q,) int64: Entries of each
    #: (Q,): Sum of their weights, which have mean 1 over the rows; `count` if rows are unweighted
    weight: np.ndarray
    #: (Q,) float64: ECE observed; mean and 95 % quantile of the ECE of a perfect model
    observed: np.ndarray
    mean: np.ndarray
    upper: np.ndarray
    smallest: np.ndarray  #: (Q,) float64: True ECE that would show in 80 of 100 such samples
    #: (Q,) float64: (1 + redraws at or above the observed) / (1 + redraws), for each problem
    p_value: np.ndarray

    def frame(self) -> pd.DataFrame:
        """Return one row per problem."""
        names = {"observed": "ece", "mean": "perfect_mean", "upper": "perfect_upper"}
        return super().frame().drop(columns="weight").rename(columns=names)


def noise_floor(
    y_true: Source,
    scores: Scores | None = None,
    *,
    notion: Notion | None = None,
    n_bins: int = N_BINS,
    strategy: Strategy | None = None,
    metric: str = "ece",
    norm: float = 1,
    aggregate: str = "cell",
    top_k: int | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    sampler: Sampler | None = None,
    n_resamples: int = N_RESAMPLES,
    random_state: int | np.random.Generator | None = RANDOM_STATE,
    progress: Progress | None = None,
) -> NoiseFloor:
    """Compare a calibration error with a perfectly calibrated model's of the same size.

    Outcomes are redrawn as Bernoulli(score) and the metric is computed again on the same cells: the
    consistency resampling of Broecker & Smith (2007), as a test of calibration Vaicenavicius et al. (2019)
    and Widmann et al. (2019).

    Parameters
    ----------
    y_true, scores, notion, n_bins, strategy, norm, top_k, sample_weight
        As for `calib.ece`; or `BinaryProblems` alone.
    metric : {"ece", "mce"}
        The error.
    aggregate : {"cell", "bin"}
        As for `calib.mce`.
    cluster : (n,) array_like of int, str or time, optional
        Id of each row's cluster, such as a patient; by default the ids that predictions came with. Outcomes
        of a cluster are redrawn with one correlation of their latent numbers.
    sampler : {"rows", "sums"}, optional
        Whether the outcomes of rows are redrawn, or the sums of the cells. By default sums; rows if there are
        few rows with several claims that exclude each other; see `calib.evidence.rows.Rows.draw`.
    n_resamples : int
        Redraws R; the smallest p-value is 1 / (R + 1).
    random_state : int, Generator or None
        Seed; equal seeds give equal numbers on every machine.
    progress : callable, optional
        Called with the share done, in the calling thread.

    Examples
    --------
    >>> proba = np.tile([0.8, 0.2], (100, 1))
    >>> floor = noise_floor(np.repeat([0, 1], [50, 50]), proba, random_state=0)
    >>> round(floor.observed, 3), floor.p_value < 0.01
    (0.3, True)
    """
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    measures = {metric: {"metric": metric, "norm": norm, "aggregate": aggregate}}
    binning: dict[str, Any] = {"notion": notion, "n_bins": n_bins, "strategy": strategy, "top_k": top_k}
    redraws: dict[str, Any] = {"n_resamples": n_resamples, "random_state": random_state}
    return noise_floors(evidence, measures, sampler, progress, **redraws, **binning)[metric]


def noise_floors(
    evidence: Evidence,
    measures: Mapping[str, Mapping[str, Any]],
    sampler: Sampler | None = None,
    progress: Progress | None = None,
    *,
    n_resamples: int = N_RESAMPLES,
    random_state: int | np.random.Generator | None = RANDOM_STATE,
    **binning: Any,
) -> dict[str, NoiseFloor]:
    """Compute `noise_floor` of several `measures` (metric, norm, aggregate by name) from the same redraws."""
    asked = FloorStatistic(evidence, measures, **binning)
    drawing = evidence.draw(asked.cells, sampler)
    options: dict[str, Any] = {"n_resamples": n_resamples, "random_state": random_state, "progress": progress}
    if asked.cells.n_claims > 1 and isinstance(evidence, SummedRows):
        return _floors_of_claims(asked, drawing, **options)
    return asked.floors(*redrawn([asked], *drawing, **options))


class GapStatistic:
    """A statistic of the absolute gaps of cells: `of_gaps` measures (C, R) gaps, column by column."""

    def __init__(self, cells: BinStatistics, of_gaps: Callable[[np.ndarray], np.ndarray]) -> None:
        self.cells, self.of_gaps = cells, of_gaps
        self._expected, self._weight = (cells.weight * cells.mean_score)[:, None], cells.weight[:, None]

    def measure(self, sums: np.ndarray) -> np.ndarray:
        gaps = sums - self._expected
        np.abs(gaps, out=gaps)
        return self.of_gaps(np.divide(gaps, self._weight, out=gaps))


class FloorStatistic(GapStatistic):
    """Errors of one notion, `measures` by name, from which their noise floors are made."""

    def __init__(self, evidence: Evidence, measures: Mapping[str, Mapping[str, Any]], **binning: Any) -> None:
        cells = evidence.cells(**binning, variance=True, effects=False)
        super().__init__(cells, lambda gaps: np.stack([of_gaps(gaps) for of_gaps in self.metrics.values()]))
        self.metrics = {name: CellMetric(cells, **measure) for name, measure in measures.items()}
        self._why_not = too_few(evidence.n_clusters)

    def floors(self, samples: np.ndarray) -> dict[str, NoiseFloor]:
        observed = self.of_gaps(np.abs(self.cells.gap)[:, None])[:, 0].tolist()
        values = zip(self.metrics.items(), observed, np.sort(samples, axis=1), strict=True)
        return {name: self.floor_of(metric.metric, *each) for (name, metric), *each in values}

    def floor_of(self, metric: str, observed: float, samples: np.ndarray) -> NoiseFloor:
        about = metric, *self.cells.binning, self.cells.n_samples
        return NoiseFloor(*about, observed, samples, self.cells.is_weighted, self._why_not)


def _floors_of_claims(
    asked: FloorStatistic, drawing: tuple[Draw, int], **options: Any
) -> dict[str, NoiseFloor]:
    """Compute `noise_floors` of a notion with several claims about each row from sums alone.

    Sums do not show how claims about a row depend on each other. Errors are drawn separately and combined as
    if all were high in the same redraws.
    """
    floors, cells = {}, asked.cells
    for name, metric in asked.metrics.items():
        if metric.metric != "ece":
            raise InputError(f'the noise floor of the MCE of notion "{cells.notion}" needs the rows')
        (samples,) = redrawn([GapStatistic(cells, metric.of_claims)], *drawing, **options)
        mean = np.sort(samples, axis=1).mean(axis=0)
        floors[name] = asked.floor_of(metric.metric, cells.ece(metric.norm), mean)
    return floors


class FloorOptions(TypedDict, total=False):
    """Cells and redraws of them, as for `noise_floor`."""

    notion: Notion | None
    n_bins: int
    strategy: Strategy | None
    n_resamples: int
    random_state: int | np.random.Generator | None


def cut_and_redraws(evidence: Evidence, options: FloorOptions) -> tuple[BinStatistics, dict[str, Any]]:
    """Return the cells, and the options of `redrawn`, with a generator that goes on."""
    given: dict[str, Any] = {"n_resamples": N_RESAMPLES, "random_state": RANDOM_STATE, **options}
    redraws = {"n_resamples": given.pop("n_resamples")}
    redraws["random_state"] = random_generator(given.pop("random_state"))
    return evidence.cells(**given, variance=True), redraws


def problem_floors(
    y_true: Source,
    scores: Scores | None = None,
    *,
    owner: np.ndarray | None = None,
    fdr: float | None = None,
    among: int | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    progress: Progress | None = None,
    **options: Unpack[FloorOptions],
) -> ProblemFloors:
    """Compute the noise floor of the ECE of every binary problem (class) at once.

    Parameters
    ----------
    y_true, scores, notion, n_bins, strategy, sample_weight, cluster, n_resamples, random_state, progress
        As for `noise_floor`.
    owner : (P,) int array, optional
        Owner of each problem: floors are then the owners', of the ECE over all their problems.
    fdr : float, optional
        False discovery rate at which the p-values will be decided. If 1 / (n_resamples + 1) is too coarse for
        it, the clearest problems get enough redraws, and must be small in both runs.
    among : int, optional
        Number of p-values decided together; by default the number of problems with entries.
    """
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    cells, redraws = cut_and_redraws(evidence, options)
    redraws["progress"], n_resamples = progress, redraws["n_resamples"]
    floors = _floors_of(cells, evidence.draw_each(cells), owner, **redraws)
    if fdr is None:
        return floors
    check_share(fdr, "fdr", 0.05)
    least, among = 1.0 / (n_resamples + 1), len(floors.p_value) if among is None else among
    clearest, enough = floors.p_value <= 5.0 / (n_resamples + 1), math.ceil(among / fdr)
    settled = np.sum(floors.p_value <= least) / among * fdr >= least
    if enough <= n_resamples or not clearest.any() or settled:
        return floors
    owners = cells.problem if owner is None else owner[cells.problem]
    chosen = np.isin(owners, floors.problem[clearest])
    drawing = evidence.draw_each(cells, chosen)
    again = _floors_of(cells.of(chosen), drawing, owner, **redraws | {"n_resamples": enough})
    p_value = floors.p_value.copy()
    p_value[clearest] = again.p_value
    return replace(floors, p_value=p_value)


def _floors_of(
    cells: BinStatistics, drawing: tuple[Draw, int], owner: np.ndarray | None, **redraws: Any
) -> ProblemFloors:
    owners = cells.problem if owner is None else owner[cells.problem]
    problem, at = np.unique(owners, return_inverse=True)
    weight = np.bincount(at, weights=cells.weight)
    per_problem = adder(at, cells.weight / weight[at])
    (samples,) = redrawn([GapStatistic(cells, lambda gaps: per_problem @ gaps)], *drawing, **redraws)
    label = cells.shape.labels_of(problem) if owner is None else problem
    count = np.bincount(at, weights=cells.count)
    observed, upper = per_problem @ np.abs(cells.gap), np.quantile(samples, LEVEL, axis=1)
    errors = observed, samples.mean(axis=1), upper, smallest_errors(samples, upper, count)
    return ProblemFloors(problem, label, count.astype(np.int64), weight, *errors, p_values(observed, samples))


def canonical_noise_floor(
    y_true: Source,
    proba: Scores | None = None,
    cells: Values | None = None,
    *,
    norm: int = 1,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    n_resamples: int = N_RESAMPLES,
    random_state: int | np.random.Generator | None = RANDOM_STATE,
) -> NoiseFloor:
    """Compare `canonical_ece` with a canonically calibrated model's of the same size.

    Labels are redrawn from the predicted vectors (Vaicenavicius et al. 2019, Widmann et al. 2019). Parameters
    as for `canonical_ece` and `noise_floor`.
    """
    rows = known_rows(y_true, proba, sample_weight, cluster)
    evidence = y_true if isinstance(y_true, Rows) else Rows(rows)
    means, matrix = cell_means(rows, cells), vectors_of(evidence.predictions)
    n_cells, n_classes = means.predicted.shape
    places = means.position * n_classes + np.arange(n_classes)[:, None]
    scores = matrix.T
    uniform = None
    if evidence.dependence is not None:  # as in `draw_rows`: claims from the most to the least likely
        order = np.argsort(-scores, axis=0, kind="stable")
        scores, places = (np.take_along_axis(array, order, axis=0) for array in (scores, places))
        uniform = evidence.dependence.uniform_as_known
    draw, width = draw_exclusive(scores, places, n_cells * n_classes, evidence.weights, uniform)

    def block(generator: np.random.Generator, size: int) -> np.ndarray:
        labels = draw(generator, size).reshape(n_cells, n_classes, size)
        gaps = labels / means.weight[:, None, None] - means.predicted[:, :, None]
        return np.asarray(means.share @ np.linalg.norm(gaps, ord=norm, axis=1))

    drawn = resample(block, width, n_resamples=n_resamples, random_state=random_state)
    samples, untold = np.sort(np.concatenate(drawn)), too_few(evidence.n_clusters)
    about = "ece", f"canonical, L{norm}", "cells of the simplex", n_cells, len(matrix)
    return NoiseFloor(*about, means.error(norm), samples, evidence.is_weighted, untold)


def verdict(floor: NoiseFloor, name: str) -> str:
    """Say in words whether a calibration error is above noise.

    The sentence gives the mean and the 95 % quantile (rounded up) of a perfect model of this size. If an
    error is so low that a perfect model shows it in at most 1 of 200 cases, it asks whether the rows were
    used for fitting.
    """
    if not isinstance(floor, NoiseFloor) or not isinstance(name, str):
        raise InputError(
            f"pass the result of noise_floor, and a name for its number; got {floor!r:.60}, {name!r:.60}"
        )
    name += " (weighted)" if floor.weighted else ""
    sentence = f"{name} {floor.observed:.{_printed_upper(floor)[1]}f}, {floor.words}"
    if floor.is_too_low:
        sentence += "; lower than chance allows: were these rows used for fitting?"
    return sentence


def smallest_errors(samples: np.ndarray, upper: Any, n_rows: Any, *, largest: bool = False) -> np.ndarray:
    """Return the smallest true errors that exceed `upper` in about 80 of 100 samples, (...) float64.

    `samples`, (..., R), are errors of perfect models on `n_rows`, which stay below `upper` in 95 of 100;
    `largest` says whether the error is the largest gap, not the mean one.

    A gap d with normal noise of deviation s has the mean size E|d + s Z|, which is convex in (d, s). At the
    mean d and s of all cells it is therefore a lower bound of the mean error, for any spread of the gaps. For
    the largest gap only the lower bound d is known. The error varies no more than if all signs were fixed.
    Scores of 0 and 1 have no noise; an error shows if a row is wrong, which takes 1 - 0.2^(1/n) in 80 of 100
    samples.
    """
    least = 1.0 - (1.0 - POWER) ** (1.0 / np.asarray(n_rows))
    target = upper + ndtri(POWER) * samples.std(axis=-1) / math.sqrt(1.0 - 2.0 / math.pi)
    if largest:
        return np.maximum(target, least)
    spread = np.maximum(samples.mean(axis=-1) * math.sqrt(math.pi / 2.0), TIE)
    return np.maximum(spread * folded_inverse(target / spread), least)


def error_would_show(least: float) -> str:
    return would_show(least, "an error", 3) if least < 1.0 else "these rows are too few for an error to show"


def perfect_words(mean: float, upper: float, digits: int = 4, cases: int = CASES) -> str:
    return (
        f"a perfect model of this size shows {mean:.{digits}f}, at most {upper:.{digits}f} in {cases} of "
        "100 cases"
    )


def _printed_upper(floor: NoiseFloor) -> tuple[float, int, int]:
    """Round the 95 % quantile up, with enough digits for the verdict; return it, the digits, and 95."""
    upper, above, cases = floor.quantile(1.0 - SIGNIFICANCE), floor.verdict == ABOVE_NOISE, CASES
    lower = floor.samples[floor.samples < floor.observed - TIE]
    if above and upper >= floor.observed - TIE:
        upper, cases = lower[-1], int(100 * len(lower) / len(floor.samples))
    for digits in range(3, 7):
        observed, mean = round(floor.observed, digits), round(floor.mean, digits)
        most = np.ceil(upper * 10**digits - 1e-9) / 10**digits + 0.0  # no negative zero
        if (mean > 0.0 or floor.mean < 1e-6) and mean < most and (observed > most) == above:
            break
    return most, digits, cases


class CellMetric:
    """A binned calibration error as a function of (C, R) absolute gaps of the cells, for many draws."""

    def __init__(self, cells: BinStatistics, *, metric: str, norm: float = 1, aggregate: str = "cell"):
        check_choice(metric, ("ece", "mce"), "metric")
        check_choice(aggregate, ("cell", "bin"), "aggregate")
        self.metric, self.norm, self.aggregate = metric, check_norm(norm), aggregate
        if metric == "ece":
            self.adder = adder(cells.claim, cells.weight / cells.n_samples, cells.n_claims)
        elif aggregate == "bin":
            totals = np.bincount(cells.bin, weights=cells.weight, minlength=cells.n_bins)
            self.adder = adder(cells.bin, cells.weight / totals[cells.bin], cells.n_bins)

    def of_claims(self, gaps: np.ndarray) -> np.ndarray:
        """Return the ECE of each claim and column, (claims, R)."""
        if self.norm == 1:
            return np.asarray(self.adder @ gaps)
        return np.asarray((self.adder @ gaps**self.norm) ** (1.0 / self.norm))

    def __call__(self, gaps: np.ndarray) -> np.ndarray:
        if self.metric == "ece":
            return self.of_claims(gaps).mean(axis=0)
        return (gaps if self.aggregate == "cell" else self.adder @ gaps).max(axis=0)


def discoveries(p_value: Any, fdr: float) -> np.ndarray:
    """Return which p-values are above noise at this false discovery rate (Benjamini & Hochberg 1995)."""
    from scipy.stats import false_discovery_control  # takes a second to import

    return np.asarray(false_discovery_control(p_value) <= fdr)


def clearest_first(p_value: Any, size: Any) -> np.ndarray:
    """Return the order of p-values, smallest first; of sizes, largest first, if they differ by rounding."""
    return np.lexsort((-np.round(size, 9), np.round(np.log(p_value), 4)))


def p_values(observed: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """One-sided p-values with the +1 correction (Davison & Hinkley 1997, section 4.2), row by row."""
    reached = np.sum(samples >= observed[:, None] - TIE, axis=1)
    return (1.0 + reached) / (1.0 + samples.shape[1])
