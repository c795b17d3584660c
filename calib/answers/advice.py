"""Advice from the calibration rows: which calibrator helps, and how many points per bin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone

from calib.answers.calibrated import calibrated_scores, fit_on, losses_if_wrong, unseen_losses, vector_losses
from calib.base.exceptions import InputError
from calib.base.interval_words import hidden_words, interval_words, size_with_interval, with_interval
from calib.base.parallel import one_blas_thread
from calib.base.results import Drawn, Result
from calib.calibrators.calibrator import Calibrator
from calib.calibrators.catalogue import methods_of_kind, named_methods
from calib.calibrators.curves import Logistic
from calib.calibrators.effort import fit_seconds
from calib.calibrators.histogram import HistogramBinning
from calib.calibrators.multiclass import MulticlassToBinary
from calib.calibrators.scaling import VectorScaling
from calib.calibrators.softmax_fit import CROSS_VALIDATED
from calib.data.defaults import LEVEL, RANDOM_STATE
from calib.data.notions import TOP_NOTIONS, Notion
from calib.data.predictions import BasePrediction, Predictions, Scores, Values
from calib.data.splits import stratified_folds
from calib.data.validation import check_counts, random_generator
from calib.evidence.row_scores import error_share, row_values, weighted_mean
from calib.evidence.rows import Rows, Source, known_rows
from calib.stats.bootstrap import PairedInterval, paired_intervals_of

Verdict = Literal["better", "no clear change", "worse"]

#: Coverage of the interval of each of the two scores, if both are to hold at once (Bonferroni).
ALONE = 1.0 - (1.0 - LEVEL) / 2.0

#: Name of each score in sentences.
SCORES = {"brier": "Brier score", "log_loss": "log loss"}

#: Name of the recommendation to leave the scores as they are.
NONE = "none"

#: Folds of every cross-validation here.
N_FOLDS = 5

#: Fewest calibration rows for a recommendation, so that folds have 10 rows.
LEAST_ROWS = 50

#: Fewest wrong rows, and fewest right rows (or clusters with them), for a recommendation.
MIN_WRONG = 10

#: Most scores (rows x classes) for which calibrators of every class are tried.
MOST_SCORES = 1_000_000

#: Most estimated seconds of processor time for the fits of a candidate to all folds.
MAX_SECONDS = 2.0

#: Most rows, and most scores, on which candidates are tried.
MOST_ROWS, MOST_TRIED = 20_000, 5_000_000

#: The points per bin that are tried.
POINTS_PER_BIN = (10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500)

#: Most fits of histogram binning, and most (score, outcome) pairs, to choose points per bin.
MOST_FITS, MOST_PAIRS = 25_000, 500_000

#: Standard errors by which a simpler candidate rules out a slow one in both scores of the first fold.
RULED_OUT = 0.5

#: A k is tried if problems with at least this share of the rows can fill a bin of k points in a fold.
FILLED = 0.9


@dataclass(frozen=True, eq=False, repr=False)
class Confirmation(Result):
    """Effect of a calibrator on the proper scores of rows that it was not fitted on."""

    n_samples: int  #: Rows
    #: Scores of whole vectors (`calib.answers.calibrated.vector_losses`) before calibration (a) and after (b)
    brier: PairedInterval
    log_loss: PairedInterval
    level: float  #: Coverage of both intervals at once

    @property
    def verdict(self) -> Verdict:
        """Better if a score improves distinguishably, and none becomes distinguishably worse."""
        if self.raised:
            return "worse"
        return "better" if min(self.brier.upper, self.log_loss.upper) < 0.0 else "no clear change"

    @property
    def raised(self) -> tuple[str, ...]:
        """Names of the scores that calibration makes distinguishably worse."""
        return tuple(title for key, title in SCORES.items() if getattr(self, key).lower > 0.0)

    def words(self, subject: str = "it", left_out: str = "the fit") -> str:
        """Describe the change of both scores, with intervals, as the end of a sentence."""
        on = f"on {self.n_samples:,} rows left out of {left_out}"
        changes = {title: getattr(self, key) for key, title in SCORES.items()}
        if self.verdict == "no clear change":
            ends = " and ".join(
                f"{title} ({interval_words(change.lower, change.upper, sign='+')})"
                for title, change in changes.items()
            )
            hidden = hidden_words(self.brier.lower, self.brier.upper, self.brier.level, "a Brier difference")
            return f"{on}, there is no clear change of {ends}; {hidden}"
        does = [_change_of(title, change) for title, change in changes.items()]
        return f"{on}, {subject} {' and '.join(does)}"


@dataclass(frozen=True)
class Candidate:
    method: str  #: Name of the calibrator in the catalogue, or "none"
    #: Mean losses of the rows, each calibrated by a fit to the other folds
    brier: float
    log_loss: float
    #: Base model minus calibrator, with the 95 % interval of this candidate and score alone
    brier_improvement: float
    brier_lower: float
    brier_upper: float
    log_loss_improvement: float
    log_loss_lower: float
    log_loss_upper: float
    numbers: int  #: Numbers that the fit learned


@dataclass(frozen=True, eq=False, repr=False)
class Recommendation(Result):
    """The recommended calibrator, chosen on calibration rows."""

    name: str  #: Name of the calibrator in the catalogue, or "none": leave the scores as they are
    #: fitted calibrator or None: Fitted on all calibration rows; None if the name is "none"
    calibrator: Calibrator | None
    effect: str  #: What the choice changes on rows that it was not fitted on
    chosen: str  #: How it was chosen; "" if too few rows are wrong
    table: pd.DataFrame  #: One row per `Candidate` of all folds, lowest Brier score first
    left_out: dict[str, str]  #: Candidates that were not tried, and why
    ruled_out: dict[str, str]  #: Candidates that the first fold ruled out, and why
    #: Calibration rows on which the candidates were tried, and all of them
    n_tried: int
    n_samples: int
    #: Effect of the choice on rows that it was not fitted on; None if too few rows are wrong
    confirmation: Confirmation | None

    def frame(self) -> pd.DataFrame:
        """Return the table of the candidates."""
        return self.table

    @property
    def reason(self) -> str:
        """What is recommended, and why."""
        head = self.without if self.calibrator is None else f"{self.name} is recommended"
        return f"{head}: {self.effect} {self.chosen}".rstrip()

    @property
    def without(self) -> str:
        """What it means that no calibrator is recommended."""
        untold = self.confirmation is None
        return "No calibrator can be recommended" if untold else "Leave the scores as they are"

    @property
    def tried(self) -> list[str]:
        """Names of the candidates that were tried."""
        return [*(name for name in self.table["method"] if name != NONE), *self.ruled_out]


@dataclass(frozen=True, eq=False, repr=False)
class PointsPerBinChoice(Drawn):
    """Cross-validated Brier score of histogram binning for several numbers of points per bin."""

    notion: str  #: The notion of the binary problems
    n_samples: int  #: Calibration rows
    #: Number of binary problems with rows, and how many were tried: a sample of them if there are many
    n_problems: int
    n_tried: int
    points_per_bin: np.ndarray  #: (c,) int64: The k that were tried, increasing
    #: (c,) float64: Cross-validated Brier score of the binary problems, averaged over their rows
    brier: np.ndarray
    #: (c,) float64: Standard error of its difference from the lowest, on the same rows
    standard_error: np.ndarray
    base_brier: float  #: Brier score of the base model's scores on these rows
    best: int  #: The k with the lowest score
    chosen: int  #: The largest k within one standard error of the lowest

    def words(self) -> str:
        """Say which k is proposed, and why."""
        at = dict(zip(self.points_per_bin.tolist(), self.brier, strict=True))
        lowest = f"k = {self.best} has the lowest cross-validated Brier score, {at[self.best]:.4f}"
        if self.chosen == self.best:
            why = f"{lowest}, and no larger k is within one standard error of it"
        else:
            why = (
                f"{lowest}; k = {self.chosen} ({at[self.chosen]:.4f}) is the largest within one standard "
                "error of it, and more points per bin give a stronger guarantee"
            )
        how = f"{N_FOLDS} folds of the {self.n_samples:,} calibration rows"
        if self.n_tried < self.n_problems:
            how += f", {self.n_tried:,} of {self.n_problems:,} binary problems drawn at random"
        return f"{why}. The base model has {self.base_brier:.4f} ({how})."

    def frame(self) -> pd.DataFrame:
        """Return one row per k with its score, and what was chosen."""
        k = self.points_per_bin
        table = pd.DataFrame(
            {"points_per_bin": k, "brier": self.brier, "standard_error": self.standard_error}
        )
        return table.assign(base_brier=self.base_brier, best=k == self.best, chosen=k == self.chosen)


def recommend(
    proba: Source,
    y: Values | None = None,
    *,
    methods: Mapping[str, Any] | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    confirm: BasePrediction | tuple[Scores, Values] | None = None,
    random_state: int = RANDOM_STATE,
    progress: Callable[[float, str], object] | None = None,
) -> Recommendation:
    """Recommend one calibrator for a model, or none: choose on calibration rows, then confirm on others.

    Parameters
    ----------
    proba : (n, L) or (n,) array_like, or predictions of any kind
        Base predictions for calibration rows: rows the model was not trained on.
    y : (n,) array_like of int, optional
        True class codes, or whether the event happened; labelled predictions come alone.
    methods : mapping of str to unfitted calibrator, optional
        The candidates. Default: the catalogue's calibrators that give probabilities, histogram binning with
        50 points per bin. Vector scaling is left out, because it depends on the order of the classes.
    sample_weight : (n,) array_like of float, optional
        As for `calib.ece`. Candidates that cannot use weights are left out.
    cluster : (n,) array_like, optional
        As for `calib.Predictions`; by default the ids of `proba`, copies of rows, or rows that a test
        suspects to belong together: they stay in one fold, which is the more careful choice.
    confirm : labelled predictions or (proba, y), optional
        Other rows, on which the chosen calibrator is tested once, too.
    random_state : int
        Seed of the folds, and of the sample of rows on which candidates are tried if rows are many.
    progress : callable, optional
        Called with the share that is done and the name of the candidate being tried.

    Returns
    -------
    Recommendation
        `name`, `calibrator` (fitted on all rows), `reason`, `table`, `left_out` and `confirmation`.

    Raises
    ------
    InputError
        If there are fewer than 50 rows, every candidate is left out, or the data cannot be used.

    Notes
    -----
    Each candidate is fitted and scored in 5 folds, stratified by class, by the Brier score and the log loss
    of whole vectors (`calib.answers.calibrated.vector_losses`). The choice fits the fewest numbers among the
    candidates within one standard error of the lowest scores, the mean of both (Breiman, Friedman, Olshen &
    Stone 1984, section 3.4.3), or is the closest to them.

    The choice is recommended if one score improves distinguishably and the other does not become
    distinguishably worse (95 % intervals of both scores at once) on rows it was chosen and fitted without:
    the rows of each fold with the choice of the other folds, together with the rows of `confirm`. If the
    effect on the rows of `confirm` differs distinguishably, they decide alone. So the test needs no
    correction for the number of candidates, and uses all rows.

    Nothing is recommended if fewer than `MIN_WRONG` rows are wrong, or right. Candidates that take long are
    ruled out after the first fold if a simpler one is better in both scores there.

    Examples
    --------
    >>> from calib.calibrators import PlattScaling, TemperatureScaling
    >>> from calib.datasets import load_example
    >>> rows = load_example("two-patients").calibration
    >>> methods = {"TS": TemperatureScaling(), "TL-Platt": MulticlassToBinary(PlattScaling())}
    >>> recommend(rows, methods=methods).name
    'TL-Platt'
    """
    evidence = _counted(proba, y, sample_weight, cluster)
    rows = evidence.predictions
    if rows.n_samples < LEAST_ROWS:
        raise InputError(
            f"a recommendation needs at least {LEAST_ROWS} calibration rows; got {rows.n_samples}. Set a "
            "larger share of the rows aside for calibration, or collect more"
        )
    size = rows.n_scores
    sample = tried_rows(evidence.labels, size, random_state, evidence.clusters.code)
    tried = evidence if isinstance(sample, slice) else evidence.take(sample)
    if methods is None and not isinstance(rows, Predictions):
        methods = methods_of_kind(rows.kind, None)
    candidates, left_out = _candidates(methods, tried.n_samples, size // rows.n_samples)
    with one_blas_thread():
        trial = _cross_validated(candidates, tried, left_out, random_state, progress)
    if len(trial.losses) + len(trial.ruled_out) == 1:
        raise InputError(f"no candidate can be tried: {'; '.join(left_out.values())}")
    name, n_close = trial.choice()
    few = None if "every label" in rows.has else _too_few(tried)
    found, confirmation, effect, chosen = None, None, f"{few}.", ""
    if few is None:
        found = fit_on(clone(candidates[name]), rows)
        confirmation = trial.confirmation()
        if confirm is not None:
            given = (confirm,) if isinstance(confirm, BasePrediction) else confirm
            others = Rows(_counted(*given).predictions)
            after = others.of_scores(calibrated_scores(found, others.predictions))
            confirmation = _pooled_confirmation(confirmation, confirm_choice(others, after))
        effect = f"{confirmation.words('the choice', 'the choice and the fit')}."
        chosen = _chosen(name, n_close, trial, rows.n_samples)
    if not (evidence.is_declared or evidence.clusters.independent):
        n_clusters = evidence.clusters.n_clusters
        cluster_words = (
            f"Rows that belong together, or may, count as {n_clusters:,} clusters in this comparison."
        )
        chosen = f"{chosen} {cluster_words}".lstrip()
    if confirmation is None or confirmation.verdict != "better":
        name, found = NONE, None
    candidates_of = trial.table(), left_out, trial.ruled_out
    counts = tried.n_samples, rows.n_samples
    return Recommendation(name, found, effect, chosen, *candidates_of, *counts, confirmation)


def _too_few(rows: Rows) -> str | None:
    right = row_values(rows.predictions, "accuracy") > 0.0
    for word, which in (("wrong", ~right), ("right", right)):
        if (count := rows.clusters.n_among(which)) < MIN_WRONG:
            rows_of = f"{which.sum():,} of {len(which):,} calibration rows are {word}"
            if not rows.clusters.independent:
                rows_of += f", in {count} clusters or copies of rows"
            return f"{rows_of}; about {MIN_WRONG} are needed to assess a calibrator"
    return None


def choose_points_per_bin(
    proba: Source,
    y: Values | None = None,
    *,
    notion: Notion = "top-label",
    top_k: int | None = None,
    candidates: Iterable[int] = POINTS_PER_BIN,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    random_state: int = RANDOM_STATE,
) -> PointsPerBinChoice:
    """Choose the points per bin k of histogram binning by the Brier score, on the calibration rows alone.

    Parameters
    ----------
    proba, y, sample_weight, cluster, random_state
        As for `recommend`.
    notion, top_k
        As for `calib.MulticlassToBinary`.
    candidates : iterable of int
        The k to try.

    Notes
    -----
    The rows of each binary problem are divided into 5 folds, twice. A fold keeps k, with fewer bins, so that
    a bin's value is as noisy as in the final fit. The k proposed is the largest within one standard error of
    the lowest score (Breiman, Friedman, Olshen & Stone 1984, section 3.4.3): a convention in favour of the
    stronger guarantee, not a test.

    Examples
    --------
    >>> from calib.datasets import load_example
    >>> rows = load_example("digits").calibration
    >>> choose_points_per_bin(rows, notion="confidence").chosen in POINTS_PER_BIN
    True
    """
    tried = np.unique(check_counts(candidates, "candidates"))
    evidence = _counted(proba, y, sample_weight, cluster)
    problems = evidence.problems(notion, top_k)
    sizes = np.diff(problems.offsets)
    generator = random_generator(random_state)
    drawn = generator.permutation(np.flatnonzero(sizes))
    drawn = np.sort(drawn[: max(int(np.searchsorted(sizes[drawn].cumsum(), MOST_PAIRS, "right")), 1)])
    inside = sizes[drawn] * (1.0 - 1.0 / N_FOLDS)
    filled = np.array([inside[inside >= k].sum() for k in tried]) >= FILLED * inside.sum()
    tried = tried[filled] if filled.any() else tried[:1]
    fits = np.array([N_FOLDS * (inside >= k).sum() for k in tried])
    repeats = 2 if 2 * fits.sum() <= MOST_FITS and 4 * sizes[drawn].sum() <= MOST_PAIRS else 1
    while repeats * fits.sum() > MOST_FITS and len(tried) > 2:
        tried, fits = tried[::2], fits[::2]
    of_problems, losses_of = [np.arange(*problems.offsets[[at, at + 1]]) for at in drawn], []
    for own in of_problems:
        points = problems.scores[own].astype(np.float64), problems.outcomes[own]  # ascending, as problems are
        weights = problems.weights[own] if problems.is_weighted else None
        unit = evidence.clusters.take(problems.rows[own]).code
        folds = [(generator.permutation(unit.max() + 1) % N_FOLDS)[unit] for _ in range(repeats)]
        losses_of.append(sum(_held_out_errors(*points, weights, fold, tried) / repeats for fold in folds))
    pairs, losses = np.concatenate(of_problems), np.concatenate(losses_of, axis=1)
    n_samples = problems.n_samples
    by_row = np.array([np.bincount(problems.rows[pairs], loss, n_samples) for loss in losses])
    by_row *= n_samples / len(pairs)  # a row can be in several problems, or, if they are a sample, in none
    mean = _mean_and_error(by_row, evidence)[0]
    best = int(mean.argmin())
    error = _mean_and_error(by_row - by_row[best], evidence)[1]
    chosen = int(np.flatnonzero(mean <= mean[best] + error).max())
    squares = (problems.scores[pairs].astype(np.float64) - problems.outcomes[pairs]) ** 2
    base_brier = weighted_mean(squares, problems.weights[pairs])
    counts, found = (n_samples, int((sizes > 0).sum()), len(drawn)), (int(tried[best]), int(tried[chosen]))
    return PointsPerBinChoice(notion, *counts, tried, mean, error, base_brier, *found)


def _held_out_errors(
    scores: np.ndarray, outcomes: np.ndarray, weights: np.ndarray | None, fold: np.ndarray, tried: np.ndarray
) -> np.ndarray:
    """Return squared errors (k, m) of binnings with each number of points, fitted without the row's fold."""
    errors = np.tile((scores - outcomes) ** 2, (len(tried), 1))
    for held_out in (fold == number for number in range(N_FOLDS)):
        n_inside = int((~held_out).sum())
        fits: dict[int, np.ndarray] = {}  # several k can give a small problem the same bins
        for position in np.flatnonzero(tried <= n_inside) if held_out.any() else ():
            binning = HistogramBinning(points_per_bin=int(tried[position]))
            n_bins = binning.bins_for(n_inside)
            if n_bins not in fits:
                rest = ~held_out
                points = scores[rest], outcomes[rest]
                own = binning.fit_sorted(*points) if weights is None else binning.fit(*points, weights[rest])
                fits[n_bins] = (own.curve_(scores[held_out]) - outcomes[held_out]) ** 2
            errors[position, held_out] = fits[n_bins]
    return errors


def _counted(
    proba: Source,
    y: Values | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> Rows:
    """Return the evidence of the calibration rows; suspected clusters count as clusters."""
    if y is None:
        predictions = known_rows(proba, None, sample_weight, cluster)
    else:
        predictions = known_rows(y, cast(Scores, proba), sample_weight, cluster)
    return Rows(predictions).readings[-1]


def tried_rows(
    labels: np.ndarray,
    n_scores: int,
    random_state: int = RANDOM_STATE,
    cluster: np.ndarray | None = None,
) -> np.ndarray | slice:
    """Return the rows on which `recommend` tries its candidates: all, or a stratified sample of clusters."""
    n_folds = max(-(-n_scores // MOST_TRIED), len(labels) // MOST_ROWS)
    if n_folds <= 1:
        return slice(None)
    return np.flatnonzero(stratified_folds(labels, n_folds, random_state, cluster) == 0)


def _candidates(
    methods: Mapping[str, Any] | None, n_samples: int, n_classes: int
) -> tuple[dict[str, Any], dict[str, str]]:
    offered, left_out = methods, {}
    if offered is None:
        offered = {name: each for name, each in named_methods(None).items() if _gives_probabilities(each)}
        left_out = {name: why for name, each in offered.items() if (why := _only_if_named(each))}
    found = {name: each for name, each in offered.items() if name not in left_out}
    left_out |= {name: why for name, each in found.items() if (why := _too_large(each, n_samples, n_classes))}
    return {name: each for name, each in found.items() if name not in left_out}, left_out


def _only_if_named(calibrator: BaseEstimator) -> str | None:
    if isinstance(calibrator, VectorScaling):
        return "it depends on which class is last, unlike SVS; name it in `methods` to try it"
    if CROSS_VALIDATED in calibrator.get_params(deep=False).values():
        return "its ridge, chosen anew in every fold, takes long; name it in `methods` to try it"
    return None


def _too_large(calibrator: Any, n_samples: int, n_classes: int) -> str | None:
    rows_of_fold = n_samples * (N_FOLDS - 1) // N_FOLDS
    parameters = getattr(calibrator, "n_parameters", lambda n_classes: 0)(n_classes)
    if parameters > rows_of_fold and calibrator.overfit_words(rows_of_fold, n_classes):
        return f"it has {parameters:,} parameters for {rows_of_fold:,} rows of a fold"
    sorts_many = n_samples * n_classes > MOST_SCORES and not _is_light(calibrator, parameters, n_classes)
    if sorts_many or N_FOLDS * fit_seconds(calibrator, n_samples, n_classes) > MAX_SECONDS:
        return f"fitting it {N_FOLDS} times to {n_samples:,} x {n_classes:,} scores would take too long"
    return None


def _gives_probabilities(calibrator: BaseEstimator) -> bool:
    """Whether rows get probabilities that sum to 1, fitted by a proper score."""
    if isinstance(calibrator, MulticlassToBinary):
        return calibrator.notion != "class-wise" or calibrator.normalize
    return getattr(calibrator, "objective", None) != "conf_ece"


def _is_light(calibrator: BaseEstimator, parameters: int, n_classes: int) -> bool:
    """Whether a fit sorts one event per row, or has fewer parameters than classes."""
    if isinstance(calibrator, MulticlassToBinary):
        return calibrator.notion in TOP_NOTIONS
    return 0 < parameters < n_classes


@dataclass
class _Trial:
    """Candidates in folds: losses of the rows, each calibrated by a fit to the other folds."""

    rows: Rows
    fold: np.ndarray  #: (n,): Fold of each row
    numbers: dict[str, int]  #: Numbers fitted, by name
    losses: dict[str, np.ndarray]  #: (2, n): Brier score and log loss; the scores as they are come first
    wrong: dict[str, np.ndarray]  #: (5, 2): Mean losses of wrong rows of each fold
    ruled_out: dict[str, str] = field(default_factory=dict)  #: Ruled out by the first fold, and why

    def choice(self, inside: np.ndarray | None = None) -> tuple[str, int]:
        """Return the simplest candidate with scores close to the lowest, and how many are close."""
        names = [name for name in self.losses if name != NONE]
        rows, both_losses = self.rows, np.array([self.losses[name] for name in names])
        if inside is not None:
            rows, both_losses = rows.take(inside), both_losses[..., inside]
        excess = np.zeros((2, len(names)))
        for score, losses in enumerate(both_losses.swapaxes(0, 1)):
            mean, error = _mean_and_error(losses - losses[(losses @ rows.weights).argmin()], rows)
            excess[score] = np.divide(mean, error, out=np.zeros(len(names)), where=error > 0.0)
        both = excess.mean(axis=0)
        close = np.flatnonzero(both <= max(1.0, both.min()))
        best = min(close, key=lambda at: (self.numbers[names[at]], both[at]))
        return names[best], len(close)

    def confirmation(self) -> Confirmation:
        """Return the effect on each fold of the choice on the other folds."""
        losses, wrong = self.losses[NONE].copy(), self.wrong[NONE].copy()
        for number in range(N_FOLDS):
            out = self.fold == number
            name, _ = self.choice(np.flatnonzero(~out))
            losses[:, out], wrong[number] = self.losses[name][:, out], self.wrong[name][number]
        return _confirmed(self.rows, self.losses[NONE], losses, self.unseen(losses, wrong))

    def unseen(self, losses: np.ndarray, wrong: np.ndarray) -> np.ndarray:
        """Return by how much one more wrong row changes the mean differences from the base model, (2,)."""
        if "every label" in self.rows.predictions.has:
            return np.zeros(2)
        share = error_share(self.rows.predictions, self.rows.weights, self.rows.clusters)
        weights = self.rows.weights / self.rows.weights.sum()
        more = (wrong - self.wrong[NONE]).mean(axis=0) - (losses - self.losses[NONE]) @ weights
        return np.asarray(share * more)

    def table(self) -> pd.DataFrame:
        """Return one row per `Candidate`."""
        unseen = np.array([self.unseen(self.losses[name], self.wrong[name]) for name in self.losses])
        changes = _changes(self.rows, self.losses[NONE], np.array(list(self.losses.values())), unseen)
        found = []
        for name, brier, log_loss in zip(self.losses, *changes, strict=True):
            gains = [[each.difference, each.upper, each.lower] for each in (brier, log_loss)]
            ends = np.subtract(0.0, gains).ravel().tolist()  # 0 -, so that the base model has 0, not -0
            found.append((name, brier.estimate_b, log_loss.estimate_b, *ends, self.numbers[name]))
        table = pd.DataFrame(found, columns=[column.name for column in fields(Candidate)])
        return table.sort_values("brier", kind="stable", ignore_index=True)

    def rule_out(self, slow: set[str]) -> None:
        """Drop the slow candidates that a simpler one beats in both scores on the rows of the first fold."""
        first = self.fold == 0
        rows, begun = self.rows.take(first), {name: values[:, first] for name, values in self.losses.items()}
        if rows.clusters.n_among(np.ones(rows.n_samples, dtype=bool)) < MIN_WRONG:
            return
        for name in sorted(slow & begun.keys()):
            for simpler in (other for other in begun if self.numbers[other] < self.numbers[name]):
                mean, error = _mean_and_error(begun[name] - begun[simpler], rows)
                if (mean > RULED_OUT * error).all():
                    than = "scores as they are" if simpler == NONE else simpler
                    self.ruled_out[name] = f"both scores of the first fold are worse than by {than}"
                    del self.losses[name], self.wrong[name]
                    break


def _cross_validated(
    candidates: Mapping[str, Any],
    evidence: Rows,
    left_out: dict[str, str],
    random_state: int,
    progress: Callable[[float, str], object] | None,
) -> _Trial:
    """Fit and score the candidates in folds; refusals go to `left_out`."""
    rows = evidence.predictions.with_metadata(None)
    fold = stratified_folds(evidence.labels, N_FOLDS, random_state, evidence.clusters.code)
    names = (NONE, *candidates)
    losses = {name: np.empty((2, rows.n_samples)) for name in names}
    trial = _Trial(evidence, fold, {NONE: 0}, losses, {name: np.zeros((N_FOLDS, 2)) for name in names})
    for number in range(N_FOLDS):
        out = fold == number
        inside, outside = rows.take(~out), rows.take(out)
        for position, name in enumerate(list(trial.losses)):
            if progress:
                progress((number + position / len(trial.losses)) / N_FOLDS, name)
            try:
                fitted = None if name == NONE else fit_on(clone(candidates[name]), inside)
                scored = outside if fitted is None else calibrated_scores(fitted, outside)
            except InputError as refusal:
                left_out[name] = str(refusal)
                del trial.losses[name], trial.wrong[name]
                continue
            trial.numbers[name] = 0 if fitted is None else fitted_numbers(fitted)
            trial.losses[name][:, out] = list(vector_losses(scored, outside).values())
            if "every label" not in outside.has:
                trial.wrong[name][number] = list(losses_if_wrong(scored, outside).values())
        if number == 0:
            trial.rule_out(_slow(candidates, rows))
    return trial


def _slow(candidates: Mapping[str, Any], rows: BasePrediction) -> set[str]:
    """Return the candidates whose fits are estimated to take longer than the mean of all."""
    n_classes = rows.n_scores // rows.n_samples
    seconds = {name: fit_seconds(each, rows.n_samples, n_classes) for name, each in candidates.items()}
    mean = sum(seconds.values()) / max(len(seconds), 1)
    return {name for name, each in seconds.items() if each > mean}


def _mean_and_error(values: np.ndarray, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Means of (m, n) values of rows, and their standard errors, weighted and by cluster."""
    mean = values @ rows.weights / rows.weights.sum()
    away = np.array([rows.clusters.sums(row) for row in rows.weights * (values - mean[:, None])])
    n_units = away.shape[1]
    spread = np.sqrt(np.sum(away**2, axis=1) * n_units / max(n_units - 1, 1))
    return mean, spread / values.shape[1]


def fitted_numbers(calibrator: BaseEstimator) -> int:
    """Count the numbers that a fitted calibrator has learned: the fewer, the simpler it is.

    >>> from calib import PlattScaling
    >>> fitted_numbers(PlattScaling().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]))
    2
    """
    if isinstance(calibrator, MulticlassToBinary):
        distinct = {id(binary): binary for binary in calibrator.calibrators_ if binary is not None}
        return sum(fitted_numbers(binary) for binary in distinct.values())
    if hasattr(calibrator, "n_parameters"):
        return int(calibrator.n_parameters(calibrator.n_classes_))
    curve = getattr(calibrator, "curve_", None)
    if isinstance(curve, Logistic):
        return len({float(curve.a), float(curve.b)}) + 1 - getattr(calibrator, "fixed_slope", False)
    fitted = vars(calibrator) if curve is None else curve._asdict()
    arrays = [np.asarray(value) for name, value in fitted.items() if curve is not None or name.endswith("_")]
    return sum(array.size for array in arrays if array.dtype.kind == "f")


def _chosen(name: str, n_close: int, trial: _Trial, n_samples: int) -> str:
    rows = f"the {n_samples:,} calibration rows"
    if trial.rows.n_samples < n_samples:
        rows = f"{trial.rows.n_samples:,} of {rows}, drawn at random"
    why = "it is closest to the lowest Brier score and log loss"
    if n_close > 1:
        why = (
            f"of the {n_close} within one standard error of the lowest Brier score and log loss, it fits the "
            f"fewest numbers, {trial.numbers[name]:,}"
        )
    n_tried = len(trial.losses) - 1 + len(trial.ruled_out)
    among = f"{n_tried:,} calibrators by {N_FOLDS}-fold cross-validation on {rows}"
    return f"{name} is chosen among {among}: {why}."


def _change_of(title: str, change: PairedInterval) -> str:
    """Say how a score changes, or that it may change if its interval holds 0."""
    verb, sign = ("raise", 1.0) if change.difference >= 0.0 else ("lower", -1.0)
    if change.lower <= 0.0 <= change.upper:
        low, high = sorted((sign * change.lower, sign * change.upper))
        return f"may {verb} the {title} by {with_interval(abs(change.difference), low, high)}"
    return f"{verb}s the {title} by {size_with_interval(change.difference, change.lower, change.upper)}"


def confirm_choice(before: Rows, after: Rows) -> Confirmation:
    """Compare labelled rows before and after calibration by both proper scores of whole vectors."""
    losses = [vector_losses(each.predictions, before.predictions) for each in (before, after)]
    unseen = [unseen_losses(each, before, known) for each, known in zip((before, after), losses, strict=True)]
    first, second = (np.array(list(each.values())) for each in losses)
    more_first, more_second = (np.array(list(each.values())) for each in unseen)
    return _confirmed(before, first, second, more_second - more_first)


def _confirmed(rows: Rows, before: np.ndarray, after: np.ndarray, unseen: np.ndarray) -> Confirmation:
    """Compare losses (2, n); one more wrong row changes the mean differences by `unseen`, (2,)."""
    (brier,), (log_loss,) = _changes(rows, before, after[None], unseen[None], ALONE)
    return Confirmation(rows.n_samples, brier, log_loss, LEVEL)


def _changes(
    rows: Rows, before: np.ndarray, after: np.ndarray, unseen: np.ndarray, level: float = LEVEL
) -> list[list[PairedInterval]]:
    """Return the changes of both scores from (2, n) losses to the (m, 2, n) losses of m methods."""
    return [
        paired_intervals_of(before[at], after[:, at], score, rows, level, unseen[:, at])
        for at, score in enumerate(SCORES)
    ]


def _pooled_confirmation(inside: Confirmation, outside: Confirmation) -> Confirmation:
    """Return the effect on the rows of both, or on the second alone if the effects differ distinguishably."""
    pairs = [(getattr(inside, key), getattr(outside, key)) for key in SCORES]
    share = inside.n_samples / (inside.n_samples + outside.n_samples)
    apart = [_combined(*pair, (1.0, -1.0)) for pair in pairs]
    if any(not change.lower <= 0.0 <= change.upper for change in apart):
        return outside
    brier, log_loss = (_combined(*pair, (share, 1.0 - share)) for pair in pairs)
    return Confirmation(inside.n_samples + outside.n_samples, brier, log_loss, LEVEL)


def _combined(a: PairedInterval, b: PairedInterval, weights: tuple[float, float]) -> PairedInterval:
    """Return a weighted sum of independent estimates; squares of the half-widths add (Zou & Donner 2008)."""
    first, second, change, lower, upper = (
        np.multiply(weights, [getattr(a, part), getattr(b, part)])
        for part in ("estimate_a", "estimate_b", "difference", "lower", "upper")
    )
    low, high = np.minimum(lower, upper), np.maximum(lower, upper)
    total = float(change.sum())
    ends = total - float(np.hypot(*(change - low))), total + float(np.hypot(*(high - change)))
    return PairedInterval(a.metric, float(first.sum()), float(second.sum()), total, *ends, a.level)
