"""Findings about predictions that are not vectors: a class with its confidence, a confidence, P(Y = 1)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from calib.data.predictions import weight_words
from calib.files.findings.codes import Finding, counted, some
from calib.files.findings.confidence import few_distinct
from calib.files.findings.labels import find_missing_labels
from calib.files.findings.scale import hundredths
from calib.files.readers.answers import ANOTHER, as_outcomes, classes_in
from calib.files.readers.columns import is_within
from calib.files.readers.raw_predictions import (
    RawPredictions,
    from_log_odds,
    is_outside,
    ones_on,
    points_of,
)
from calib.files.readers.roles import Roles
from calib.files.readers.tables import some_names, words_in

#: Fewest rows for a calibration error.
FEWEST_ROWS = 30
ROWS_PER_BIN = 5


def find_announced_faults(raw: RawPredictions, *, n_bins: int, points_per_bin: int) -> list[Finding]:
    """Return the findings about predictions that are not vectors, except ids, columns and overlap."""
    if "every label" in raw.has:
        return _examine_multilabel(raw, n_bins)
    score = raw.proba[:, 0]
    finite = np.isfinite(raw.proba).all(axis=1)
    found: list[Finding | None] = [
        _abstentions(raw),
        _not_finite(raw, finite & ~raw.abstained),
        _as_binary(raw),
        _class_wise_output(raw),
    ]
    usable = score[finite & ~raw.abstained]
    if len(usable):
        found += [_scale(raw, usable), _saturated(raw, usable), few_distinct(usable)]
        found.append(_few_rows(len(usable), n_bins))
    found += [
        find_missing_labels(raw),
        _too_many_labels(raw),
        _mismatch(raw),
        _disagreement(raw),
        *_classes(raw, points_per_bin),
    ]
    return [finding for finding in found if finding is not None]


def _examine_multilabel(raw: RawPredictions, n_bins: int) -> list[Finding]:
    finite = np.isfinite(raw.proba).all(axis=1)
    found: list[Finding | None] = [_not_finite(raw, finite)]
    usable = raw.proba[finite]
    if len(usable):
        found += [_scale(raw, usable), _few_rows(len(usable), n_bins)]
    if raw.labels is None:
        found.append(find_missing_labels(raw))
    else:
        times = np.nan_to_num(raw.labels.astype(np.float64)).sum(axis=0)
        never = np.array(raw.names, dtype=object)[times == 0]
        if len(never):
            found.append(_about("class_never_true", never, raw.n_classes, "never true"))
    return [finding for finding in found if finding is not None]


def as_class_wise(data: RawPredictions) -> RawPredictions:
    """Return scores of all classes as scores that need not sum to 1; one class of each row is true."""
    codes = data.codes
    labels = None
    if codes is not None:
        labels = (codes[:, None] == np.arange(data.n_classes)).astype(np.float64)
        labels[codes < 0] = np.nan
    return replace(data, kind="multilabel", labels=labels, class_names=data.names)


def _class_wise_output(raw: RawPredictions) -> Finding | None:
    """Note that class-wise calibration also wrote the scores of all classes."""
    cells = {
        name[2:-1]: values for name, values in raw.metadata.items() if name[:2] == "p(" and name[-1] == ")"
    }
    calibrated = raw.roles is not None and raw.roles.probabilities == ("calibrated",)
    if raw.kind != "top-label" or not calibrated or len(cells) < 2 or not set(raw.names) <= cells.keys():
        return None

    def spread(data: RawPredictions) -> RawPredictions:
        columns = {name: data.metadata[f"p({name})"] for name in cells}
        further = {name: values for name, values in data.metadata.items() if name[:2] != "p("}
        scores = np.stack([np.asarray(values, dtype=np.float64) for values in columns.values()], axis=1)
        named = replace(data, proba=scores, class_names=tuple(columns), metadata=further)
        return as_class_wise(replace(named, predicted=None, roles=None))

    return Finding(
        "class_wise_scores",
        "note",
        "the announced class is read with its calibrated score. The file also holds the scores of all "
        "classes, which do not sum to 1 after class-wise calibration; the fix reads these instead, for "
        "class-wise errors.",
        columns=tuple(f"p({name})" for name in cells),
        repair=spread,
    )


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


def _not_finite(raw: RawPredictions, good: np.ndarray) -> Finding | None:
    rows = np.flatnonzero(~good & ~raw.abstained)
    if not len(rows):
        return None

    def drop(data: RawPredictions) -> RawPredictions:
        return data.take(np.isfinite(data.proba).all(axis=1) | data.abstained)

    every = len(rows) == raw.n_samples
    how = "check the column." if every else "the fix removes those rows."
    return Finding(
        "not_finite",
        "error",
        f"{len(rows):,} of {counted(raw.n_samples, 'row')} have no number as score ({some(rows)}); {how}",
        rows,
        repair=None if every else drop,
    )


def _scale(raw: RawPredictions, usable: np.ndarray) -> Finding | None:
    low, high = float(usable.min()), float(usable.max())
    what = f"the scores run from {low:.4g} to {high:.4g}"
    if is_within(usable):
        if not is_outside(usable):
            return None
        rows = np.flatnonzero(((raw.proba < 0.0) | (raw.proba > 1.0 + 1e-6)).any(axis=1))
        return Finding(
            "rounding",
            "note",
            f"{what}: {counted(len(rows), 'row')} ({some(rows)}) lie outside [0, 1] by rounding, and count "
            "as 0 or 1.",
            rows,
        )
    if raw.scale == "logits" and raw.has & {"event", "every label"}:
        return Finding(
            "logits", "note", f"{what}: log-odds, by their name. They become 1 / (1 + exp(-score))."
        )
    if raw.scale == "log_probabilities" and high <= 1e-6:
        return Finding(
            "log_probabilities", "note", f"{what}: log-probabilities, by their name. They become exp(score)."
        )
    if top := points_of(usable):
        return Finding(
            "points",
            "error",
            f"{what}, all whole numbers: points on a scale. The fix divides by {top}.",
            repair=lambda data: replace(data, proba=data.proba / data.proba.dtype.type(top)),
        )
    if low >= 0.0 and high <= 100.0:
        sure = raw.scale_of(usable) == "percent"
        how = "they are divided by 100" if sure else "the fix divides by 100"
        return Finding(
            "percent",
            "note" if sure else "error",
            f"{what}: percentages; {how}.",
            repair=hundredths,
        )
    if raw.has & {"event", "every label"}:
        event = "the positive class" if "event" in raw.has else "each class"
        return Finding(
            "logits",
            "error",
            f"{what}: they look like log-odds of {event}. The fix makes them 1 / (1 + exp(-score)).",
            repair=lambda data: replace(data, proba=from_log_odds(data.proba), scale="probabilities"),
        )
    if high <= 1e-6:
        return Finding(
            "log_probabilities",
            "error",
            f"{what}: none is above 0, so they look like logarithms of a probability. The fix takes exp.",
            repair=lambda data: replace(data, proba=np.exp(np.minimum(data.proba.astype(np.float64), 0.0))),
        )
    rows = np.flatnonzero((raw.proba[:, 0] < 0.0) | (raw.proba[:, 0] > 1.0 + 1e-6))
    return Finding(
        "negative",
        "error",
        f"{what}, but a confidence lies in [0, 1]: {len(rows):,} rows are outside ({some(rows)}). Write the "
        "probability of the predicted class.",
        rows,
    )


def _saturated(raw: RawPredictions, usable: np.ndarray) -> Finding | None:
    rows = np.flatnonzero(raw.proba[:, 0] >= 1.0)
    if not len(rows) or usable.max() > 1.0 + 1e-6:
        return None
    return Finding(
        "saturated",
        "note",
        f"{len(rows):,} of {raw.n_samples:,} rows ({len(rows) / raw.n_samples:.1%}) have a score of exactly "
        "1. Scores that were rounded up cannot be distinguished; export more digits if there are any.",
        rows,
    )


def _few_rows(n_rows: int, n_bins: int) -> Finding | None:
    if n_rows >= ROWS_PER_BIN * n_bins:
        return None
    return Finding(
        "too_few_rows",
        "warning" if n_rows < FEWEST_ROWS else "note",
        f"{counted(n_rows, 'row')} for {n_bins} bins are {n_rows / n_bins:.2g} rows a bin; with fewer "
        f"than {ROWS_PER_BIN}, most of an error is sampling noise. Use fewer bins or more rows, and read "
        "the noise floor first.",
    )


def _as_binary(raw: RawPredictions) -> Finding | None:
    """Note that a score is P(Y = 1); the fix makes two columns of it, a score for each class."""
    if "event" not in raw.has or (raw.labels is not None and len(classes_in(raw.labels)) > 2):
        return None
    negative, positive = raw.names

    def widen(data: RawPredictions) -> RawPredictions:
        p = data.proba[:, 0]
        p = from_log_odds(p) if np.nanmin(p) < 0.0 else ones_on(p, data.scale_of(p))
        both = np.stack([1.0 - p, p], axis=1).astype(data.proba.dtype)
        codes = data.codes
        labels = data.labels
        if codes is not None and labels is not None:
            named = np.array([*data.names, ""], dtype=object)[codes]
            labels = named if labels.dtype == object else np.where(codes < 0, np.nan, codes)
        names = (negative, positive)
        return replace(
            data, proba=both, class_names=names, scale="probabilities", kind="vectors", labels=labels
        )

    return Finding(
        "binary_input",
        "note",
        f"the column of scores is read as P(Y = 1), the probability of {positive!r} against {negative!r}. To "
        "assess the confidence in either predicted class instead, the fix makes two columns, 1 - p and p.",
        columns=raw.names,
        repair=widen,
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


def _disagreement(raw: RawPredictions) -> Finding | None:
    """Find rows whose column of right or wrong contradicts the predicted and the true class."""
    if raw.kind != "top-label" or raw.roles is None or raw.roles.correct is None or not raw.roles.label:
        return None
    cells = raw.metadata.get(raw.roles.correct)
    predicted, true = raw.predicted_codes(), raw.codes
    if cells is None or predicted is None or true is None:
        return None
    outcome = as_outcomes(np.asarray(cells))
    differ = ~np.isnan(outcome) & (true >= 0) & ~raw.abstained & ((predicted == true) != (outcome == 1.0))
    if not differ.any():
        return None
    rows = np.flatnonzero(differ)
    return Finding(
        "correct_disagrees",
        "warning",
        f"in {len(rows):,} of {counted(raw.n_samples, 'row')} ({some(rows)}) the column "
        f"{raw.roles.correct!r} contradicts the predicted and true classes. The classes are used; remove or "
        "correct one of the columns.",
        rows,
        (raw.roles.correct,),
    )


def _classes(raw: RawPredictions, points_per_bin: int) -> list[Finding]:
    predicted, names = raw.predicted_codes(), np.array(raw.names, dtype=object)
    if "announced class" not in raw.has or predicted is None:
        return []
    findings = []
    size = len(names)
    times = np.bincount(predicted[predicted >= 0], minlength=size)
    true = raw.codes
    if ANOTHER in raw.names:
        findings.append(
            Finding(
                "true_class_unknown",
                "note",
                f"the file says whether a prediction is right, not which class is true: wrong rows count as "
                f"{ANOTHER!r}. This is enough for confidence and top-label errors.",
            )
        )
    elif true is not None and (true >= 0).any():
        never = np.flatnonzero(np.bincount(true[true >= 0], minlength=size) == 0)
        if len(never):
            findings.append(_about("class_never_true", names[never], size, "never the true label"))
    rare = np.flatnonzero((times > 0) & (times < points_per_bin))
    if len(rare):
        what = f"predicted fewer than {points_per_bin} times"
        advice = (
            f" That does not fill one bin of {points_per_bin} points; histogram binning leaves their scores "
            "as they are."
        )
        findings.append(_about("class_rare", names[rare], size, what, advice))
    return findings


def _about(code: str, names: np.ndarray, size: int, what: str, advice: str = "") -> Finding:
    be = "is" if len(names) == 1 else "are"
    message = f"{len(names):,} of {size:,} classes {be} {what}: {some_names(names)}.{advice}"
    return Finding(code, "note", message, columns=tuple(names))


def find_weights_and_groups(raw: RawPredictions) -> list[Finding]:
    """Say how columns of weights, votes and groups are used."""
    roles = raw.roles or Roles(())
    findings = []

    def add(code: str, name: str | None, role: str, what: str) -> None:
        message = f"column {name or role!r} {what}."
        findings.append(Finding(code, "note", message, columns=(name,) if name else ()))

    if raw.group is not None:
        what = (
            f"names groups of rows ({some_names(classes_in(raw.group))}): it stays with the rows. Slices "
            "assesses each group, and calibrators can be fitted for each; other numbers are about all groups "
            "together"
        )
        add("group_kept", roles.group, "group", what)
    if raw.weight is not None:
        what = (
            f"holds weights ({weight_words(raw.weight)}): every number counts each row by its weight, unless "
            "it says that it counts rows"
        )
        add("weights_used", roles.weight, "weight", what)
    if raw.votes is not None:
        message = (
            f"{some_names(roles.votes)} hold votes: every number compares a prediction with the distribution "
            "of the votes about its row. The findings here use the label of the majority."
        )
        findings.append(Finding("votes_used", "note", message, columns=roles.votes))
    return findings
