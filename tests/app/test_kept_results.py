"""Every kept result knows the clusters: the same after a calibrator that changes nothing, another without.

The results are found by introspection, so that a new one cannot be forgotten here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import streamlit as st
from scipy.special import ndtr
from sklearn.base import BaseEstimator

import calib
from calib import Predictions, diagrams, stats
from calib.answers.advice import confirm_choice
from calib.answers.calibrated import calibrated_scores, fit_on
from calib.answers.conclusion import class_gaps
from calib.answers.decision_curves import choose_actions
from calib.data.notions import PerClass
from calib.diagrams.living_picture import living_picture
from calib.diagrams.slice_maps import slice_heat
from calib.stats.effective import dependence_words
from calib.stats.floors import canonical_noise_floor, noise_floors, problem_floors
from calib.stats.intervals import measure_interval
from pages.shared import kept, page_results, work
from pages.shared.isolation.computing import Job
from pages.shared.isolation.objects import n_bytes
from pages.shared.session import Dataset, Method, base_of, fit
from tests.app.isolation.test_computing import same
from tests.populations import softmax

#: Patients, and rows of each.
PATIENTS, ROWS = 60, 40
B = 10
SITE = (("site", None),)


class Identity(BaseEstimator):
    """A fitted calibrator that changes nothing."""

    def predict(self, rows):
        return rows


class TopIdentity(BaseEstimator):
    """A fitted calibrator that changes nothing, and gives the confidence of the predicted class only."""

    def predict(self, rows):
        return rows.top


@dataclass(frozen=True, eq=False)
class World:
    """Data, and methods of three kinds: the base model, one that differs, and one of several ranks."""

    data: Dataset
    base: Method
    other: Method
    ranked: Method

    def after(self, calibrator: Any) -> Method:
        """The base model after a calibrator."""
        evidence = self.data.evidence.of_scores(calibrated_scores(calibrator, self.data.evaluation))
        name = type(calibrator).__name__
        return Method(name, evidence, f"{self.base.key}/{name}", calibrator)


def rows_of_patients(seed: int, n_classes: int, sharpened: float = 1.2) -> Predictions:
    """Overconfident predictions, if sharpened; the labels of a patient's rows depend on a common number."""
    random = np.random.default_rng(seed)
    patient = np.repeat(np.arange(PATIENTS), ROWS)
    logits = random.normal(size=(PATIENTS, n_classes))[patient]
    logits = 2.0 * (logits + random.normal(size=(len(patient), n_classes)))
    latent = np.sqrt(0.6) * random.normal(size=PATIENTS)[patient]
    latent += np.sqrt(0.4) * random.normal(size=len(patient))
    truth = softmax(logits)
    order = np.argsort(-truth, axis=1, kind="stable")
    reach = np.take_along_axis(truth, order, axis=1).cumsum(axis=1) < ndtr(latent)[:, None]
    labels = order[np.arange(len(patient)), reach.sum(axis=1).clip(max=n_classes - 1)]
    site = random.choice(["north", "south"], PATIENTS)[patient]
    day = [f"2026-03-{day:02d}" for day in random.integers(1, 9, len(patient))]
    further = {"cluster": patient, "metadata": pd.DataFrame({"site": site, "day": day})}
    return Predictions(softmax(sharpened * logits), labels, ["cat", "dog", "cow"][:n_classes], **further)


@cache
def world(*, clustered: bool = True, n_classes: int = 3, seed: int = 0, sharpened: float = 1.2) -> World:
    evaluation, calibration = (rows_of_patients(seed + more, n_classes, sharpened) for more in (0, 1))
    if not clustered:
        calibration, evaluation = (rows.with_cluster(None) for rows in (calibration, evaluation))
    models = {"one": (calibration, evaluation)}
    data = Dataset("patients", "", True, calibration, evaluation, model="one", models=models)
    found = {}
    options: dict[str, Any] = {"confidence": {}, "top-k-confidence": {"top_k": 2}}
    for notion, of_ranks in options.items():
        binary = calib.HistogramBinning(n_bins=5)
        calibrator = fit_on(calib.MulticlassToBinary(binary, notion=notion, **of_ranks), calibration)
        evidence = data.evidence.of_scores(calibrated_scores(calibrator, evaluation))
        found[notion] = Method(notion, evidence, f"{data.digest}/{notion}", calibrator)
    return World(data, base_of(data), *found.values())


@pytest.fixture
def show(monkeypatch):
    """A session that computes here: a function that puts a world on its screen, with nothing kept."""
    state: dict[str, Any] = {}
    monkeypatch.setattr("streamlit.session_state", state)
    monkeypatch.setattr(Job, "is_short", True)

    def put(shown: World) -> World:
        monkeypatch.setattr(kept, "_shared_results", kept.Kept())
        state.update(kept=kept.Kept(), dataset=shown.data, methods={})
        return shown

    return put


def view(w: World) -> page_results.ThreeClasses:
    return page_results.three_class_view(w.data.calibration, w.data.evaluation, "", [])


SCHEME = calib.GridScheme(2)
COSTS = tuple(map(tuple, 1.0 - np.eye(3)))
DECISION = {"accuracy": 0.75, "by": None, "alpha": 0.1, "choices": 1}
GROUPED: dict[str, Any] = {"notion": "top-label", "n_bins": B, "strategy": "uniform"}
Call = Callable[[Any, World, Method], Any]


def site(method: Method) -> Any:
    return page_results.grouped_by(method, SITE)


def asked(function: Callable[..., Any], **options: Any) -> Call:
    """A question about one method."""
    return lambda ask, w, m: ask(function, m, **options)


#: A call of every kept result with a method.
KEPT: dict[str, Call] = {
    "_about": lambda f, w, m: f(m, True),
    "advice": lambda f, w, m: f(w.data),
    "apply_scheme": lambda f, w, m: (f(view(w), SCHEME).arrows, f(view(w), SCHEME).curves),
    "cells": lambda f, w, m: f(m, "top-label", B),
    "cuts": lambda f, w, m: f(w.data.evaluation, SITE),
    "decision": lambda f, w, m: f(m, **DECISION),
    "event_decision": lambda f, w, m: f(m, sensitivity=0.8, choices=1, alpha=0.1),
    "pairs": lambda f, w, m: f(m),
    "rows_of": lambda f, w, m: f(m, "top-label", B, 1, B - 1),
    "rows_of_group": lambda f, w, m: f(m, SITE, 1),
    "three_class_view": lambda f, w, m: view(w).evaluation,
    "over_time": lambda f, w, m: f(m, "day"),
    "time_columns": lambda f, w, m: f(w.data.evaluation),
}
#: A call of every question of the pages, by the name of the function that is asked.
ASKED: dict[str, Call] = {
    "calibration_band": lambda ask, w, m: refusal(lambda one: ask(calib.calibration_band, one), m),
    "calibration_by_centre": lambda ask, w, m: ask(
        calib.calibration_by_centre, page_results.second(m), centre=site(m)
    ),
    "calibration_slope": asked(calib.calibration_slope, notion="confidence"),
    "calibration_tests": asked(stats.calibration_tests),
    "canonical_noise_floor": lambda ask, w, m: ask(
        canonical_noise_floor, m.rows, cells=(m.rows.predictions.proba[:, 0] > 0.5).astype(int)
    ),
    "choose_actions": asked(choose_actions, costs=COSTS),
    "class_binning": lambda ask, w, m: ask(
        diagrams.class_binning, w.data.calibration, w.data.evaluation, n_bins=3
    ),
    "class_diagram": asked(calib.class_diagram, label=1, notion="class-wise", n_bins=B),
    "class_gaps": asked(class_gaps, fdr=0.05),
    "class_table": asked(calib.class_table, n_bins=B),
    "compare_models": lambda ask, w, m: ask(calib.compare_models, w.data.models, {}, n_bins=B),
    "conclude": asked(calib.conclude, n_bins=B),
    "confirm_choice": lambda ask, w, m: ask(confirm_choice, m, w.other),
    "corp_curve": asked(calib.corp_curve, notion="confidence"),
    "decision_curve": lambda ask, w, m: ask(calib.decision_curve, page_results.second(m)),
    "dependence_words": lambda ask, w, m: ask(dependence_words, m.rows.predictions),
    "lesson": asked(calib.lesson, title="patients"),
    "living_picture": lambda ask, w, m: ask(
        living_picture, m, named=(), class_names=w.data.evaluation.class_names, event=None, after_name=""
    ),
    "measure_interval": asked(measure_interval, key="tl_ece", n_bins=B),
    "metrics": asked(calib.metrics, n_bins=B, class_wise=True),
    "noise_floors": asked(noise_floors, measures={"tl_ece": {"metric": "ece"}}, notion="top-label", n_bins=B),
    "slice_heat": lambda ask, w, m: ask(slice_heat, m, column=site(m), groups=(0, 1), n_bins=B),
    "slices": lambda ask, w, m: ask(calib.slices, m, groups=[site(m)], **GROUPED),
    "problem_floors": asked(problem_floors, notion="class-wise", n_bins=B),
    "reliability_diagram": asked(calib.reliability_diagram, n_bins=B),
    "risk": lambda ask, w, m: ask(calib.risk, page_results.second(m)),
    "risk_coverage": lambda ask, w, m: ask(calib.risk_coverage, m),
    "validity_curve": lambda ask, w, m: ask(
        calib.validity_curve, m, notion="top-label", reference=w.other, n_bins=B, n_resamples=20
    ),
}
CALLS = {**KEPT, **ASKED}
#: Results that show no noise: means, and lists of rows.
PLAIN = {"metrics", "risk_coverage", "cuts", "corp_curve"}
PLAIN |= {
    "time_columns",
    "rows_of",
    "rows_of_group",
}
#: Results that need the scores of all classes.
WHOLE = {"metrics", "class_diagram", "problem_floors", "choose_actions", "pairs"}
WHOLE |= {"canonical_noise_floor", "confirm_choice"}
#: Results of two classes.
OF_TWO = {"calibration_by_centre", "decision_curve", "risk", "event_decision"}
#: What a page names first when it asks.
QUESTION = re.compile(r"(?:results\.|(?<![\w.]))ask\(\s*(?:\w+\.)?(\w+),")


def refusal(function: Callable[[Method], Any], method: Method) -> Any:
    """The result, or why there is none."""
    try:
        return function(method)
    except calib.InputError as error:
        return [str(error)]


def world_of(name: str, *, clustered: bool = True) -> World:
    return world(clustered=clustered, n_classes=2 if name in OF_TWO else 3)


def result_of(name: str, shown: World, method: Method) -> Any:
    return CALLS[name](getattr(page_results, name) if name in KEPT else page_results.ask, shown, method)


def test_every_kept_result_is_called_here():
    found = {name for name, kept_one in vars(page_results).items() if hasattr(kept_one, "key_of")}
    assert KEPT.keys() == found - {
        "_shared",
        "_own",
        "judgement",
    }  # of a table of verdicts


def test_every_question_of_a_page_is_asked_here():
    pages = Path(page_results.__file__).parents[1].rglob("*.py")
    texts = [page.read_text(encoding="utf-8") for page in pages if page.parent.name != "isolation"]
    assert ASKED.keys() == {name for text in texts for name in QUESTION.findall(text)} - {"function"}


@pytest.mark.parametrize("name", CALLS)
def test_results_are_the_same_after_a_calibrator_that_changes_nothing(show, name):
    shown = show(world_of(name))
    wanted = result_of(name, shown, shown.base)
    same(result_of(name, shown, shown.after(Identity())), wanted)
    if name not in WHOLE:
        same(result_of(name, shown, shown.after(TopIdentity())), wanted)


@pytest.mark.parametrize("name", CALLS)
def test_results_that_show_noise_know_the_clusters(show, name):
    found = []
    for clustered in (True, False):
        shown = show(world_of(name, clustered=clustered))
        found.append(result_of(name, shown, shown.base))
    assert is_same(*found) == (name in PLAIN)


def is_same(first: Any, second: Any) -> bool:
    try:
        same(first, second)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("clustered", [True, False])
def test_a_perfect_model_is_called_so_before_and_after_a_calibrator(show, clustered):
    """Without patients, two classes would be beyond noise."""
    shown = show(world(clustered=clustered, seed=3, sharpened=1.0))
    scaled = fit_on(calib.TemperatureScaling(), shown.data.calibration)
    for method in (shown.base, *map(shown.after, (Identity(), TopIdentity(), scaled))):
        assert (len(page_results.ask(calib.reliability_diagram, method, n_bins=B).clearest) > 0) != clustered


@pytest.mark.parametrize("elsewhere", [True, False])
def test_a_fitted_method_has_what_came_with_the_rows(show, monkeypatch, elsewhere):
    """Also if it was fitted in a worker, which gets no columns of texts."""
    rows = world().data.evaluation
    weights, columns = np.repeat([1.0, 2.0], len(rows) // 2), {"id": "day", "fold": "site"}
    rows = Predictions(
        rows.proba,
        rows.labels,
        rows.class_names,
        **rows.carried | {"sample_weight": weights, "columns": columns},
    )
    data = replace(world().data, evaluation=rows, models={})
    shown = show(World(data, base_of(data), world().other, world().ranked))
    st.session_state["lost"] = []
    monkeypatch.setattr(Job, "is_short", not elsewhere)
    monkeypatch.setattr(work, "in_background", lambda: True)
    for calibrator in (calib.TemperatureScaling(), calib.MulticlassToBinary(calib.HistogramBinning())):
        method = fit("one", calibrator)
        found = method.rows.predictions
        pd.testing.assert_frame_equal(found.metadata, rows.metadata)
        for name in ("labels", "sample_weight", "cluster"):
            np.testing.assert_array_equal(getattr(found, name), getattr(rows, name))
        assert (found.columns, found.class_names) == (rows.columns, rows.class_names)
        assert method.evidence.clusters is shown.data.evidence.clusters
    assert (shown.base.evidence.strategy, method.evidence.strategy) == ("uniform", PerClass())


def test_what_evidence_sorts_counts_as_kept(show):
    shown = show(world())
    own = st.session_state["kept"]
    evidence = page_results.about(shown.base, "top-label")
    before = own.size
    sorted_now = n_bytes(evidence.problems("confidence"))
    assert page_results.about(shown.base, "top-label") is evidence
    assert own.size >= before + sorted_now > before
