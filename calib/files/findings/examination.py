"""Examine data before anything is computed: name the faults and offer fixes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.data.predictions import BasePrediction, Predictions
from calib.data.validation import as_floats, as_names, plain
from calib.files.findings.codes import CODES, SEVERITIES, Effect, Finding, effect_of
from calib.files.findings.labels import find_abstentions, find_disagreement, find_label_faults
from calib.files.findings.rows import find_class_faults, find_overlap, find_rows_together
from calib.files.findings.scores import find_confidence_faults, find_index_column, find_not_finite, find_scale
from calib.files.readers.raw_predictions import (
    RawPredictions,
    RemedyError,
    divide,
    raw_of,
    raw_of_predictions,
    with_labels,
)
from calib.files.readers.reading import read_table, table_from
from calib.files.readers.roles import Given, Roles
from calib.files.readers.source import Limits, Progress
from calib.files.readers.tables import any_numbers, as_numbers


@dataclass(frozen=True, eq=False)
class Examination:
    """Outcome of an examination."""

    raw: RawPredictions  #: The data examined, with the fixes accepted so far
    findings: tuple[Finding, ...]  #: Errors first, then warnings, then notes
    calibration: RawPredictions | None = None  #: Calibration data that `raw` was compared with
    fixes: tuple[Effect, ...] = ()  #: Effects of the fixes accepted so far
    #: Effects of fixes, if known already
    effects: Mapping[str, Effect] = field(default_factory=dict)

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the findings, in their order."""
        return tuple(finding.code for finding in self.findings)

    @property
    def log(self) -> tuple[str, ...]:
        """Fixes accepted so far, one line each; every export carries them."""
        return tuple(f"{fix.code}: {fix}" for fix in self.fixes)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """Findings that prevent `predictions`."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def ok(self) -> bool:
        """Whether there is no error."""
        return not self.errors

    def __getitem__(self, code: str) -> Finding:
        for finding in self.findings:
            if finding.code == code:
                return finding
        raise KeyError(f"no finding {code!r}; there are {', '.join(self.codes) or 'none'}")

    @any_numbers
    def effect(self, code: str) -> Effect:
        """Return the effect of the fix of a finding, before it is accepted."""
        return self.effects.get(code) or effect_of(code, self.raw, self._fixed(code))

    @any_numbers
    def fix(self, *codes: str, progress: Progress | None = None) -> Examination:
        """Accept fixes: apply them in the order of `CODES`, examine again, and log what was done.

        `progress` is called with the share done and a word.
        """
        for code in (code for code in codes if code not in CODES):
            raise InputError(f"{code!r} is not the code of a finding; the codes are {', '.join(CODES)}")
        latest = self
        for code in (code for code in CODES if code in codes):
            if code not in latest.codes and code in self.codes:
                continue  # another fix removed it
            after = latest._fixed(code)
            fixes = (*latest.fixes, effect_of(code, latest.raw, after))
            latest = replace(_examine(after, self.calibration, progress), fixes=fixes)
        return latest

    def _fixed(self, code: str) -> RawPredictions:
        if code not in self.codes:
            there = ", ".join(self.codes) or "none"
            raise InputError(f"there is no finding {code!r} to fix; the findings are {there}")
        if (fix := self[code].fix) is None:
            raise InputError(f"the finding {code!r} has no fix: {self[code].message}")
        return fix()

    def predictions(self, scores: str = "auto") -> Predictions:
        """Return the data as `Predictions`, a probability for every class; errors as in `rows`."""
        self.check_usable()
        return self.raw.predictions(scores)

    def rows(self, scores: str = "auto") -> BasePrediction:
        """Return the data as predictions of their kind, see `calib.read`."""
        self.check_usable()
        return self.raw.rows(scores)

    def check_usable(self) -> None:
        """Refuse data with an error, and name the fix if it has any."""
        for finding in self.errors:
            if finding.fix is None:
                raise InputError(finding.message)
            codes = [*(accepted.code for accepted in self.fixes), finding.code]
            remedy = f"Accept the fix {finding.code}: calib.check(..., fix={codes})"
            raise RemedyError(finding.message.removesuffix("."), remedy, "fix", ",".join(codes))

    def frame(self) -> pd.DataFrame:
        """Return the findings as a table."""
        columns = ["severity", "code", "message", "rows", "columns", "fix"]
        table = pd.DataFrame([vars(each) for each in self.findings], columns=columns)
        table["rows"] = [len(each.rows) for each in self.findings]
        table["columns"] = [", ".join(each.columns[:10]) for each in self.findings]
        return table.assign(fix=[each.fix is not None for each in self.findings])


def examine(
    table_or_arrays: Any,
    labels: Any = None,
    *,
    class_names: Sequence[str] | None = None,
    ids: Any = None,
    calibration: Any = None,
    roles: Roles | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Examination:
    """Look for faults that make calibration results wrong, and propose repairs.

    Parameters
    ----------
    table_or_arrays : array_like (n, L), DataFrame, dict of arrays, Predictions, RawPredictions, Table or file
        Scores on any scale, with or without labels.
    labels : array_like (n,) or (n, L) one-hot, DataFrame or file, optional
        True labels, codes or names, if they are not with the scores.
    class_names : sequence of str, optional
        Names of the L columns.
    ids : array_like (n,), optional
        Row ids.
    calibration : as `table_or_arrays`, or a pair (scores, labels), optional
        Calibration data to compare with: repeated rows, class shares.
    roles, limits, progress
        As for `read_predictions`.

    Examples
    --------
    >>> import numpy as np
    >>> report = examine(np.array([[2.0, -1.0, 0.5], [0.1, 3.0, -2.0]]), [0, 1])
    >>> report.codes[0], report.fix("logits").predictions().n_classes
    ('logits', 3)
    """
    limits = (limits or Limits()).begun(progress)
    raw, other = _raw_of_input(table_or_arrays, labels, class_names, ids, roles, limits)
    if calibration is not None:
        pair = isinstance(calibration, tuple) and len(calibration) == 2
        scores, truth = calibration if pair else (calibration, None)
        other, _ = _raw_of_input(scores, truth, class_names, None, None, limits)
    return _examine(raw, other, limits.step)


def check(
    source: Any,
    *,
    labels: Any = None,
    fix: Sequence[str] = (),
    format: str | None = None,
    split: str | None = None,
    roles: Roles | None = None,
    given: Given | None = None,
    abstentions: Sequence[str] | None = None,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> dict[str, Examination]:
    """Read a file, examine its evaluation and calibration rows, and apply the fixes named in `fix`.

    Arguments as for `calib.read`; `given` holds the columns and the positive class that the user names.

    Returns
    -------
    dict of str to Examination
        "evaluation", and "calibration" if the file has such rows, or `split`. Fixes are applied to both.
    """
    limits = (limits or Limits()).begun(progress)
    table = read_table(source, format=format, limits=limits)
    if abstentions is not None:
        given = replace(given or Given(), abstentions=tuple(abstentions))
    raw_by_part = divide(table, roles, split, given, labels, limits)
    examinations = examine_parts(raw_by_part, fix=fix, progress=limits.step)
    applied = {accepted.code for each in examinations.values() for accepted in each.fixes}
    for code in (code for code in fix if code not in applied):
        raise InputError(f"there is no finding {code!r} to fix in this file")
    return examinations


def _raw_of_input(
    data: Any,
    labels: Any,
    class_names: Sequence[str] | None,
    ids: Any,
    roles: Roles | None,
    limits: Limits,
) -> tuple[RawPredictions, RawPredictions | None]:
    """Return the rows of an input of any kind, and calibration rows if it is a file that holds both."""
    if isinstance(data, tuple) and len(data) == 2 and labels is None and np.ndim(data[0]) == 2:
        data, labels = data
    raw_by_part: Mapping[str, RawPredictions]
    if (table := table_from(data, limits)) is None:
        raw_by_part = {"evaluation": _raw_of_rows(data)}
    else:
        raw_by_part = {"evaluation": raw_of(table, roles)} if roles else divide(table)
    raw = raw_by_part.get("evaluation") or next(iter(raw_by_part.values()))
    other = raw_by_part.get("calibration") if len(raw_by_part) > 1 else None
    if labels is not None:
        raw = with_labels(raw, labels, limits=limits)
    if class_names is not None:
        raw = replace(raw, class_names=as_names(class_names, 2 if "event" in raw.has else raw.n_classes))
    if ids is not None:
        raw = replace(raw, ids=np.asarray(plain(ids)))
    return raw, other


def _raw_of_rows(data: Any) -> RawPredictions:
    if isinstance(data, RawPredictions):
        return data
    if isinstance(data, Predictions):
        further: dict[str, Any] = {"weight": data.sample_weight, "cluster": data.cluster}
        return RawPredictions(data.proba, data.labels, data.class_names, scale="probabilities", **further)
    if isinstance(data, BasePrediction):
        return raw_of_predictions(data)
    data = plain(data)
    if isinstance(data, np.ndarray) and data.dtype.kind == "f":
        data = as_numbers(data)  # float16 becomes float32, as in a file
    scores = as_floats(data, ndim=None, what="scores")
    matrix = as_floats(scores[:, None] if scores.ndim == 1 else scores, ndim=2, what="scores")
    return RawPredictions(matrix, kind="vectors" if matrix.shape[1] > 1 else "binary")


def examine_parts(
    raw_by_part: Mapping[str, RawPredictions], *, fix: Sequence[str] = (), progress: Progress | None = None
) -> dict[str, Examination]:
    """Examine each part of a file; evaluation rows are compared with the fixed calibration rows."""
    examinations: dict[str, Examination] = {}
    for part in sorted(raw_by_part):
        earlier = examinations.get("calibration")
        first = _examine(raw_by_part[part], None if earlier is None else earlier.raw, progress)
        latest = first.fix(*(code for code in fix if code not in CODES))
        for code in filter(fix.__contains__, CODES):  # one fix may show a fault that another one mends
            latest = latest.fix(code, progress=progress) if code in latest.codes else latest
        examinations[part] = latest
    return examinations


@any_numbers
def _examine(
    raw: RawPredictions, calibration: RawPredictions | None, progress: Progress | None = None
) -> Examination:
    findings: list[Finding] = []
    given, origin = raw, np.arange(raw.n_samples)

    def add(*found: Finding | None) -> Finding | None:
        findings.extend(replace(each, rows=origin[each.rows], raw=raw) for each in found if each is not None)
        return found[-1] if found else None

    def done() -> Examination:
        order = list(CODES)
        findings.sort(key=lambda each: (SEVERITIES.index(each.severity), order.index(each.code)))
        return Examination(raw, tuple(findings), calibration)

    step = progress or (lambda share, words: None)
    step(0.0, "examining scores")
    add(_doubt(raw), find_disagreement(raw), find_abstentions(raw))
    if add(find_index_column(raw)) is not None:
        return done()
    if (finding := add(find_not_finite(raw))) is not None:
        if finding.repair is None:
            add(*find_label_faults(replace(raw, proba=np.nan_to_num(raw.proba))))
            return done()
        origin, given = np.setdiff1d(origin, finding.rows), finding.repair(raw)
    finding = add(find_scale(given))
    step(0.3, "examining scores")
    probable = finding is None or finding.repair is not None
    working = given if finding is None or finding.repair is None else finding.repair(given)
    label_findings = find_label_faults(working)
    # labels with faults say nothing about rows and classes
    faulty = any(each.severity != "note" and each.code != "labels_missing" for each in label_findings)
    codes = None if faulty else working.codes
    if probable:
        add(*find_confidence_faults(working, working.codes))
    step(0.6, "examining labels")
    add(*label_findings)
    step(0.8, "examining rows")
    if probable and not faulty:
        add(find_rows_together(working))
    add(find_overlap(given, calibration), *find_class_faults(working, codes))
    step(1.0, "examined")
    return done()


def _doubt(raw: RawPredictions) -> Finding | None:
    """Say that columns can be read in several ways, or in none, and which options decide."""
    if raw.roles is None or raw.roles.doubt is None:
        return None
    values = [value for choice in raw.roles.choices for value in choice.given.values()]
    return Finding("columns_ambiguous", f"{raw.roles.doubt}.", columns=tuple(dict.fromkeys(values)))


#: Former name of `Examination`.
Report = Examination
