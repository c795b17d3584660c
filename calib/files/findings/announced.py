"""Findings about predictions that are not vectors: a class with its confidence, a confidence, P(Y = 1)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calib.files.findings.codes import Finding, counted, some
from calib.files.findings.column_findings import find_not_finite
from calib.files.findings.confidence import find_few_distinct, find_saturated
from calib.files.findings.labels import find_missing_labels
from calib.files.findings.sample import class_faults, find_few_rows
from calib.files.findings.scale import hundredths
from calib.files.readers.answers import ANOTHER, classes_in
from calib.files.readers.columns import is_within
from calib.files.readers.raw_predictions import RawPredictions, from_log_odds, is_outside
from calib.files.readers.tables import some_names, words_in


def find_announced_faults(raw: RawPredictions, *, n_bins: int, points_per_bin: int) -> list[Finding]:
    """Return the findings about predictions that are not vectors, except ids, columns and overlap."""
    usable = raw.proba[np.isfinite(raw.proba).all(axis=1) & ~raw.abstained]
    found = [_abstentions(raw), find_not_finite(raw)]
    more: list[Finding] = []
    if len(usable):
        found.append(_scale(raw, usable))
        if "every label" not in raw.has:
            full = np.flatnonzero(raw.proba[:, 0] >= 1.0) if usable.max() <= 1.0 + 1e-6 else usable[:0, 0]
            more = [*find_saturated(full, raw.n_samples), *find_few_distinct(usable[:, 0])]
    if raw.labels is None or raw.labels.ndim == 1:
        found.append(find_missing_labels(raw))
    found += [_too_many_labels(raw), _mismatch(raw)]
    classes = _class_faults(raw, len(usable), n_bins, points_per_bin)
    return [*(each for each in found if each is not None), *more, *classes]


def _class_faults(raw: RawPredictions, n: int, n_bins: int, points_per_bin: int) -> list[Finding]:
    size, predicted, true = len(raw.names), raw.predicted_codes(), raw.codes
    if "every label" in raw.has and raw.labels is not None:
        times = np.nan_to_num(raw.labels.astype(np.float64)).sum(axis=0)
        return class_faults(raw.names, n, None, true=times, n_bins=n_bins)
    if "announced class" not in raw.has or predicted is None:
        return find_few_rows(n, n_bins)
    times = np.bincount(predicted[predicted >= 0], minlength=size)
    counts = None if true is None else np.bincount(true[true >= 0], minlength=size)
    if ANOTHER in raw.names:
        size, counts = size - 1, None
    options = {"n_bins": n_bins, "points_per_bin": points_per_bin}
    return class_faults(raw.names[:size], n, times[:size], true=counts, expected=None, **options)


def _abstentions(raw: RawPredictions) -> Finding | None:
    none = raw.abstained
    if not none.any():
        return None
    assert raw.predicted is not None
    rows = np.flatnonzero(none)
    values = classes_in(raw.predicted[none]) or ("(empty)",)
    return Finding(
        "abstentions",
        "note",
        f"{len(rows):,} of {counted(raw.n_samples, 'row')} {'has' if len(rows) == 1 else 'have'} no answer "
        f"({some_names(values)}; {some(rows)}). They are left out, neither right nor wrong. The coverage is "
        f"{1 - none.mean():.1%}. If other values mean that there is no answer, name them.",
        rows,
        values,
    )


def _scale(raw: RawPredictions, usable: np.ndarray) -> Finding | None:
    """Say how scores outside [0, 1] are read: by their name, or as log-odds if they lie around 0."""
    low, high = float(usable.min()), float(usable.max())
    what, scale = f"the scores run from {low:.4g} to {high:.4g}", raw.scale_of(usable)
    with np.errstate(invalid="ignore"):  # missing scores
        rows = np.flatnonzero(((raw.proba < 0.0) | (raw.proba > 1.0 + 1e-6)).any(axis=1))
    if is_within(usable):
        how = (
            f"{counted(len(rows), 'row')} ({some(rows)}) lie outside [0, 1] by rounding, and count as 0 or 1"
        )
        return Finding("rounding", "note", f"{what}: {how}.", rows) if is_outside(usable) else None
    known = {
        "logits": "log-odds, by their name. They become 1 / (1 + exp(-score))",
        "log_probabilities": "log-probabilities, by their name. They become exp(score)",
        "percent": "percentages; they are divided by 100",
    }
    if scale in known and (scale != "log_probabilities" or high <= 1e-6):
        repair = hundredths if scale == "percent" else None
        return Finding(scale, "note", f"{what}: {known[scale]}.", repair=repair)
    if raw.has & {"event", "every label"} and low < 0.0 < high:
        return Finding(
            "logits",
            "error",
            f"{what}: they look like log-odds. The fix makes them 1 / (1 + exp(-score)).",
            repair=lambda data: replace(data, proba=from_log_odds(data.proba), scale="probabilities"),
        )
    return Finding(
        "scale_unknown",
        "error",
        f"{what}, and a probability lies in [0, 1]: {len(rows):,} rows are outside ({some(rows)}). Write "
        "probabilities, or say what the scores are: percent, logits or log_probabilities.",
        rows,
    )


def _too_many_labels(raw: RawPredictions) -> Finding | None:
    """Find labels of more than two classes beside one score without a predicted class."""
    if "event" not in raw.has or raw.labels is None or len(found := classes_in(raw.labels)) <= 2:
        return None
    return Finding(
        "predicted_missing",
        "error",
        f"the labels hold {len(found):,} classes ({some_names(found)}), and there is one column of scores. "
        "If it is the confidence in the predicted class, add that class as a column 'predicted'; else add "
        "a score for every class.",
        columns=found,
    )


def _mismatch(raw: RawPredictions) -> Finding | None:
    """Find predicted classes that are never true, or that are numbered differently from the labels."""
    if (mismatch := raw.mismatch()) is None:
        return None
    fact, same = mismatch
    if same is None:
        how = "Write the same names in both columns, or name the column of the true class."
        return Finding("label_names_unmatched", "error", f"{fact}. {how}")
    pairs = ", ".join(f"{label!r} is {name!r}" for label, name in list(same.items())[:5])

    def renamed(data: RawPredictions) -> RawPredictions:
        codes, words = words_in(np.asarray(data.labels))
        labels = np.array([same.get(word, word) for word in words], dtype=object)[codes]
        cells = data.predicted if data.ranked is None else data.ranked.ravel()
        return replace(data, labels=labels, class_names=classes_in(cells, labels))

    message = f"{fact}. The fix renames the labels: {pairs}."
    return Finding("label_names_unmatched", "error", message, columns=tuple(same), repair=renamed)
