"""Calibrators as programs, from which scorer files, ONNX graphs and PyTorch modules are made.

Scalings and curves are described by their own formulas. Steps for which the library has a faster method are
written here: the search for a bin, whole rows, the cells of a simplex.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from calib.base.exceptions import InputError
from calib.calibrators.acceptance import AcceptanceRule
from calib.calibrators.canonical import CanonicalBinning, GridScheme, ProjectionScheme, SierpinskiScheme
from calib.calibrators.catalogue import BINARY, VECTOR, full_name, method_of
from calib.calibrators.curves import CurveSet, Logistic, Spline, Steps, log_odds, on_lines, on_parabolas
from calib.calibrators.label_shift import CorrectedCalibrator, CorrectedScores
from calib.calibrators.multiclass import MulticlassToBinary, ProblemCalibrators
from calib.data.matrices import LEAST_REST, NOTHING
from calib.data.notions import TOP_K_NOTIONS, NotionShape
from calib.export.program import Program

#: A `calib.export.program.Value`, used like an array in formulas.
Value = Any


def describe(calibrator: BaseEstimator, *, logits: bool = False) -> Program:
    """Return a fitted calibrator as a program; `calib.export.to_onnx` lists its inputs and outputs."""
    check_is_fitted(calibrator)
    program, rule = Program(), getattr(calibrator, "rule_", None)
    if rule is not None and (not isinstance(rule, AcceptanceRule) or rule.by == "group"):
        raise InputError(
            "the rule is by groups or levels, or acts on events: only a calibrator file carries it"
        )
    n_classes = getattr(calibrator, "n_classes_", 0)
    if logits:
        given = program.input("logits", n_classes)
        proba = given.softmax() if n_classes else expit(given)
    else:
        proba = np.minimum(program.input("proba" if n_classes else "scores_in", n_classes), 1.0)
    corrected = isinstance(calibrator, (CorrectedCalibrator, CorrectedScores))
    inner, weights = (calibrator.calibrator, calibrator.weights) if corrected else (calibrator, None)
    if not n_classes:
        label, confidence = _one_score(program, inner, weights, proba, rule)
    elif type(inner) is MulticlassToBinary and inner.notion != "class-wise" and not corrected:
        label, confidence = _multiclass(program, inner, proba)
    else:
        matrix = _probabilities(program, inner, proba)
        matrix = matrix if weights is None else _reweighted(matrix, weights)
        label, confidence = matrix.top(), matrix.largest()
        program.output("probabilities", matrix, program.n_classes)
        program.output("label", label)
    if rule is not None:
        limits = program.constant(rule.thresholds, "f")
        limit = limits.take(label if len(rule.thresholds) > 1 else label * 0)
        program.output("accept", confidence >= limit)
    program.keep_used()
    return program


def _unknown(calibrator: BaseEstimator) -> InputError:
    return InputError(f"{full_name(calibrator)} cannot be written as a scorer")


def _one_score(
    program: Program, calibrator: BaseEstimator, weights: Any, scores: Value, rule: Any
) -> tuple[Value, Value]:
    calibrated = scores
    if calibrator is not None:
        problem = (scores * 0.0).astype(int)
        calibrated = _calibrated(program, ProblemCalibrators([calibrator]), problem, scores)
    if weights is not None:
        happens = calibrated * float(weights[1])
        sums = happens + (1.0 - calibrated) * float(weights[0])
        calibrated = np.where(sums > 0.0, happens / np.where(sums > 0.0, sums, 1.0), calibrated)
    program.output("scores", calibrated)
    is_event = rule is not None and rule.of_event
    confidence = np.maximum(calibrated, 1.0 - calibrated) if is_event else calibrated
    return (calibrated > 0.5).astype(int), confidence


def _probabilities(program: Program, calibrator: BaseEstimator, proba: Value) -> Value:
    if calibrator is None:
        return proba
    if type(calibrator) is CanonicalBinning:
        return _cell_means(program, calibrator, proba)
    if type(calibrator) is MulticlassToBinary and calibrator.notion == "class-wise":
        problem = program.constant(np.arange(calibrator.n_classes_)) + (proba * 0.0).astype(int)
        matrix = _calibrated(program, calibrator.calibrators_, problem, proba)
        return _normalised(matrix) if calibrator.normalize else matrix
    if method_of(calibrator) not in VECTOR:
        raise _unknown(calibrator)
    return calibrator.probabilities(np.log(np.maximum(proba, calibrator.floor_)))


def _reweighted(matrix: Value, weights: Any) -> Value:
    weighted = matrix * np.asarray(weights, dtype=np.float64)
    sums = weighted.sums()
    return np.where(sums > 0.0, weighted / np.where(sums > 0.0, sums, 1.0), matrix)


def _multiclass(program: Program, calibrator: MulticlassToBinary, proba: Value) -> tuple[Value, Value]:
    shape, n_classes, notion = calibrator.shape_, calibrator.n_classes_, calibrator.notion
    if notion in TOP_K_NOTIONS:
        labels = proba.ranked(shape.n_ranks)
        problem = np.arange(shape.n_ranks) * shape.problems_per_claim + _place_in_claim(shape, labels)
        confidences = _calibrated(program, calibrator.calibrators_, problem, proba.along(labels))
        program.output("labels", labels, shape.n_ranks)
        program.output("confidences", confidences, shape.n_ranks)
        return proba.top(), confidences[:, 0:1].largest()
    label = proba.top()
    if calibrator.has_groups:
        group = program.input("group", -1)
        known = np.logical_and(group >= 0, group < shape.n_groups)
        problem = np.where(known, group, shape.n_groups)
        problem = problem * n_classes + label if shape.by_class else problem
    else:
        problem = _place_in_claim(shape, label)
    confidence = _calibrated(program, calibrator.everyone_, problem, proba.largest())
    if calibrator.complete is not None:
        program.output("probabilities", _completed(program, proba, label, confidence), n_classes)
    program.output("label", label)
    program.output("confidence", confidence)
    return label, confidence


def _place_in_claim(shape: NotionShape, label: Value) -> Value:
    """Place of the problem of a predicted class among the problems of its claim."""
    return label if shape.problems_per_claim > 1 else label * 0


def _normalised(matrix: Value) -> Value:
    sums = matrix.sums()
    empty = sums <= NOTHING * matrix.program.n_classes
    return np.where(empty, 1.0 / matrix.program.n_classes, matrix / np.where(empty, 1.0, sums))


def _completed(program: Program, proba: Value, label: Value, confidence: Value) -> Value:
    top = label[:, None] == np.arange(program.n_classes)
    rest: Value = np.where(top, 0.0, proba)
    sums = rest.sums()
    empty = sums < LEAST_REST
    rest = np.where(empty, 1.0, rest)
    spread = rest * ((1.0 - confidence[:, None]) / np.where(empty, program.n_classes - 1.0, sums))
    return np.where(top, confidence[:, None], spread)


def _calibrated(program: Program, calibrators: ProblemCalibrators, problem: Value, scores: Value) -> Value:
    for calibrator in calibrators.distinct[0]:
        if method_of(calibrator) not in BINARY:
            raise _unknown(calibrator)
    curves = calibrators.curves
    if curves is None:
        return scores
    calibrated = _followed(program, curves, problem, scores)
    if curves.unchanged is None:
        return calibrated
    return np.where(program.constant(curves.curve_of).take(problem) < 0, scores, calibrated)


def _followed(program: Program, curves: CurveSet, problem: Value, scores: Value) -> Value:
    """Follow the curves of problems; bins are found by bisection in each problem's part of the knots."""

    def taken(table: np.ndarray, index: Value) -> list[Value]:
        return [program.constant(row).take(index) for row in np.atleast_2d(table)]

    if curves.kind is Logistic:
        return Logistic(*taken(curves.numbers, problem))(scores)
    if curves.kind is Spline:
        scores = log_odds(scores)
    first = curves.first.take(curves.curve_of)
    (bins,), (last,), upper = (
        taken(first, problem),
        taken(curves.last, problem),
        program.constant(curves.upper),
    )
    size = 1 << int(np.max(curves.last - first)).bit_length() >> 1
    while size:
        passed = upper.take(np.minimum(bins + (size - 1), last)) <= scores
        bins, size = np.where(passed, bins + size, bins), size // 2
    piece = taken(curves.numbers, bins)
    if curves.kind is Steps:
        return piece[0]
    return on_parabolas(scores, *piece) if curves.kind is Spline else on_lines(scores, *piece)


def _cell_means(program: Program, calibrator: CanonicalBinning, proba: Value) -> Value:
    schemes = {SierpinskiScheme: _sierpinski, GridScheme: _grid, ProjectionScheme: _projection}
    cell = schemes[type(calibrator.scheme_)](calibrator.scheme_, proba)
    cells, n_classes = calibrator.cells_, calibrator.n_classes_
    listed, row = program.constant(np.append(cells, np.iinfo(np.int64).max)), cell * 0
    size = 1 << len(cells).bit_length() >> 1
    while size:
        passed = listed.take(np.minimum(row + (size - 1), len(cells))) < cell
        row, size = np.where(passed, row + size, row), size // 2
    values = program.constant(np.vstack([calibrator.values_, np.full(n_classes, 1.0 / n_classes)]))
    return values.take(np.where(listed.take(row) == cell, row, len(cells)))


def _sierpinski(scheme: SierpinskiScheme, proba: Value) -> Value:
    n_classes = scheme.n_classes_
    local, active = proba, proba.largest() > -1.0
    cell, in_corner = proba.top() * 0, (scheme.n_bins_ - 1) // n_classes
    for _ in range(scheme.depth):
        corner, inside = local.top(), local.largest() > 0.5
        cell = np.where(active, cell + np.where(inside, corner, n_classes) * in_corner, cell)
        active = np.logical_and(active, inside)
        moved = local + local - (corner[:, None] == np.arange(n_classes)).astype(float)
        # The numbers of a row that stopped are kept, so that none overflows.
        local = np.where(active[:, None], moved, local)
        in_corner = (in_corner - 1) // n_classes
    return cell


def _grid(scheme: GridScheme, proba: Value) -> Value:
    side, n_classes = scheme.cells, scheme.n_classes_
    scaled = proba / proba.sums() * side
    whole = np.rint(scaled)
    on_face = np.absolute(scaled - whole) <= proba.program.eps * (4.0 * side)
    tuples = np.maximum(np.where(on_face, whole, np.ceil(scaled)).astype(int), 1)
    last = np.eye(n_classes, dtype=np.int64)[-1]
    spent = tuples + (tuples.sums() == side).astype(int) * last - 1
    after = spent.running()
    left, column = proba.program.constant(scheme.ways_left().ravel()), np.arange(n_classes) * side
    ranks = left.take(after - spent + column) - left.take(after + column)
    return ranks.sums().largest()


def _projection(scheme: ProjectionScheme, proba: Value) -> Value:
    """First cut that contains the row; columns are added one by one, in the library's order."""
    total = proba[:, 0:1] * scheme.directions_[:, 0]
    for column in range(1, scheme.n_classes_):
        total = total + proba[:, column : column + 1] * scheme.directions_[:, column]
    # The last threshold is 1.01, above every projection: every row is taken by some cut.
    return (total < scheme.thresholds_).astype(int).top()
