"""Evidence of single rows: labelled predictions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np

from calib.base.exceptions import InputError
from calib.data.defaults import N_BINS
from calib.data.equal_rows import known_clusters, suspected_in
from calib.data.kinds import KINDS, kind_of, lacks, needs_rows
from calib.data.likeness import Suspected
from calib.data.notions import (
    POOLED_NOTIONS,
    TOP_K_NOTIONS,
    TOP_NOTIONS,
    Notion,
    NotionShape,
    PerClass,
    Strategy,
)
from calib.data.predictions import (
    BasePrediction,
    ConfidencePrediction,
    Predictions,
    Scores,
    TopLabelPrediction,
    Values,
    further_column,
    labelled,
    score_matrix,
    top_of,
)
from calib.data.validation import plain
from calib.data.weights import effective_rows, equal_weights, row_weights
from calib.evidence.binning import (
    BinaryProblems,
    BinStatistics,
    area_of,
    bin_columns,
    bin_entries,
    bin_statistics,
    stack_problems,
    uniform_finder,
)
from calib.evidence.clusters import Clusters, Dependence, latent_correlation
from calib.evidence.group_shares import Groups, Shares, shares_of_groups
from calib.evidence.reductions import (
    bin_each_class,
    event_scores,
    has_columns,
    n_classes_of,
    outcomes_of,
    problems_of,
    top_label,
)
from calib.evidence.row_scores import Area, Mean, mean_area, row_values, unseen_error, weighted_mean
from calib.evidence.sampling import (
    CORRELATION_CLAIMS,
    MAX_CORRELATED_CELLS,
    MAX_ROW_CLAIMS,
    Draw,
    Sampler,
    correlation_factor,
    draw_claims,
    draw_rows,
    draw_sums,
)
from calib.evidence.sums import SummedRows

__all__ = ["reduce_to_binary"]


class Rows:
    """Evidence of rows: labelled predictions, and the binary problems they were reduced to.

    Rows of weight 0 do not count, and are left out. `problems` of these rows may be known already.
    """

    def __init__(self, predictions: BasePrediction, *, problems: Sequence[BinaryProblems] = ()) -> None:
        weights = row_weights(predictions.sample_weight, predictions.n_samples)
        #: Which of the given rows count
        self.counts: np.ndarray | slice = weights.counts
        rows = predictions.take(self.counts) if isinstance(self.counts, np.ndarray) else predictions
        self.predictions: BasePrediction = rows
        self.kind: str = rows.kind  #: Kind of the predictions, see `calib.data.kinds`
        self.notion: Notion = KINDS[rows.kind].notion
        self.strategy: Strategy = rows.strategy  #: Bins that assess the scores
        self.class_names: tuple[str, ...] | None = rows.class_names
        self.n_samples: int = rows.n_samples
        self.labels = rows.truth  #: True classes or outcomes, as the predictions hold them
        self.weights: np.ndarray = weights.each  #: (n,) float64: Weights, with mean 1
        self.is_weighted: bool = weights.differ  #: Whether weights differ
        self._problems: dict[tuple[str, int | None], BinaryProblems] = {
            (problem.notion, None): problem for problem in problems
        }
        self._areas: dict[Notion, Area] = {}

    @property
    def n_given(self) -> int:
        """Number of given rows, with rows of weight 0."""
        return len(self.counts) if isinstance(self.counts, np.ndarray) else self.n_samples

    @property
    def is_declared(self) -> bool:
        return self.predictions.cluster is not None

    @cached_property
    def clusters(self) -> Clusters:
        """Which rows are known to belong together: by their clusters, or because they are copies."""
        return Clusters.of(known_clusters(self.predictions), self.n_samples)

    @cached_property
    def suspected(self) -> Suspected | None:
        """Which rows a test shows to be right or wrong together; None if clusters are known, or declared."""
        asked = self.clusters.independent and not self.is_declared
        return suspected_in(self.predictions) if asked else None

    @property
    def readings(self) -> tuple[Rows, ...]:
        """The same evidence and, if rows are suspected to belong together, the evidence if they do."""
        if self.suspected is None:
            return (self,)
        return self, self.with_clusters(Clusters.of(self.suspected.cluster, self.n_samples))

    def given(self, group: np.ndarray) -> Rows:
        clusters = self.clusters.given(group)
        return self if clusters is self.clusters else self.with_clusters(clusters)

    def with_clusters(self, clusters: Clusters) -> Rows:
        """Return the same evidence with other clusters, which are known."""
        other = copy(self)
        vars(other).pop("dependence", None)
        other._areas = {}
        other.clusters, other.suspected = clusters, None
        return other

    @property
    def n_clusters(self) -> int | None:
        return None if self.clusters.independent else self.clusters.n_clusters

    @cached_property
    def dependence(self) -> Dependence | None:
        """How the outcomes of the rows depend on each other; None if they do not."""
        if self.clusters.independent:
            return None
        score, outcome, problem = self.first_claims()
        return Dependence(self.clusters.code, latent_correlation(score, outcome, self.clusters.code, problem))

    @property
    def even_clusters(self) -> float | None:
        """Equal-sized clusters with as precise a variance (Satterthwaite 1946); None without clusters."""
        return None if self.dependence is None else self.dependence.even_clusters()

    def first_claims(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return score, outcome and problem of the most likely claim about each row, all (n,)."""
        problems = self.problems()
        last = np.zeros(problems.n_samples, dtype=np.int64)
        order = np.argsort(problems.scores, kind="stable")
        last[problems.rows[order]] = order
        problem = np.searchsorted(problems.offsets, last, side="right") - 1
        return problems.scores[last], problems.outcomes[last], problem

    @property
    def effective_samples(self) -> float:
        """Rows of equal weight that means over all rows would need (Kish 1965)."""
        return effective_rows(float(self.weights.sum()), float(self.weights @ self.weights))

    @property
    def true(self) -> np.ndarray:
        return np.bincount(self.labels, minlength=self.problems(self.notion).n_classes)

    def lacks(self, what: str) -> str | None:
        """Say in one sentence what something in `calib.data.kinds.NEEDS` lacks; None if nothing."""
        return lacks(self.kind, what)

    def take(self, rows: np.ndarray) -> Rows:
        chosen = Rows(self.predictions.take(rows))
        chosen.clusters = self.clusters.take(rows)
        return chosen

    def of_scores(self, scores: BasePrediction) -> Rows:
        other = Rows(scores)
        other.clusters, other.counts = self.clusters, self.counts
        if "suspected" in vars(self):
            other.suspected = self.suspected
        return other

    def tops(self) -> Rows:
        if event_scores(self.predictions) is not None or isinstance(self.predictions, TopLabelPrediction):
            return self
        return self.of_scores(top_of(self.predictions, *top_label(self.predictions)))

    @property
    def reduced(self) -> tuple[BinaryProblems, ...]:
        """Problems that were sorted already, of notions without ranks."""
        return tuple(found for (_, top_k), found in self._problems.items() if top_k is None)

    def problems(self, notion: Notion | None = None, top_k: int | None = None) -> BinaryProblems:
        key = notion or self.notion, top_k
        if key not in self._problems:
            self._problems[key] = self.weighted(problems_of(self.predictions, *key))
        return self._problems[key]

    def weighted(self, problems: BinaryProblems) -> BinaryProblems:
        return replace(problems, row_weights=self.weights) if self.is_weighted else problems

    def cells(
        self,
        notion: Notion | None = None,
        *,
        n_bins: int = N_BINS,
        strategy: Strategy | None = None,
        top_k: int | None = None,
        variance: bool = False,
        effects: bool = True,
    ) -> BinStatistics:
        """Return the cells (problem, bin) of a notion; parameters as for `bin_statistics`.

        `strategy` is by default the rows' own. `effects` says whether `square` allows for clusters, which
        means and errors do without. Equal-width bins of one number per row, and of columns, need no sorting.
        Other class-wise problems are sorted class by class, to save memory.
        """
        notion = notion or self.notion
        strategy = self.strategy if strategy is None else strategy
        if isinstance(strategy, PerClass) and notion in POOLED_NOTIONS:
            strategy = strategy.of_class(-1)
        independent = not effects or self.clusters.independent
        if independent and (notion, top_k) not in self._problems:
            found = self._unsorted_cells(notion, n_bins, strategy, top_k, variance=variance)
            if found is not None:
                return found
        problems = self.problems(notion, top_k)
        cells = bin_statistics(problems, n_bins=n_bins, strategy=strategy, variance=variance)
        if independent or self.dependence is None:
            return cells
        effect = self.dependence.design_effects(
            problems.scores, problems.rows, cells.of_entries, weight=problems.weights
        )[0][:, 0]
        return replace(cells, square=cells.square * effect)

    def _unsorted_cells(
        self, notion: Notion, n_bins: int, strategy: Strategy, top_k: int | None, *, variance: bool
    ) -> BinStatistics | None:
        if top_k is not None:
            return None
        rows = self.predictions
        if notion == "class-wise" and has_columns(rows):
            matrix = score_matrix(rows)
            shape = NotionShape(notion, matrix.shape[1])
            if strategy == "uniform" and not self.is_weighted:
                return bin_columns(matrix, rows.truth, shape, n_bins, variance=variance)

            def bin_class(code: int, problem: BinaryProblems) -> BinStatistics:
                class_strategy = strategy.of_class(code) if isinstance(strategy, PerClass) else strategy
                problem = self.weighted(problem)
                return bin_statistics(problem, n_bins=n_bins, strategy=class_strategy, variance=variance)

            return stack_problems(bin_each_class(bin_class, rows.truth, matrix), shape)
        has_top = isinstance(rows, (Predictions, TopLabelPrediction))
        if not has_top or notion not in TOP_NOTIONS or strategy != "uniform" or self.is_weighted or variance:
            return None
        predicted, confidence = top_label(rows)
        listed = rows if isinstance(rows, TopLabelPrediction) else None
        shape = NotionShape(notion, score_matrix(rows).shape[1] if listed is None else n_classes_of(listed))
        owner = shape.problems_of(predicted) if shape.n_problems > 1 else None
        return bin_entries(owner, confidence, predicted == rows.truth, shape, n_bins)

    def draw(self, cells: BinStatistics, sampler: Sampler | None = None) -> tuple[Draw, int]:
        """Return a function that draws the outcome sums of cells for a perfect model.

        `draw_rows` draws up to `MAX_ROW_CLAIMS` claims, claims of which several can be true of a row, and
        rows that belong together. `draw_sums` draws all others, with the correlations of exclusive claims.
        """
        several_true = self._several_true(cells)
        if sampler is None:
            few = cells.n_samples * cells.n_claims <= MAX_ROW_CLAIMS
            sampler = "rows" if few or several_true or not self.clusters.independent else "sums"
        if sampler == "rows":
            problems = self._problems_of(cells)
            return draw_rows(problems, cells, several_true=several_true, dependence=self.dependence)
        factor = None
        if cells.n_claims > 1 and len(cells.count) <= MAX_CORRELATED_CELLS:
            factor = correlation_factor(*self._entries_of_some(cells), len(cells.count))
        return draw_sums(cells, factor)

    def draw_clusters(self, parts: Sequence[BinStatistics]) -> tuple[Draw, int]:
        """Return `draw` of cells of several notions with one claim about each row, from the same outcomes."""
        return draw_claims([(self._problems_of(cells), cells) for cells in parts], self.dependence)

    def draw_each(self, cells: BinStatistics, chosen: np.ndarray | None = None) -> tuple[Draw, int]:
        """Return `draw` of cells (all or a mask) whose problems are judged separately."""
        if self.clusters.independent:
            return draw_sums(cells if chosen is None else cells.of(chosen))
        draw, width = self.draw(cells, "rows")
        if chosen is None:
            return draw, width
        return lambda generator, size: draw(generator, size)[chosen], width

    def _problems_of(self, cells: BinStatistics) -> BinaryProblems:
        for notion, top_k in self._problems:
            if notion == cells.notion and self._problems[notion, top_k].shape == cells.shape:
                return self._problems[notion, top_k]
        return self.problems(cells.notion, cells.n_claims if cells.notion in TOP_K_NOTIONS else None)

    def _several_true(self, cells: BinStatistics) -> bool:
        """Whether several claims about a row can be true, or none of all its classes."""
        return cells.notion == "class-wise" and cells.n_claims > 1 and "every label" in KINDS[self.kind].has

    def _entries_of_some(self, cells: BinStatistics) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n_rows = min(cells.n_samples, max(CORRELATION_CLAIMS // cells.n_claims, 1))
        chosen = np.random.default_rng(0).choice(cells.n_samples, n_rows, replace=False)
        unsorted = (cells.notion, None) not in self._problems
        if unsorted and cells.notion == "class-wise" and cells.strategy == "uniform":
            scores = score_matrix(self.predictions)[chosen].ravel()
            row, column = np.divmod(np.arange(len(scores)), cells.n_claims)
            cell_at = np.full(cells.n_claims * cells.n_bins, -1)
            cell_at[cells.problem * cells.n_bins + cells.bin] = np.arange(len(cells.count))
            bin_ = uniform_finder(cells.n_bins, scores.dtype)(scores)
            return row, cell_at[column * cells.n_bins + bin_], scores
        problems = self._problems_of(cells)
        place = np.full(problems.n_samples, -1)
        place[chosen] = np.arange(n_rows)
        entries = np.flatnonzero(place[problems.rows] >= 0)
        return place[problems.rows[entries]], cells.of_entries[entries], problems.scores[entries]

    def between_cells(self, cells: BinStatistics, slope: np.ndarray) -> float:
        """Covariances of cells, which share rows or clusters, in the variance of ``slope @ outcome sums``."""
        problems = self._problems_of(cells)
        residual = problems.outcomes - np.repeat(cells.mean_outcome, cells.count)
        residual *= np.repeat(slope, cells.count)
        residual *= problems.weights
        unit = self.clusters.code[problems.rows]
        whole = np.bincount(unit, weights=residual)
        if not self.clusters.independent:
            key = cells.of_entries * len(whole) + unit
            residual = np.bincount(np.unique(key, return_inverse=True)[1], residual)
        return float(whole @ whole - residual @ residual)

    def mean(self, name: str) -> Mean:
        values = row_values(self.predictions, name)
        total = float(self.weights.sum()) if self.is_weighted else self.n_samples
        mean = float(values @ self.weights) / total

        def variance() -> float:
            return self.clusters.spread(self.weights * (values - mean)) / total**2

        return Mean(mean, variance)

    def event_mean(self, rule: str, notion: Notion | None = None) -> float:
        problems = self.problems(notion)
        event = ConfidencePrediction._of(confidence=problems.scores, correct=problems.outcomes)
        return weighted_mean(row_values(event, rule), problems.weights)

    def area(self, notion: Notion) -> Area:
        if notion not in self._areas:
            events: Iterable[BinaryProblems] = (self.problems(notion),)
            if self._has_scores_of(notion):
                codes = range(score_matrix(self.predictions).shape[1])
                events = (self.weighted(problems_of(self._event_of(code), "confidence")) for code in codes)
            self._areas[notion] = mean_area(events, self.clusters)
        return self._areas[notion]

    def area_value(self, notion: Notion) -> float:
        """Return the value of `area`, which for unweighted rows takes less time than its variance."""
        if self.is_weighted or notion in self._areas:
            return self.area(notion).value
        if self._has_scores_of(notion):
            columns = enumerate(score_matrix(self.predictions).T)
            areas = [area_of(np.ascontiguousarray(column), self._is_true(code)) for code, column in columns]
        else:
            problems = self.problems(notion)
            areas = [area_of(problems.scores, problems.outcomes)]
        known = np.array(areas)[~np.isnan(areas)]
        return float(known.mean()) if len(known) else np.nan

    def _has_scores_of(self, notion: Notion) -> bool:
        return notion == "class-wise" and has_columns(self.predictions)

    def _event_of(self, code: int) -> ConfidencePrediction:
        """Return the score of one class of every row, and whether the class is true."""
        column = np.ascontiguousarray(score_matrix(self.predictions)[:, code])
        return self._event(column, self._is_true(code), code)

    def _is_true(self, code: int) -> np.ndarray:
        return self.labels == code if self.labels.ndim == 1 else self.labels[:, code]

    def _event(self, score: np.ndarray, happened: np.ndarray, code: int) -> ConfidencePrediction:
        own = self.strategy.of_class(code) if isinstance(self.strategy, PerClass) else self.strategy
        carried = {**self.predictions.carried, "strategy": own}
        return ConfidencePrediction._of(confidence=score, correct=happened, **carried)

    def unseen_error(self, metric: str, before: Rows | None = None) -> float:
        """Return how much one more wrong row changes the mean of a metric; see `row_scores.unseen_error`.

        `before` is the evidence of the same rows before calibration.
        """
        predicted = self.predictions if before is None else before.predictions
        return unseen_error(self.predictions, predicted, metric, self.weights, self.clusters)

    def of_class(self, label: int, notion: str = "top-label") -> Rows:
        if notion == "top-label":
            predicted, score = top_label(self.predictions)
            rows = np.flatnonzero(predicted == label)
            if not len(rows):
                raise InputError(f"class {label} is never predicted, so it has no top-label diagram")
            return self.of_scores(self._event(score, self.labels == label, label)).take(rows)
        if notion == "class-wise" and has_columns(self.predictions):
            return self.of_scores(self._event_of(label))
        raise InputError(
            f'the notion must be "top-label", or "class-wise" with a score for every class; got {notion!r}'
        )

    def groups(self, column: str, names: Sequence[str], code: np.ndarray, notion: Notion) -> Groups[Rows]:
        code = code[self.counts]
        rows = self.given(code)
        label, score, right = self.claims()
        strategy = self.strategy
        if notion == "confidence":
            label = np.zeros_like(label)
            strategy = strategy.of_class(-1) if isinstance(strategy, PerClass) else strategy
        width = int(label.max()) + 1
        pair, problem = np.unique(code * width + label, return_inverse=True)

        if isinstance(strategy, PerClass):
            others = np.flatnonzero(np.isin(pair % width, strategy.others))
            strategy = replace(strategy, others=tuple(others.tolist()))
        tops = {"label": problem, "confidence": score, "labels": np.where(right, problem, len(pair))}
        carried = {**self.predictions.carried, "strategy": strategy}
        evidence = rows.of_scores(TopLabelPrediction._of(**tops, **carried))
        if rows.dependence is not None:  # one correlation for the whole file
            evidence.dependence = rows.dependence

        def shares() -> tuple[Shares, Shares, np.ndarray]:
            correlation = 0.0 if rows.dependence is None else rows.dependence.correlation
            return shares_of_groups(code, len(names), rows.weights, right, score, rows.clusters, correlation)

        owner = np.append(pair // width, len(names))
        return Groups(column, tuple(names), evidence, owner, np.unique(code), shares)

    def shares_by_class(self) -> tuple[np.ndarray, Shares]:
        """Return the class codes of the problems of the first notion that have rows, and their shares."""
        problems = self.problems()
        size = np.diff(problems.offsets)
        present = np.flatnonzero(size)
        group = np.repeat(np.arange(len(present)), size[present])
        correlation = 0.0 if self.dependence is None else self.dependence.correlation
        scores, clusters = problems.scores.astype(np.float64), self.clusters.take(problems.rows)
        entries = problems.weights, problems.outcomes, scores, clusters
        own = shares_of_groups(group, len(present), *entries, correlation)[0]
        return problems.shape.labels_of(present), own

    def claims(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return class, score and outcome of the one claim about each row, all (n,)."""
        event = event_scores(self.predictions)
        if event is not None:
            return np.zeros(len(event), dtype=np.int64), event, outcomes_of(self.predictions)
        label, score = top_label(self.predictions)
        return label, score, self.labels == label


class ReducedRows(Rows):
    """Evidence of rows of which only the binary problems of one notion are known."""

    def __init__(self, problems: BinaryProblems) -> None:
        kinds = ("binary", "confidence") if problems.n_classes == 1 else ("vectors", "top-label")
        self.kind = kinds[problems.notion != "class-wise"]
        self.notion, self.strategy, self.class_names = problems.notion, "uniform", None
        self.n_samples = problems.n_samples
        self._ready = problems
        self._problems = {(problems.notion, None): problems}
        self._areas = {}
        self.counts = slice(None)
        self.is_weighted = problems.is_weighted
        given = problems.row_weights
        self.weights = equal_weights(problems.n_samples) if given is None else given
        self.suspected = None
        self.clusters = Clusters.of(problems.row_cluster, problems.n_samples)

    @property
    def predictions(self) -> BasePrediction:  # type: ignore[override]
        raise InputError(
            "binary problems hold no predictions; pass labels and scores, or labelled predictions"
        )

    def problems(self, notion: Notion | None = None, top_k: int | None = None) -> BinaryProblems:
        return self._ready

    def _unsorted_cells(self, *_: Any, **__: Any) -> None:
        return None

    def _several_true(self, cells: BinStatistics) -> bool:
        if cells.notion != "class-wise" or cells.n_claims == 1:
            return False
        true = np.bincount(self._ready.rows[self._ready.outcomes], minlength=self._ready.n_samples)
        return bool((true != 1).any())

    def _has_scores_of(self, notion: Notion) -> bool:
        return False


#: The source of every number: rows, or merged sums of rows.
Evidence: TypeAlias = Rows | SummedRows
#: What knows its outcomes: labelled predictions, reduced problems, or evidence.
Known: TypeAlias = BasePrediction | BinaryProblems | Evidence
#: The first argument of a function of (y_true, scores): labels, or one thing that knows its outcomes.
Source: TypeAlias = Values | Known


def as_evidence(
    y_true: Source,
    scores: Scores | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    tops: bool = False,
) -> Evidence:
    """Return the evidence of labels and scores, or of one thing that knows its outcomes, without scores.

    Weights and clusters are by default the predictions', or the evidence's own. `tops` as for `labelled`.
    """
    if scores is None and isinstance(y_true, (Rows, SummedRows, BinaryProblems)):
        if sample_weight is not None or cluster is not None:
            raise InputError(
                f"{type(y_true).__name__} has its own weights and clusters; pass sample_weight and cluster "
                "when it is made, for problems to reduce_to_binary"
            )
        return ReducedRows(y_true) if isinstance(y_true, BinaryProblems) else y_true
    return Rows(known_rows(y_true, scores, sample_weight, cluster, tops))


def single_rows(
    y_true: Source, scores: Scores | None, sample_weight: Values | None, cluster: Values | None, what: str
) -> Rows:
    evidence = as_evidence(y_true, scores, sample_weight, cluster)
    if isinstance(evidence, SummedRows):
        raise InputError(needs_rows(what))
    if isinstance(evidence, ReducedRows):
        raise InputError(f"{what} needs labelled predictions; BinaryProblems hold only scores and outcomes")
    return evidence


def scores_and_next(y_true: Source, scores: Any, given: Any) -> tuple[Any, Any]:
    """Return scores and the argument after them; labelled predictions may have that in second place.

    Their own labels are refused there: they could be meant as labels, or as times or groups.
    """
    own = getattr(y_true, "labels", None)
    alone = isinstance(y_true, (Rows, SummedRows)) or own is not None
    if not alone or given is not None or isinstance(scores, BasePrediction):
        return scores, given
    if own is not None and np.ndim(scores) and len(scores) == len(own):
        names, values = getattr(y_true, "class_names", None), np.asarray(plain(scores))
        words = np.asarray(names, dtype=object)[own] if names and own.dtype.kind in "iu" else own
        if np.array_equal(values, own) or np.array_equal(values, words):
            raise InputError(
                "labels and scores are swapped, or the labels are meant as the next argument: labelled rows "
                "stand alone, as in ece(rows); give an argument that equals their labels by its name"
            )
    return None, scores


def named_column(values: Any, y_true: Source, scores: Any = None) -> Any:
    """Return the further column of the predictions that a str names; anything else as it is."""
    rows = y_true if scores is None else scores
    rows = rows.predictions if isinstance(rows, Rows) else rows
    if not isinstance(values, str) or isinstance(rows, SummedRows):
        return values
    if isinstance(rows, BasePrediction):
        return further_column(rows, values)
    raise InputError(f"{values[:60]!r} names no column, because arrays have none; pass one value per row")


def as_pair(
    y_true: Source,
    scores_a: Scores | Known,
    scores_b: Scores | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> tuple[Rows, Rows]:
    """Return the evidence of two models for the same rows.

    The arguments are labels and the scores of both models, or two sets of labelled predictions. Rows belong
    to one cluster if both models' clusters say so; a model without clusters does not count. Both models need
    the same weights.
    """
    if scores_b is None:
        given = as_evidence(y_true, None, sample_weight, cluster), as_evidence(scores_a, None, sample_weight)
    else:
        first = as_evidence(y_true, cast(Scores, scores_a), sample_weight, cluster)
        given = first, as_evidence(y_true, scores_b, sample_weight, cluster)
    a, b = given
    if type(a) is not Rows or type(b) is not Rows:
        raise InputError("two models are compared row by row; sums and binary problems hold no labels")
    if a.kind != b.kind and any(rows.lacks("notion:top-label") for rows in given):
        kinds = f"{kind_of(a.predictions).title} and {kind_of(b.predictions).title}"
        raise InputError(f"two models are compared by scores of one kind; got {kinds}")
    if a.n_samples != b.n_samples:
        raise InputError(
            f"both models need scores for the same rows; got {a.n_samples:,} and {b.n_samples:,} rows"
        )
    if not np.array_equal(a.labels, b.labels):
        raise InputError("both models need the same rows in the same order, and their true labels differ")
    if not np.array_equal(a.weights, b.weights):
        raise InputError("both models need the same weights of the same rows, and theirs differ")
    a, b = copy(a), copy(b)
    a.clusters = b.clusters = a.clusters.within(b.clusters)
    return a, b


def known_rows(
    y_true: Source,
    scores: Scores | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    tops: bool = False,
) -> BasePrediction:
    """Return labels and scores as labelled predictions, or the predictions that came in first place."""
    if y_true is None:
        raise InputError("the true labels are needed; got None")
    if scores is None and type(y_true) is Rows:
        return cast(Rows, as_evidence(y_true, None, sample_weight, cluster)).predictions
    for given, place in ((scores, "second"), (y_true, "first")):
        if isinstance(given, (Rows, SummedRows, BinaryProblems)):
            raise InputError(
                f"{type(given).__name__} knows its outcomes and came {place} of two; pass it alone"
                if scores is not None
                else f"labelled predictions are needed, and not a {type(given).__name__}"
            )
    if scores is not None:
        return labelled(cast(Values, y_true), scores, sample_weight, cluster, tops=tops)
    if not isinstance(y_true, BasePrediction):
        raise InputError(
            "scores are missing: pass labels and scores, or labelled predictions; got a "
            f"{type(y_true).__name__}"
        )
    rows = y_true if sample_weight is None else y_true.with_weights(sample_weight)
    return rows if cluster is None else rows.with_cluster(cluster)


def reduce_to_binary(
    y_true: Source,
    scores: Scores | None = None,
    notion: Notion | None = None,
    *,
    top_k: int | None = None,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
) -> BinaryProblems:
    """Reduce multiclass predictions to the binary problems of an M2B notion.

    ==================  ==========================  ========  ==============
    notion              problems                    score     outcome
    ==================  ==========================  ========  ==============
    "confidence"        1                           h(x)      Y = c(x)
    "top-label"         L, rows with c(x) = l       h(x)      Y = l
    "class-wise"        L, all rows                 h_l(x)    Y = l
    "top-k-confidence"  K, all rows                 h^(k)(x)  Y = c^(k)(x)
    "top-k-label"       K * L, rows c^(k)(x) = l    h^(k)(x)  Y = l
    ==================  ==========================  ========  ==============

    Parameters
    ----------
    y_true : (n,) array_like
        As for `calib.ece`; for a `MultilabelPrediction`, (n, L), whether each class is true.
    scores : (n, L) or (n,) array_like, or predictions of any kind
        Scores in [0, 1]; rows need not sum to 1. A `TopLabelPrediction` serves "confidence" and "top-label"
        only, a `ConfidencePrediction` "confidence" only, a `MultilabelPrediction` "class-wise" only. 1-D
        scores and a `BinaryPrediction` are one problem for every notion but the top-K notions.
    notion : str, optional
        One of the table above; by default as for `calib.ece`.
    top_k : int, optional
        K for the top-K notions (default min(L, 5), or all ranks of a `TopKPrediction`).
    sample_weight, cluster
        As for `calib.noise_floor`. Rows of weight 0 are left out.

    Notes
    -----
    Algorithm 7 of the paper (top-K-confidence) prints the outcome 1{Y = l}; 1{Y = c^(k)(X)} is meant.
    """
    rows = as_evidence(y_true, scores, sample_weight, cluster)
    problems = rows.problems(notion, top_k)
    assert isinstance(rows, Rows), "sums hold no problems"
    return replace(problems, row_cluster=None if rows.n_clusters is None else rows.clusters.code)
