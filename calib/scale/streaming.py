"""The streaming metric: sums that batches are added to, in a training loop or by several processes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from calib.answers.metric_tables import Metrics, metrics
from calib.base.exceptions import InputError
from calib.data.defaults import N_BINS
from calib.data.kinds import kind_of
from calib.data.predictions import Predictions, TopLabelPrediction, names_given
from calib.evidence.reductions import event_scores, n_classes_of, outcomes_of
from calib.evidence.rows import known_rows
from calib.evidence.sums import SummedRows
from calib.scale.batches import Batch, check_streamed
from calib.scale.partial import Accumulator, check_alike, combined
from calib.scale.summary import Summary
from calib.scale.sweep import Sweep

#: Sums that are collected before they are added up: adding several at a time is faster.
MAX_KEPT = 16


class Sums:
    """Streaming metric: add batches as they come, and compute the numbers of all rows at any time.

    Memory does not grow with the rows. Whatever the batches, their order and the processes that add them,
    sums of rows without weights, and the numbers that follow, are the same to the last bit.
    `class_wise` sums the scores of every class, too, for the notion "class-wise".

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> first, second = Sums(), Sums()  # in two processes
    >>> for sums in (first, second):
    ...     for batch in range(10):
    ...         scores = random.dirichlet([1.0, 1.0, 1.0], 100)
    ...         y_true = (random.random((100, 1)) > scores.cumsum(axis=1)).sum(axis=1)
    ...         sums = sums.update(y_true, scores)
    >>> numbers = first.merge(second).compute()
    >>> numbers.n_samples, round(numbers.accuracy, 3), round(numbers.conf_ece, 3)
    (2000, 0.61, 0.037)
    """

    def __init__(self, *, class_wise: bool = False) -> None:
        self.class_wise = class_wise
        self._kept: list[SummedRows] = []

    def __repr__(self) -> str:
        return f"Sums(n_samples={self.n_samples}, class_wise={self.class_wise})"

    @property
    def n_samples(self) -> int:
        """Number of added rows with weight above 0."""
        return sum(part.n_samples for part in self._kept)

    def update(self, y_true: Any, scores: Any, *, sample_weight: Any = None) -> Self:
        """Add the rows of a batch; nothing is added if one of them cannot be used.

        Parameters
        ----------
        y_true : (n,) array_like
            True class codes; for 1-D scores whether the event happened. None for the labels that predictions
            came with.
        scores : (n, L) or (n,) array_like, or predictions of any kind
            Scores in [0, 1], such as a tensor of PyTorch on any device; 1-D scores are P(Y = 1). All batches
            must have the same kind and classes as the first, and weights if it has.
        sample_weight : (n,) array_like of float, optional
            Weights, 0 or more.

        Raises
        ------
        InputError
            If a row cannot be used, the rows have clusters, which sums cannot hold, or the batch does not fit
            earlier batches.
        """
        kind = kind_of(scores)
        check_streamed(kind.name, self.class_wise)
        rows = known_rows(y_true if y_true is not None else scores, None if y_true is None else scores)
        if rows.cluster is not None:
            raise InputError(
                "sums do not record which rows belong together; pass predictions without cluster"
            )
        if sample_weight is not None:
            rows = rows.with_weights(sample_weight)
        weights = rows.sample_weight
        kept: Any = slice(None)
        if weights is not None:
            kept = weights > 0.0
            weights = weights[kept]
        columns: Any = ()
        predicted, squares = np.ones(rows.n_samples, dtype=np.int8)[kept], None
        words: Any = rows.class_names
        if isinstance(rows, Predictions):
            columns = list(np.ascontiguousarray(rows.proba[kept].T))
            words, label = names_given(scores) or words, rows.truth[kept]
            swept = Sweep.of(columns, squares=True)
            score, predicted, squares = swept.score, swept.label, swept.squares
        elif isinstance(rows, TopLabelPrediction):
            n_classes = n_classes_of(rows)
            words = rows.class_names or tuple(str(code) for code in range(n_classes))
            if n_classes > len(words):
                raise InputError(
                    f"a label is none of the {len(words):,} classes of the predictions; pass "
                    "TopLabelPrediction(..., class_names=...) with the names of all classes"
                )
            score, predicted, label = rows.confidence[kept], rows.label[kept], rows.truth[kept]
        else:
            event = event_scores(rows)
            assert event is not None
            score, label = event[kept], outcomes_of(rows)[kept]
        known = words if kind.name in ("vectors", "binary") else ()
        options: Any = {"weighted": weights is not None, "class_wise": self.class_wise, "n_rows": len(score)}
        sums = Accumulator(kind.name, known, **options)
        sums.add(Batch(score, predicted, label, words or (), columns, squares, weights))
        return self.merge(sums.sums())

    def merge(self, other: Sums | SummedRows) -> Self:
        """Add the rows of another process, or of a summary; each row must be in one of the two.

        Raises
        ------
        InputError
            If `other` is this object, or holds rows of another kind, classes or sums.
        """
        if other is self:
            raise InputError("these sums cannot be merged with themselves: their rows would count twice")
        parts = [part for part in (other._kept if isinstance(other, Sums) else [other]) if part.n_samples]
        if parts and self._kept:
            for part in parts:
                check_alike(self._kept[0], part)
        self._kept += parts
        if len(self._kept) >= MAX_KEPT:
            self._kept = [combined(self._kept)]
        return self

    def compute(self, *, n_bins: int = N_BINS) -> Metrics:
        """Return the numbers of all rows so far, as `calib.metrics` does.

        `n_bins` are 1 to 50 equal-width bins. Raises `InputError` if no rows were added yet.
        """
        return metrics(self.summary(), n_bins=n_bins)

    def summary(self) -> Summary:
        """Return the summary of all rows so far: for noise floors, diagrams, gates and files.

        Raises `InputError` if no rows were added yet.
        """
        if not self._kept:
            raise InputError("no rows were added yet; call update(y_true, scores) first")
        self._kept = [combined(self._kept)]
        (total,) = self._kept
        return Summary.of(total, (total.fingerprint,))
