"""Findings about labels and predicted classes: missing, unknown, wrongly numbered, in another order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from calib.files.findings.codes import Finding, Repair, confidences, counted, some
from calib.files.readers.answers import classes_in, codes_of, missing_cells, nearly_same, outcomes_of
from calib.files.readers.columns import is_within
from calib.files.readers.conventions import is_called
from calib.files.readers.raw_predictions import RawPredictions
from calib.files.readers.tables import as_float, by_word, some_names

#: P-value below which rows without labels have other confidences (Kolmogorov & Smirnov).
OTHER_P_VALUE = 1e-3
#: Least gain in accuracy (beside 4 standard errors) of another reading of the labels, on held-out rows.
ACCURACY_GAIN = 0.1
STANDARD_ERRORS = 4.0
#: A model is at chance within this number of standard errors of unrelated labels' accuracy.
CHANCE_ERRORS = 3.0
#: Least excess of mean confidence over accuracy at which a model at chance counts as confident.
CONFIDENCE_GAP = 0.2
#: Fewest labelled rows that say anything about order.
MIN_ROWS = 30
#: Most classes with a table of L * L counts.
MAX_MATCHED = 2_000


def find_disagreement(raw: RawPredictions) -> Finding | None:
    """Find a column of predicted classes, or of right and wrong, that contradicts others."""
    roles, true = raw.roles, raw.codes
    if roles is None:
        return None
    differ, name = np.zeros(raw.n_samples, dtype=bool), roles.correct or ""
    others = "predicted and true classes"
    if "vector" in raw.has:
        others = "class with the highest score"
        for name in (name for name in roles.ignored if is_called(name, "predicted") and name in raw.metadata):
            named = codes_of(raw.metadata[name], raw.names, False)
            differ = (named >= 0) & (named != np.nan_to_num(raw.proba, nan=-np.inf).argmax(axis=1))
    elif raw.kind == "top-label" and roles.correct and roles.label and true is not None:
        outcome = outcomes_of(np.asarray(raw.metadata[name]), name)
        right = raw.top[0] == true
        differ = ~np.isnan(outcome) & (true >= 0) & ~raw.abstained & (right != (outcome == 1.0))
    if not len(rows := np.flatnonzero(differ)):
        return None
    message = (
        f"in {len(rows):,} of {counted(raw.n_samples, 'row')} ({some(rows)}) column {name!r} contradicts the "
        f"{others}. Column {name!r} is not used; remove or correct one of them."
    )
    return Finding("columns_disagree", message, rows, (name,))


def find_abstentions(raw: RawPredictions) -> Finding | None:
    rows = np.flatnonzero(none := raw.abstained)
    if not len(rows):
        return None
    values = classes_in(np.asarray(raw.predicted)[none]) or ("(empty)",)
    message = (
        f"{len(rows):,} of {counted(raw.n_samples, 'row')} {'has' if len(rows) == 1 else 'have'} no answer "
        f"({some_names(values)}; {some(rows)}). They are left out, neither right nor wrong. The coverage is "
        f"{1 - none.mean():.1%}. If other values mean that there is no answer, name them."
    )
    return Finding("abstentions", message, rows, values)


def find_label_faults(raw: RawPredictions) -> list[Finding]:
    """Return the findings about labels, with at most one explanation per symptom."""
    labels = raw.labels
    if labels is not None and labels.ndim > 1:
        return []
    found = [_missing_labels(raw)]
    if labels is not None and not missing_cells(labels).all():
        if (codes := raw.codes) is None or "vector" not in raw.has:
            found += [_too_many_labels(raw), _mismatch(raw)]
        else:
            fault = _unknown_labels(raw) or _shifted_by_one(raw, codes) or _column_order(raw, codes)
            found = [_assumed_names(raw), *found, fault or _shuffled(raw, codes)]
    return [each for each in found if each is not None]


def _assumed_names(raw: RawPredictions) -> Finding | None:
    roles, is_text = raw.roles, raw.labels is not None and raw.labels.dtype == object
    if roles is None or not is_text or not raw.class_names or roles.class_names is not None:
        return None
    if len(roles.probabilities) > 1:
        return None
    message = (
        f"the {raw.n_classes} columns of scores have no names: they are taken to be the labels in order "
        f"({some_names(raw.names)}), as scikit-learn does. If that is not so, add class_names, or write "
        "one named column per class."
    )
    return Finding("class_names_assumed", message, columns=raw.names)


def _missing_labels(raw: RawPredictions) -> Finding | None:
    """Find rows without a label, and say how their confidences differ from the other rows'."""
    missing = None if raw.labels is None else missing_cells(raw.labels) & ~raw.abstained
    if missing is None or missing.sum() == len(missing) - raw.abstained.sum():
        message = (
            "there are no labels, so calibration cannot be measured or repaired; add a column 'label' "
            "or a label file. Applying a saved calibrator needs none."
        )
        return Finding("labels_missing", message, severity="warning")
    rows = np.flatnonzero(missing)
    if not len(rows):
        return None
    held = f"{some_names(raw.no_labels)} in " * bool(raw.no_labels)
    have, those = ("has", "that row") if len(rows) == 1 else ("have", "those rows")
    return Finding(
        "labels_missing",
        f"{len(rows):,} of {counted(len(missing), 'row')} {have} no label ({held}{some(rows)}). "
        f"{_other_confidences(raw, missing)}The fix removes {those}.",
        rows,
        repair=lambda data: data.take(~missing_cells(np.asarray(data.labels)) | data.abstained),
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


def _too_many_labels(raw: RawPredictions) -> Finding | None:
    """Find labels of more than two classes beside one score without a predicted class."""
    if "event" not in raw.has or len(found := classes_in(raw.labels)) <= 2:
        return None
    message = (
        f"the labels hold {len(found):,} classes ({some_names(found)}), and there is one column of scores. "
        "If it is the confidence in the predicted class, add that class as a column 'predicted'; else add "
        "a score for every class."
    )
    return Finding("predicted_missing", message, columns=found)


def _mismatch(raw: RawPredictions) -> Finding | None:
    """Find predicted classes that are never true, or that are numbered differently from the labels."""
    if (mismatch := raw.mismatch()) is None:
        return None
    fact, same = mismatch
    if same is None:
        how = "Write the same names in both columns, or name the column of the true class."
        return Finding("label_names_unmatched", f"{fact}. {how}")
    pairs = ", ".join(f"{label!r} is {name!r}" for label, name in list(same.items())[:5])
    message, repair = f"{fact}. The fix renames the labels: {pairs}.", partial(_renamed, names=same)
    return Finding("label_names_unmatched", message, columns=tuple(same), repair=repair)


def _unknown_labels(raw: RawPredictions) -> Finding | None:
    """Explain labels that name no class: they count from 1, are written in another way, or are strays."""
    assert raw.labels is not None
    if not len(rows := np.flatnonzero(_unknown(raw))):
        return None
    numbers = whole_numbers(raw.labels)
    if numbers is not None and (np.nanmin(numbers), np.nanmax(numbers)) == (1, raw.n_classes):
        what = f"labels run from 1 to {raw.n_classes} for {raw.n_classes} classes: they count from 1"
        return Finding("labels_one_based", f"{what}. The fix subtracts 1.", rows, repair=minus_one)
    stray = classes_in(raw.labels[rows])
    same = nearly_same(stray, raw.names)
    repair: Repair | None = None
    how = "Name the columns like the labels."
    if len(same) == len(stray) == len({*same.values()}):
        how = "They match when case, spaces and punctuation are ignored; the fix renames them."
        repair = partial(_renamed, names=same)
    elif len(rows) < 0.5 * raw.n_samples:
        how, repair = "The fix removes those rows.", lambda data: data.take(~_unknown(data))
    message = (
        f"{len(rows):,} of {counted(raw.n_samples, 'label', ('is', 'are'))} not among the classes "
        f"{some_names(raw.names)}: {some_names(stray)} ({some(rows)}). {how}"
    )
    code = "label_names_unmatched" if numbers is None else "label_out_of_range"
    return Finding(code, message, rows, stray, repair)


def _unknown(data: RawPredictions) -> np.ndarray:
    return (np.asarray(data.codes) < 0) & ~missing_cells(np.asarray(data.labels))


def _renamed(data: RawPredictions, names: Mapping[str, str]) -> RawPredictions:
    labels = by_word(np.asarray(data.labels), lambda word: names.get(word, word), object)
    classes = data.class_names if data.answers is None else classes_in(data.answers, labels)
    return replace(data, labels=labels, class_names=classes)


def whole_numbers(labels: np.ndarray) -> np.ndarray | None:
    """Labels as float64 if all labels, except missing ones, are numbers; else None."""
    if labels.dtype != object:
        return labels.astype(np.float64)
    numbers = by_word(labels, as_float, np.float64)
    return None if (np.isnan(numbers) & ~missing_cells(labels)).any() else numbers


def minus_one(data: RawPredictions) -> RawPredictions:
    lower = np.asarray(whole_numbers(np.asarray(data.labels))) - 1.0
    return replace(data, labels=lower if np.isnan(lower).any() else lower.astype(np.int64))


def _better(after: np.ndarray, before: np.ndarray) -> bool:
    """Whether another reading has more hits than this reading, by more than bias or chance."""
    gain = after.mean() - before.mean()
    spread = np.sqrt(max(before.mean() * (1 - before.mean()), 0.25 / len(before)) / len(before))
    return bool(gain >= ACCURACY_GAIN and gain >= STANDARD_ERRORS * spread)


def _shifted_by_one(raw: RawPredictions, codes: np.ndarray) -> Finding | None:
    """Find labels that count from 1 although no label is L, so that none is out of range."""
    true = codes[codes >= 0]
    if raw.labels is None or raw.labels_are_names or len(true) < MIN_ROWS or true.min() < 1:
        return None
    predicted = np.asarray(raw.top[0])[codes >= 0]
    lower, same = predicted == true - 1, predicted == true
    if whole_numbers(raw.labels) is None or not _better(lower, same):
        return None
    message = (
        f"no label is 0, and accuracy rises from {same.mean():.3f} to {lower.mean():.3f} when 1 is "
        "subtracted: labels count from 1. The fix subtracts 1."
    )
    return Finding("labels_one_based", message, repair=minus_one, severity="warning")


def _column_order(raw: RawPredictions, codes: np.ndarray) -> Finding | None:
    """Find a permutation of columns, on half of the rows, that makes the other half more accurate."""
    size = raw.n_classes
    predicted, true = np.asarray(raw.top[0])[codes >= 0], codes[codes >= 0]
    if len(true) < MIN_ROWS or not 2 <= size <= MAX_MATCHED:
        return None
    from scipy.optimize import linear_sum_assignment  # slow to import, seldom needed

    # Columns without evidence stay where they are.
    pairs = np.bincount(predicted[::2] * size + true[::2], minlength=size**2).reshape(size, size)
    order = linear_sum_assignment(pairs + 1e-3 * np.eye(size), maximize=True)[1]
    moved = np.flatnonzero(order != np.arange(size))
    before, after = predicted == true, order[predicted] == true
    if not len(moved) or not _better(after[1::2], before[1::2]):
        return None
    return Finding(
        "column_order",
        f"columns are not in the order of the labels: rows labelled {raw.names[order[moved[0]]]!r} are "
        f"predicted as {raw.names[moved[0]]!r}, and accuracy rises from {before.mean():.3f} to "
        f"{after.mean():.3f} with {len(moved)} columns reordered. The fix does so.",
        columns=tuple(raw.names[j] for j in moved),
        repair=lambda data: replace(data, proba=np.ascontiguousarray(data.proba[:, np.argsort(order)])),
    )


def _shuffled(raw: RawPredictions, codes: np.ndarray) -> Finding | None:
    """Find accuracy at chance although confidences are high: labels belong to other rows."""
    if (codes < 0).any():
        return None
    predicted, top = np.asarray(raw.top[0]), raw.top[1]
    tops, true = (np.bincount(classes, minlength=raw.n_classes) for classes in (predicted, codes))
    confidence = float(top.mean()) if is_within(raw.proba) else 0.0
    message = shuffled_words(tops, true, int(np.sum(predicted == codes)), confidence)
    how = "Export scores and labels again from the same loop."
    return None if message is None else Finding("labels_shuffled", f"{message} {how}")


def shuffled_words(predicted: np.ndarray, true: np.ndarray, n_right: int, confidence: float) -> str | None:
    """Say that labels look shuffled against the rows, if accuracy is at chance at high confidences."""
    n = int(true.sum())
    chance, accuracy = float((predicted / n) @ (true / n)), n_right / n
    spread = np.sqrt(max(chance * (1 - chance), 1e-4) / n)
    if (
        n < MIN_ROWS
        or np.count_nonzero(true) < 2  # one class says nothing about order
        or chance > 0.95
        or accuracy > chance + CHANCE_ERRORS * spread
        or confidence < accuracy + CONFIDENCE_GAP
    ):
        return None
    return (
        f"accuracy is {accuracy:.3f}, as for labels unrelated to the rows ({chance:.3f}), while the mean "
        f"confidence is {confidence:.3f}: labels look shuffled against the rows."
    )
