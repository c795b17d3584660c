"""Scores judged in the cells of other scores of the same rows (Appendix F of the paper)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calib.base.exceptions import InputError
from calib.data.defaults import N_BINS
from calib.data.notions import Notion, Strategy
from calib.data.predictions import BasePrediction, Scores, as_predictions
from calib.evidence.binning import BinaryProblems, BinStatistics, bin_statistics
from calib.evidence.rows import Known, ReducedRows, Rows, as_evidence
from calib.evidence.sums import SummedRows


class SharedCells(ReducedRows):
    """Evidence of the rows of `scores` in the cells of `reference`, by default one for each of its values.

    Parameters
    ----------
    scores : Rows
        The evidence that is judged, with its weights and clusters.
    reference : scores of any kind, or evidence
        Scores of a calibrator for the same rows, which make the cells.
    notion
        As for `calib.ece`.
    """

    def __init__(
        self,
        scores: Rows | SummedRows,
        reference: Scores | Known,
        notion: Notion | None = None,
    ) -> None:
        problems = scores.problems(notion)
        assert isinstance(scores, Rows), "sums hold no problems"
        cut = _evidence_of(reference, scores).problems(problems.notion)
        self._cut = replace(cut, row_weights=problems.row_weights)
        super().__init__(replace(self._cut, scores=_in_order_of(cut, problems)))
        self.strategy, self.clusters = "discrete", scores.clusters
        self.dependence = scores.dependence

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
        strategy = self.strategy if strategy is None else strategy
        cells = bin_statistics(self._cut, n_bins=n_bins, strategy=strategy)
        weights, scores = self.problems().weights, self.problems().scores.astype(np.float64)
        return replace(
            cells,
            mean_score=np.add.reduceat(weights * scores, cells.start) / cells.weight,
            variance=np.add.reduceat(weights**2 * scores * (1.0 - scores), cells.start),
        )


def _evidence_of(reference: Scores | Known, scores: Rows) -> Rows | SummedRows:
    """Return the evidence of scores of the rows of other evidence, whose outcomes they may not know."""
    if isinstance(reference, (Rows, SummedRows, BinaryProblems)):
        return as_evidence(reference)
    if not isinstance(reference, BasePrediction):
        reference = as_predictions(reference, what="reference")
    rows = reference.take(scores.counts) if isinstance(scores.counts, np.ndarray) else reference
    if rows.labels is None:
        rows = rows.with_labels(scores.labels)
    return Rows(rows.with_weights(None))


def _in_order_of(cut: BinaryProblems, problems: BinaryProblems) -> np.ndarray:
    """Scores of `problems` in the order of the entries of `cut`; both are matched by claim and row."""
    if (cut.n_samples, cut.n_claims) != (problems.n_samples, problems.n_claims):
        raise InputError(
            f"reference must be about the same rows as scores: got {cut.n_samples:,} rows and "
            f"{problems.n_samples:,} rows, {cut.n_claims} and {problems.n_claims} claims each"
        )
    (cut_keys, cut_labels), (keys, labels) = _keys(cut), _keys(problems)
    position = np.empty(len(keys), dtype=np.int64)
    position[keys] = np.arange(len(keys))
    position = position[cut_keys]
    other = (labels[position] != cut_labels) | (problems.outcomes[position] != cut.outcomes)
    if other.any():
        row = int(cut.rows[other.argmax()])
        raise InputError(
            f"reference predicts another class than scores in {int(other.sum()):,} rows, the first of them "
            f"row {row}; a validity curve compares them class by class"
        )
    return problems.scores[position]


def _keys(problems: BinaryProblems) -> tuple[np.ndarray, np.ndarray]:
    """(claim, row) of each entry as one number, and the class its problem is about."""
    owner = np.repeat(np.arange(problems.n_problems), np.diff(problems.offsets))
    keys = problems.shape.claims_of(owner) * problems.n_samples + problems.rows
    return keys, problems.shape.labels_of(owner)
