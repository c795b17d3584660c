"""The sums of a summary as one GROUP BY, for tables in a warehouse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.data.validation import check_choice
from calib.evidence.cell_sums import CELLS, UNITS, CellSums, finder, integer_pair
from calib.evidence.row_scores import TINY
from calib.evidence.sums import LOSSES, SummedRows
from calib.files.readers.tables import as_keys, table_from_frame
from calib.scale.batches import in_order
from calib.scale.summary import Summary, combined

#: Columns of the result of the query.
COLUMNS = ("predicted", "true_class", "cell", "outcome", "n", "score_units", "square_units", "log_loss")
#: Types of each dialect for 64-bit numbers, and for whole numbers that hold sums of units.
_TYPES = {
    "duckdb": ("DOUBLE", "BIGINT"),
    "postgres": ("DOUBLE PRECISION", "NUMERIC(38, 0)"),
    "bigquery": ("FLOAT64", "NUMERIC"),
    "snowflake": ("DOUBLE", "NUMBER(38, 0)"),
    "spark": ("DOUBLE", "DECIMAL(38, 0)"),
}
DIALECTS = tuple(_TYPES)


def sql(
    dialect: str,
    *,
    table: str = "predictions",
    predicted: str = "predicted",
    confidence: str = "confidence",
    label: str = "label",
) -> str:
    """Return a query whose result `summary_of_counts` turns into a summary.

    Parameters
    ----------
    dialect : {"duckdb", "postgres", "bigquery", "snowflake", "spark"}
    table, predicted, confidence, label : str
        Names of the table and of its columns, as they are written in the query: they are neither quoted nor
        checked, and must come from you, not from a stranger.

    Notes
    -----
    Rows without a predicted class, a confidence in [0, 1] or a label are left out.
    """
    real, whole = _TYPES[check_choice(dialect, DIALECTS, "dialect")]
    n_steps, first, edge = finder(np.dtype(np.float64)).table
    rows = ",\n".join(
        f"    ({step}, {first[step]}, {'2e0' if np.isinf(edge[step]) else f'{edge[step]:.17e}'})"
        for step in range(n_steps + 1)
    )
    steps = f"(VALUES\n{rows}\n  ) AS steps (step, first_cell, edge)"
    if dialect == "bigquery":
        struct = "ARRAY<STRUCT<step INT64, first_cell INT64, edge FLOAT64>>"
        steps = f"UNNEST({struct}[\n{rows}\n  ]) AS steps"
    score = f"CAST(p.{confidence} AS {real})"
    units = f"CAST(FLOOR({{}} * {UNITS:.0f}e0 + 0.5e0) AS {whole})"
    right = f"p.{predicted} = p.{label}"
    chance = f"CASE WHEN {right} THEN {score} ELSE 1e0 - {score} END"
    integer = "INT64" if dialect == "bigquery" else "INTEGER"
    return (
        f"-- calib: sums over {CELLS} cells, of which every equal-width binning of up to 50 bins is made.\n"
        "SELECT\n"
        f"  p.{predicted} AS predicted,\n"
        f"  CASE WHEN {right} THEN NULL ELSE p.{label} END AS true_class,\n"
        f"  steps.first_cell + CASE WHEN {score} >= CAST(steps.edge AS {real}) THEN 1 ELSE 0 END AS cell,\n"
        f"  CASE WHEN {right} THEN 1 ELSE 0 END AS outcome,\n"
        "  COUNT(*) AS n,\n"
        f"  SUM({units.format(score)}) AS score_units,\n"
        f"  SUM({units.format(f'{score} * {score}')}) AS square_units,\n"
        f"  SUM(-LN(GREATEST({chance}, {TINY!r}))) AS log_loss\n"
        f"FROM {table} AS p\n"
        f"JOIN {steps}\n"
        f"  ON steps.step = CAST(FLOOR({score} * {n_steps}e0) AS {integer})\n"
        f"WHERE p.{predicted} IS NOT NULL AND p.{label} IS NOT NULL\n"
        f"  AND p.{confidence} >= 0 AND p.{confidence} <= 1\n"
        "GROUP BY 1, 2, 3, 4\n"
    )


def summary_of_counts(result: Any, source: str = "a query") -> Summary:
    """Return the summary of the result of `sql`, a frame with the columns `COLUMNS`.

    `source` says where the rows come from, for people.
    """
    frame = pd.DataFrame(result)
    missing = [name for name in COLUMNS if name not in frame]
    if missing:
        raise InputError(f"the result has no column {missing[0]!r}; pass what the query of `calib sql` gives")
    if not len(frame):
        raise InputError("the result has no rows")
    whole = {name: [int(value) for value in frame[name]] for name in ("cell", "outcome", "n")}
    cell, outcome = np.array(whole["cell"]), np.array(whole["outcome"])
    if cell.min() < 0 or cell.max() >= CELLS or not np.isin(outcome, (0, 1)).all() or min(whole["n"]) < 1:
        raise InputError("the result holds cells, outcomes or counts that the query cannot give")
    words = table_from_frame(frame[["predicted", "true_class"]]).columns
    predicted, other = as_keys(words["predicted"]), as_keys(words["true_class"])
    truth = np.where(other == "", predicted, other)  # empty if it is the predicted class
    names = in_order([*predicted, *truth])
    code = {name: at for at, name in enumerate(names)}
    count = np.array(whole["n"], dtype=np.int64)
    place = (np.array([code[name] for name in predicted]) * CELLS + cell) * 2 + outcome
    units = frame[["score_units", "square_units"]].map(int).astype(object)  # sums may exceed int64
    added = units.assign(n=count).groupby(place).sum()
    pairs = np.array([list(map(integer_pair, added[name])) for name in units])
    high, low = pairs[..., 0], pairs[..., 1]
    totals = added["n"].to_numpy()
    true = np.zeros(len(names), dtype=np.int64)
    np.add.at(true, [code[name] for name in truth], count)
    cells = CellSums(added.index.to_numpy(), totals, high, low)
    right = float(totals[cells.outcome == 1].sum())
    scores, squares = high + low
    brier = float(squares.sum() - 2.0 * scores[cells.outcome == 1].sum() + right)
    log_loss = float(frame["log_loss"].astype(np.float64).sum())
    losses = dict(zip(LOSSES, ((total, 0.0) for total in (brier, log_loss, log_loss, right)), strict=True))
    sums = SummedRows("top-label", names, int(count.sum()), 0, 0, cells, None, {}, true, losses)
    sums = combined([sums])
    return Summary.of(sums, (sums.fingerprint,), (), source)
