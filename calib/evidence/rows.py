"""Evidence of single rows: predictions and outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.data.defaults import N_BINS
from calib.data.effective import effective_rows
from calib.data.kinds import KINDS, kind_of, lacks
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
    ConfidencePrediction,
    Predictions,
    TopLabelPrediction,
    score_matrix,
    weights_of,
)
from calib.data.validation import as_labels
from calib.evidence.binning import (
    BinaryProblems,
    BinFinder,
    BinStatistics,
    bin_columns,
    bin_entries,
    bin_statistics,
    stack_problems,
    uniform_edges,
)
from calib.evidence.clusters import Dependence, latent_correlation
from calib.evidence.evidence import Groups, Mean
from calib.evidence.ranking import Area, mean_area
from calib.evidence.reductions import (
    bin_each_class,
    check_serves,
    class_labels,
    counted_rows,
    event_scores,
    has_columns,
    labels_of_tops,
    outcomes_of,
    problems_of,
    top_label,
)
from calib.evidence.row_scores import row_values, vector_values, weighted_mean
from calib.evidence.sampling import (
    CORRELATION_CLAIMS,
    MAX_CORRELATED_CELLS,
    MAX_ROW_CLAIMS,
    Draw,
    Sampler,
    correlation_factor,
    draw_rows,
    draw_sums_of,
)
from calib.evidence.sums import SummedRows


class Rows:
    """Evidence of rows: their predictions, outcomes and weights.

    Arguments as for `reduce_to_binary`; None and `BinaryProblems` for ready problems. `problems` are the
    result of `reduce_to_binary` for these rows, if known already.
    """

    def __init__(
        self,
        y_true: Any,
        scores: Any,
        *,
        sample_weight: Any = None,
        cluster: Any = None,
        problems: Sequence[BinaryProblems] = (),
    ) -> None:
        self._ready = scores if isinstance(scores, BinaryProblems) else None
        if self._ready is not None and sample_weight is not None:
            raise InputError(
                "scores are reduced already, and sample_weight came too late; pass it to reduce_to_binary"
            )
        self.y_true, self.scores, self.weights = y_true, scores, None
        if self._ready is None:
            #: Number of the cluster of each row, (n,) int64; None if rows are independent.
            self.cluster: np.ndarray | None
            counted = counted_rows(y_true, scores, sample_weight, cluster)
            self.y_true, self.scores, self.weights, self.cluster = counted
        else:
            self.weights, self.cluster = self._ready.row_weights, self._ready.row_cluster
        given = None if self._ready is not None else weights_of(scores, sample_weight)
        #: Which of the given rows count, because their weight is above 0; None for all.
        self.counts = None if given is None else np.asarray(given) > 0.0
        self._problems: dict[tuple[str, int | None], BinaryProblems] = {
            (problem.notion, None): problem for problem in problems
        }
        self._areas: dict[Notion, Area] = {}

    @property
    def kind(self) -> str:
        """Kind of the predictions, see `calib.data.kinds`; for ready problems, their source's."""
        if self._ready is None:
            return kind_of(self.scores).name
        if self._ready.n_classes > 1:
            return "vectors" if self._ready.notion == "class-wise" else "top-label"
        return "binary" if self._ready.notion == "class-wise" else "confidence"

    @property
    def notion(self) -> Notion:
        return KINDS[self.kind].notion if self._ready is None else self._ready.notion

    @property
    def class_names(self) -> tuple[str, ...] | None:
        return getattr(self.scores, "class_names", None)

    @property
    def n_samples(self) -> int:
        if self._ready is not None:
            return self._ready.n_samples
        return getattr(self.scores, "n_samples", None) or len(self.scores)

    @property
    def is_weighted(self) -> bool:
        return self.weights is not None

    @property
    def n_clusters(self) -> int | None:
        return None if self.cluster is None else int(self.cluster.max()) + 1

    @cached_property
    def dependence(self) -> Dependence | None:
        """How the outcomes of the rows depend on each other; None if they do not."""
        if self.cluster is None:
            return None
        score, outcome, problem = self.first_claims()
        return Dependence(self.cluster, latent_correlation(score, outcome, self.cluster, problem))

    @property
    def even_clusters(self) -> float | None:
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
        if self.weights is None:
            return float(self.n_samples)
        return effective_rows(float(self.weights.sum()), float(self.weights @ self.weights))

    @property
    def true(self) -> np.ndarray:
        n_classes = self.problems(self.notion).n_classes
        return np.bincount(as_labels(self.y_true, self.n_samples, n_classes), minlength=n_classes)

    def lacks(self, what: str) -> str | None:
        return lacks(self.kind, what)

    def problems(self, notion: Notion | None = None, top_k: int | None = None) -> BinaryProblems:
        if self._ready is not None:
            return self._ready
        key = notion or self.notion, top_k
        if key not in self._problems:
            self._problems[key] = problems_of(self.y_true, self.scores, self.weights, self.cluster, *key)
        return self._problems[key]

    def cells(
        self,
        notion: Notion | None = None,
        *,
        n_bins: int = N_BINS,
        strategy: Strategy = "uniform",
        top_k: int | None = None,
        variance: bool = False,
    ) -> BinStatistics:
        """Return the cells (problem, bin) of a notion; parameters as for `bin_statistics`.

        Equal-width bins of one number per row, and of columns, need no sorting. Other class-wise problems are
        sorted class by class, to save memory.
        """
        notion = notion or self.notion
        if self._ready is None:
            check_serves(self.scores, notion)
        if isinstance(strategy, PerClass) and notion in POOLED_NOTIONS:
            strategy = strategy.of_class(-1)
        if self._ready is None and self.cluster is None and (notion, top_k) not in self._problems:
            found = self._unsorted_cells(notion, n_bins, strategy, top_k, variance=variance)
            if found is not None:
                return found
        problems = self.problems(notion, top_k)
        cells = bin_statistics(problems, n_bins=n_bins, strategy=strategy, variance=variance)
        if self.dependence is None:
            return cells
        cell = np.repeat(np.arange(len(cells.count)), cells.count)
        effect = self.dependence.design_effects(
            problems.scores, problems.rows, cell, weight=problems.weights
        )[0][:, 0]
        return replace(cells, square=cells.square * effect)

    def _unsorted_cells(
        self, notion: Notion, n_bins: int, strategy: Strategy, top_k: int | None, *, variance: bool
    ) -> BinStatistics | None:
        if top_k is not None:
            return None
        if notion == "class-wise" and has_columns(self.scores):
            matrix = score_matrix(self.scores)
            labels, shape = (
                class_labels(self.y_true, self.scores, matrix),
                NotionShape(notion, matrix.shape[1]),
            )
            if strategy == "uniform" and self.weights is None:
                return bin_columns(matrix, labels, shape, n_bins, variance=variance)

            def bin_class(code: int, problem: BinaryProblems) -> BinStatistics:
                class_strategy = strategy.of_class(code) if isinstance(strategy, PerClass) else strategy
                return bin_statistics(problem, n_bins=n_bins, strategy=class_strategy, variance=variance)

            return stack_problems(bin_each_class(bin_class, labels, matrix, self.weights), shape)
        has_top = has_columns(self.scores) or isinstance(self.scores, TopLabelPrediction)
        if not has_top or notion not in TOP_NOTIONS or strategy != "uniform" or self.is_weighted or variance:
            return None
        predicted, confidence = top_label(self.scores)
        if isinstance(self.scores, TopLabelPrediction):
            labels, n_classes = labels_of_tops(self.y_true, self.scores)
        else:
            named = isinstance(self.scores, Predictions)
            n_classes = self.scores.n_classes if named else np.shape(self.scores)[1]
            labels = as_labels(self.y_true, len(predicted), n_classes)
        shape = NotionShape.of(notion, n_classes)
        owner = shape.problems_of(predicted) if shape.n_problems > 1 else None
        return bin_entries(owner, confidence, predicted == labels, shape, n_bins)

    def draw(self, cells: BinStatistics, sampler: Sampler | None = None) -> tuple[Draw, int]:
        """Return a function that draws the outcome sums of cells for a perfect model.

        By `draw_rows` up to `MAX_ROW_CLAIMS` claims, and if several claims about a row can be true or rows
        belong together; else by `draw_sums`, with the correlations of exclusive claims.
        """
        several_true = self._several_true(cells)
        if sampler is None:
            few = cells.n_samples * cells.n_claims <= MAX_ROW_CLAIMS
            sampler = "rows" if few or several_true or self.cluster is not None else "sums"
        if sampler == "rows":
            options: dict[str, Any] = {"several_true": several_true, "dependence": self.dependence}
            return draw_rows(self._problems_of(cells), cells, **options)
        factor = None
        if cells.n_claims > 1 and len(cells.count) <= MAX_CORRELATED_CELLS:
            factor = correlation_factor(*self._entries_of_some(cells), len(cells.count))
        return draw_sums_of(cells, factor)

    def draw_each(self, cells: BinStatistics, chosen: np.ndarray | None = None) -> tuple[Draw, int]:
        """Return `draw` of cells (all or a mask) whose problems are judged separately."""
        if self.cluster is None:
            return draw_sums_of(cells if chosen is None else cells.of(chosen))
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
        if cells.notion != "class-wise" or cells.n_claims == 1:
            return False
        right = cells.weight @ cells.mean_outcome
        if self._ready is None:
            return self.kind == "multilabel"
        if not np.isclose(right, cells.n_samples):
            return True
        true = np.bincount(self._ready.rows[self._ready.outcomes], minlength=self._ready.n_samples)
        return bool((true != 1).any())

    def _entries_of_some(self, cells: BinStatistics) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n_rows = min(cells.n_samples, max(CORRELATION_CLAIMS // cells.n_claims, 1))
        chosen = np.random.default_rng(0).choice(cells.n_samples, n_rows, replace=False)
        unsorted = self._ready is None and (cells.notion, None) not in self._problems
        if unsorted and cells.notion == "class-wise" and cells.strategy == "uniform":
            scores = score_matrix(self.scores)[chosen].ravel()
            row, column = np.divmod(np.arange(len(scores)), cells.n_claims)
            cell_at = np.full(cells.n_claims * cells.n_bins, -1)
            cell_at[cells.problem * cells.n_bins + cells.bin] = np.arange(len(cells.count))
            bin_ = BinFinder(uniform_edges(cells.n_bins), scores.dtype)(scores)
            return row, cell_at[column * cells.n_bins + bin_], scores
        problems = self._problems_of(cells)
        place = np.full(problems.n_samples, -1)
        place[chosen] = np.arange(n_rows)
        entries = np.flatnonzero(place[problems.rows] >= 0)
        cell = np.repeat(np.arange(len(cells.count)), cells.count)[entries]
        return place[problems.rows[entries]], cell, problems.scores[entries]

    def between_cells(self, cells: BinStatistics, slope: np.ndarray) -> float:
        """Covariances of cells, which share rows or clusters, in the variance of ``slope @ outcome sums``."""
        problems = self._problems_of(cells)
        residual = problems.outcomes - np.repeat(cells.mean_outcome, cells.count)
        residual *= np.repeat(slope, cells.count)
        if problems.weights is not None:
            residual *= problems.weights
        unit = problems.rows if self.cluster is None else self.cluster[problems.rows]
        whole = np.bincount(unit, weights=residual)
        if self.cluster is not None:
            cell = np.repeat(np.arange(len(cells.count)), cells.count)
            residual = np.bincount(np.unique(cell * len(whole) + unit, return_inverse=True)[1], residual)
        return float(whole @ whole - residual @ residual)

    def mean(self, name: str) -> Mean:
        values = row_values(self.y_true, self.scores, name)
        mean, weights = weighted_mean(values, self.weights), self.weights
        away = values - mean if weights is None else weights * (values - mean)
        total = float(len(values)) if weights is None else float(weights.sum())
        if self.cluster is None:
            return Mean(mean, float(away @ away) / total**2)
        sums = np.bincount(self.cluster, away)
        return Mean(mean, float(sums @ sums) / total**2 * len(sums) / max(len(sums) - 1, 1))

    def event_mean(self, rule: str, notion: Notion | None = None, top_k: int | None = None) -> float:
        problems = self.problems(notion, top_k)
        event = ConfidencePrediction(problems.scores)
        return weighted_mean(row_values(problems.outcomes, event, rule), problems.weights)

    def area(self, notion: Notion) -> Area:
        if notion not in self._areas:
            self._areas[notion] = self._area(notion)
        return self._areas[notion]

    def _area(self, notion: Notion) -> Area:
        if notion != "class-wise" or self._ready is not None or not has_columns(self.scores):
            return mean_area([self.problems(notion)], self.cluster)
        matrix = score_matrix(self.scores)
        truth = class_labels(self.y_true, self.scores, matrix)
        events = (
            problems_of(
                truth == code if truth.ndim == 1 else truth[:, code],
                ConfidencePrediction(np.ascontiguousarray(column)),
                self.weights,
                None,
                "confidence",
            )
            for code, column in enumerate(matrix.T)
        )
        return mean_area(events, self.cluster)

    def losses(self) -> dict[str, float]:
        """Return the Brier score and the log loss of whole vectors, from one pass."""
        matrix = score_matrix(self.scores)
        values = vector_values(as_labels(self.y_true, *matrix.shape), matrix, ("brier", "log_loss"))
        return {name: weighted_mean(row_values, self.weights) for name, row_values in values.items()}

    def of_class(self, label: int, notion: str = "top-label") -> Rows:
        if notion == "top-label":
            predicted, score = top_label(self.scores)
            rows = predicted == label
            if not rows.any():
                raise InputError(f"class {label} is never predicted, so it has no top-label diagram")
            happened, score = np.asarray(self.y_true)[rows] == label, score[rows]
        elif notion == "class-wise" and not isinstance(self.scores, TopLabelPrediction):
            matrix = score_matrix(self.scores)
            score, rows = np.ascontiguousarray(matrix[:, label]), np.ones(len(matrix), dtype=bool)
            truth = class_labels(self.y_true, self.scores, matrix)
            happened = truth == label if truth.ndim == 1 else truth[:, label]
        else:
            raise InputError(
                'the notion must be "top-label", or "class-wise" with a score for every class; '
                f"got {notion!r}"
            )
        weights, cluster = (
            None if values is None else values[rows] for values in (self.weights, self.cluster)
        )
        return Rows(happened, ConfidencePrediction(score), sample_weight=weights, cluster=cluster)

    def groups(self, column: str, names: Sequence[str], code: np.ndarray, notion: Notion) -> Groups:
        code = code if self.counts is None else code[self.counts]
        label, score, right = self.claims()
        if notion == "confidence":
            label = np.zeros_like(label)
        width = int(label.max()) + 1
        pair, problem = np.unique(code * width + label, return_inverse=True)
        truth, top = np.where(right, problem, len(pair)), TopLabelPrediction(problem, score)

        def side(group: int, others: bool) -> Rows:
            rows = (code == group) != others
            truth = np.where(right, label, label + 1)[rows]
            weights, cluster = (
                None if values is None else values[rows] for values in (self.weights, self.cluster)
            )
            some = TopLabelPrediction(label[rows], score[rows])
            return Rows(truth, some, sample_weight=weights, cluster=cluster)

        evidence = Rows(truth, top, sample_weight=self.weights, cluster=self.cluster)
        if self.dependence is not None:  # one correlation for the whole file
            evidence.dependence = self.dependence
        owner = np.append(pair // width, len(names))
        return Groups(column, tuple(names), evidence, owner, np.unique(code), side)

    def claims(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return class, score and outcome of the one claim about each row, all (n,)."""
        event = event_scores(self.scores)
        if event is not None:
            return np.zeros(len(event), dtype=np.int64), event, outcomes_of(self.y_true, self.scores)
        label, score = top_label(self.scores)
        return label, score, as_labels(self.y_true, len(label), None) == label


def as_evidence(
    y_true: Any, scores: Any, sample_weight: Any = None, cluster: Any = None
) -> Rows | SummedRows:
    """Return `scores` if they are evidence already, else the evidence of rows."""
    if not isinstance(scores, (Rows, SummedRows)):
        return Rows(y_true, scores, sample_weight=sample_weight, cluster=cluster)
    if sample_weight is not None or cluster is not None:
        raise InputError("evidence has its own weights and clusters; pass these when it is made")
    return scores


def as_problems(
    y_true: Any, scores: Any, notion: Notion, top_k: int | None = None, sample_weight: Any = None
) -> BinaryProblems:
    """Return the binary problems of evidence or of rows; ready problems as they are."""
    return as_evidence(y_true, scores, sample_weight).problems(notion, top_k)
