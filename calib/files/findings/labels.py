"""Findings about labels: missing, unknown or wrongly numbered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from calib.files.findings.codes import Finding, Repair, confidences, counted, some
from calib.files.findings.order import find_order_fault, minus_one, whole_numbers
from calib.files.readers.answers import classes_in, missing_cells, nearly_same
from calib.files.readers.raw_predictions import RawPredictions, label_text
from calib.files.readers.tables import some_names, words_in

#: P-value below which rows without labels have other confidences (Kolmogorov & Smirnov).
OTHER_P_VALUE = 1e-3


def find_label_faults(raw: RawPredictions) -> list[Finding]:
    """Return the findings about labels, with at most one explanation per symptom."""
    labels = raw.labels
    if labels is not None and labels.ndim > 1:
        return []
    found = [find_missing_labels(raw)]
    if labels is None or missing_cells(labels).all():
        return [each for each in found if each is not None]
    if "vector" not in raw.has:
        found += [_too_many_labels(raw), _mismatch(raw)]
    else:
        codes = raw.codes
        assert codes is not None
        unknown = (codes < 0) & ~missing_cells(labels)
        fault = _unknown_labels(raw, unknown) if unknown.any() else find_order_fault(raw, codes)
        found = [_assumed_names(raw), *found, fault]
    return [each for each in found if each is not None]


def _assumed_names(raw: RawPredictions) -> Finding | None:
    if raw.labels is None or raw.labels.dtype != object or raw.roles is None or not raw.class_names:
        return None
    if raw.roles.class_names is not None or len(raw.roles.probabilities) > 1:
        return None
    return Finding(
        "class_names_assumed",
        f"the {raw.n_classes} columns of scores have no names: they are taken to be the labels in order "
        f"({some_names(raw.names)}), as scikit-learn does. If that is not so, add class_names, or write "
        "one named column per class.",
        columns=raw.names,
    )


def find_missing_labels(raw: RawPredictions) -> Finding | None:
    """Find rows without a label, and say how their confidences differ from the other rows'."""
    missing = None if raw.labels is None else missing_cells(raw.labels) & ~raw.abstained
    if missing is None or missing.sum() == len(missing) - raw.abstained.sum():
        return Finding(
            "labels_missing",
            "there are no labels, so calibration cannot be measured or repaired; add a column 'label' "
            "or a label file. Applying a saved calibrator needs none.",
            severity="warning",
        )
    rows = np.flatnonzero(missing)
    if not len(rows):
        return None
    held = f"{some_names(raw.no_labels)} in " * bool(raw.no_labels)
    return Finding(
        "labels_missing",
        f"{len(rows):,} of {counted(len(missing), 'row')} {'has' if len(rows) == 1 else 'have'} no label "
        f"({held}{some(rows)}). {_other_confidences(raw, missing)}The fix removes "
        f"{'that row' if len(rows) == 1 else 'those rows'}.",
        rows,
        repair=_labelled,
    )


def _other_confidences(raw: RawPredictions, missing: np.ndarray) -> str:
    """Say how confidences with and without labels differ; "" if chance explains it."""
    confidence = confidences(raw)
    usable = np.isfinite(confidence) & ~raw.abstained
    without, labelled = confidence[usable & missing], confidence[usable & ~missing]
    if not len(without) or not len(labelled) or len(without) + len(labelled) == 2:
        return ""
    from scipy import stats  # takes a second to import; few files come to this

    if stats.ks_2samp(without, labelled, method="asymp").pvalue > OTHER_P_VALUE:
        return ""
    lowest = float(labelled.min())
    below = int((without < lowest).sum())
    who = "all" if below == len(without) else f"{below:,}"
    beyond = f", and {who} of them lie below {lowest:.4g}, the lowest labelled confidence" if below else ""
    return (
        f"They differ from labelled rows: their mean confidence is {without.mean():.3f}, against "
        f"{labelled.mean():.3f} of the labelled rows{beyond}. Results hold only for rows like the labelled "
        "rows. "
    )


def _labelled(data: RawPredictions) -> RawPredictions:
    return data if data.labels is None else data.take(~missing_cells(data.labels) | data.abstained)


def _too_many_labels(raw: RawPredictions) -> Finding | None:
    """Find labels of more than two classes beside one score without a predicted class."""
    assert raw.labels is not None
    if "event" not in raw.has or len(found := classes_in(raw.labels)) <= 2:
        return None
    return Finding(
        "predicted_missing",
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
        return Finding("label_names_unmatched", f"{fact}. {how}")
    pairs = ", ".join(f"{label!r} is {name!r}" for label, name in list(same.items())[:5])
    message = f"{fact}. The fix renames the labels: {pairs}."
    return Finding(
        "label_names_unmatched", message, columns=tuple(same), repair=partial(_renamed, names=same)
    )


def _unknown_labels(raw: RawPredictions, unknown: np.ndarray) -> Finding:
    assert raw.labels is not None
    rows = np.flatnonzero(unknown)
    numbers = whole_numbers(raw.labels)
    if numbers is None:
        return _unmatched_names(raw, rows)
    present = numbers[~missing_cells(raw.labels)]
    if present.min() == 1 and present.max() == raw.n_classes:
        return Finding(
            "labels_one_based",
            f"labels run from 1 to {raw.n_classes} for {raw.n_classes} classes: they count from 1. The "
            "fix subtracts 1.",
            rows,
            repair=minus_one,
        )
    values = pd.unique(raw.labels[rows])
    listed = ", ".join(map(label_text, values[:5])) + (", ..." if len(values) > 5 else "")
    drop = None if len(rows) == raw.n_samples else lambda data: data.take(~_unknown(data))
    how_many = f"{len(rows):,} of {counted(raw.n_samples, 'label')}"
    be = "is" if len(rows) == 1 else "are"
    what = f"{how_many} {be} not among the classes {some_names(raw.names)}: {listed} ({some(rows)}). "
    advice = "Name the columns like the labels, or correct the labels."
    how = f"The fix removes {'that row' if len(rows) == 1 else 'those rows'}." if drop else advice
    return Finding("label_out_of_range", what + how, rows, repair=drop)


def _unknown(data: RawPredictions) -> np.ndarray:
    codes = data.codes
    assert codes is not None
    assert data.labels is not None
    return (codes < 0) & ~missing_cells(data.labels)


def _unmatched_names(raw: RawPredictions, rows: np.ndarray) -> Finding:
    """Match text labels that equal no class, up to case and marks."""
    assert raw.labels is not None
    seen = classes_in(raw.labels)
    stray = [label for label in seen if label not in raw.names]
    same = nearly_same(stray, raw.names)
    few = len(rows) < 0.5 * raw.n_samples
    advice = "The fix removes those rows." if few else "Name the columns like the labels."
    repair: Repair | None = (lambda data: data.take(~_unknown(data))) if few else None
    if len(same) == len(stray) == len({*same.values()}):
        advice = "They match when case, spaces and punctuation are ignored; the fix renames them."
        repair = partial(_renamed, names=same)
    return Finding(
        "label_names_unmatched",
        f"{counted(len(stray), 'label name', ('matches', 'match'))} no class: {some_names(stray)}; the "
        f"classes are {some_names(raw.names)}. {advice}",
        rows,
        tuple(stray),
        repair,
    )


def _renamed(data: RawPredictions, names: Mapping[str, str]) -> RawPredictions:
    codes, words = words_in(np.asarray(data.labels))
    labels = np.array([names.get(word, word) for word in words], dtype=object)[codes]
    if data.predicted is None and data.ranked is None:
        return replace(data, labels=labels)
    cells = data.predicted if data.ranked is None else data.ranked.ravel()
    return replace(data, labels=labels, class_names=classes_in(cells, labels))
