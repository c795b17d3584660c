"""Rows that belong together: which ids are taken, every kind carries them, splits respect them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from calib import (
    BinaryPrediction,
    CalibratedModel,
    ConfidencePrediction,
    InputError,
    MulticlassToBinary,
    MultilabelPrediction,
    PlattScaling,
    Predictions,
    Project,
    TemperatureScaling,
    TopKPrediction,
    TopLabelPrediction,
    recommend,
)
from calib.answers.advice import tried_rows
from calib.data.predictions import as_vectors, rows_that_count
from calib.data.splits import stratified_folds
from calib.evidence.rows import as_evidence

RNG = np.random.default_rng(0)
N = 60
PATIENT = np.repeat([f"patient {number}" for number in range(20)], 3)
CONFIDENCE = RNG.uniform(0.5, 1.0, N)
SCORES = RNG.random((N, 3))
LABELS = RNG.integers(0, 3, N)
VECTORS = SCORES / SCORES.sum(axis=1, keepdims=True)
KINDS = {
    "vectors": lambda **further: Predictions(VECTORS, LABELS, ("a", "b", "c"), **further),
    "top-label": lambda **further: TopLabelPrediction(
        LABELS, CONFIDENCE, LABELS[::-1], ("a", "b", "c"), **further
    ),
    "confidence": lambda **further: ConfidencePrediction(CONFIDENCE, LABELS > 0, **further),
    "binary": lambda **further: BinaryPrediction(CONFIDENCE, LABELS > 0, ("no", "yes"), **further),
    "top-k": lambda **further: TopKPrediction(
        np.argsort(-VECTORS)[:, :2], -np.sort(-VECTORS)[:, :2], LABELS, ("a", "b", "c"), **further
    ),
    "multilabel": lambda **further: MultilabelPrediction(SCORES, SCORES > 0.5, ("a", "b", "c"), **further),
}


def together(cluster) -> list[list[int]]:
    """Which rows belong together, whatever they are called."""
    return sorted(pd.Series(range(len(cluster))).groupby(np.asarray(cluster)).agg(list).tolist())


@pytest.fixture(params=KINDS)
def rows(request):
    return KINDS[request.param](cluster=PATIENT, sample_weight=np.arange(1.0, N + 1))


@pytest.mark.parametrize(
    "ids",
    [
        PATIENT,
        PATIENT.tolist(),
        pd.Series(PATIENT, dtype="str"),
        pd.Series(PATIENT).astype("category"),
        np.repeat(np.arange(20), 3),
        np.repeat(np.arange(20.0), 3),
        pd.array(np.repeat(np.arange(20), 3), dtype="Int64"),
        np.repeat(np.arange(20) - 2**62, 3),
        np.repeat(np.datetime64("2026-01-01") + np.arange(20), 3),
    ],
    ids=["text", "list", "str", "category", "int", "whole float", "Int64", "large", "days"],
)
def test_rows_of_equal_ids_belong_together(ids):
    rows = Predictions(VECTORS, cluster=ids)
    assert together(rows.cluster) == [[3 * number, 3 * number + 1, 3 * number + 2] for number in range(20)]
    assert (rows.cluster.dtype, rows.cluster.flags.writeable, rows.n_clusters) == (np.int64, False, 20)


def test_an_id_is_the_same_in_every_set_of_rows():
    first, second = Predictions(VECTORS, cluster=PATIENT), Predictions(VECTORS[:3], cluster=PATIENT[30:33])
    assert set(second.cluster) == {first.cluster[30]}
    assert Predictions(VECTORS[:2], cluster=[7, -7]).cluster.tolist() == [7, -7]
    assert Predictions(VECTORS[:2], cluster=["x", 7]).n_clusters == 2


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (PATIENT[:-1], r"one id per row: expected shape \(60,\), got \(59,\)"),
        (VECTORS, r"one id per row: expected shape \(60,\), got \(60, 3\)"),
        ("patient", "one id per row"),
        (np.linspace(0.0, 1.0, N), "whole numbers or texts; got 0.0169492 in row 1"),
        (np.r_[np.arange(N - 2), np.nan, np.nan], "no id in 2 of 60 rows; the first is row 58"),
        (np.r_[["", *PATIENT[1:]]], "no id in 1 of 60 rows; the first is row 0"),
        ([*PATIENT[:-1].tolist(), None], "no id in 1 of 60 rows; the first is row 59"),
        (pd.array([*range(N - 1), None], dtype="Int64"), "no id in 1 of 60 rows; the first is row 59"),
    ],
)
def test_other_ids_are_refused(ids, words):
    with pytest.raises(InputError, match=words):
        Predictions(VECTORS, cluster=ids)


def test_every_kind_carries_its_clusters(rows, tmp_path):
    kind = rows.kind
    assert together(rows.cluster) == together(PATIENT)
    for chosen in (slice(10, 40), np.arange(N)[::-2], PATIENT == "patient 4"):
        assert rows[chosen].cluster.tolist() == rows.cluster[chosen].tolist()
    assert rows.unweighted().cluster.tolist() == rows.cluster.tolist()
    assert rows.with_metadata(None).cluster.tolist() == rows.cluster.tolist()
    named = rows.in_order_of(("c", "b", "a") if kind != "binary" else ("yes", "no"))
    assert named.cluster.tolist() == rows.cluster.tolist()
    weights = np.r_[np.zeros(4), np.ones(N - 4)]
    counted = as_evidence(rows, sample_weight=weights)
    assert together(counted.clusters.code) == together(PATIENT[4:])
    assert counted.predictions.cluster.tolist() == rows.cluster[4:].tolist()
    assert rows_that_count(KINDS[kind](cluster=PATIENT, sample_weight=weights)).n_clusters == 19
    Project("rows", rows).save(tmp_path / "rows.calib")
    again = Project.load(tmp_path / "rows.calib").evaluation
    assert (again.cluster.tolist(), again.fingerprint) == (rows.cluster.tolist(), rows.fingerprint)


def test_clusters_are_set_taken_away_and_part_of_the_content(rows):
    without = rows.with_cluster(None)
    assert (without.cluster, without.n_clusters, without.carried["cluster"]) == (None, None, None)
    assert without.sample_weight.tolist() == rows.sample_weight.tolist()
    assert without.with_cluster(PATIENT).fingerprint == rows.fingerprint
    others = without.with_cluster(np.arange(N))
    assert len({without.fingerprint, rows.fingerprint, others.fingerprint}) == 3
    assert as_evidence(rows).n_clusters == rows.n_clusters
    assert as_evidence(without).n_clusters is None


def test_clusters_go_to_other_kinds():
    rows = KINDS["vectors"](cluster=PATIENT)
    assert rows.top.cluster.tolist() == rows.cluster.tolist()
    assert as_vectors(KINDS["binary"](cluster=PATIENT)).cluster.tolist() == rows.cluster.tolist()
    assert KINDS["multilabel"](cluster=PATIENT).of_class("b").cluster.tolist() == rows.cluster.tolist()


def test_splits_and_folds_keep_clusters_together(rows):
    fitted, assessed = rows.split(0.5, random_state=3)
    assert fitted.n_samples + assessed.n_samples == N
    assert fitted.n_clusters == assessed.n_clusters == 10
    assert not set(fitted.cluster) & set(assessed.cluster)
    fold = stratified_folds(rows.labels, 5, 0, rows.cluster)
    assert [len(set(rows.cluster[fold == number])) for number in range(5)] == [4] * 5
    assert all(len(set(fold[rows.cluster == item])) == 1 for item in set(rows.cluster))


def many(n_clusters: int, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of three classes, labels and cluster of rows whose clusters lie apart in the file."""
    generator = np.random.default_rng(1)
    proba = generator.dirichlet(np.ones(3), size=n_clusters * size)
    return proba, generator.integers(0, 3, len(proba)), np.tile(np.arange(n_clusters), size)


class Watching(TemperatureScaling):
    """Keeps the number of rows of each fit, and that fit's scores."""

    seen: list = []

    def fit(self, proba, y, sample_weight=None):
        self.seen.append(getattr(proba, "proba", proba))
        return super().fit(proba, y, sample_weight)


@pytest.mark.parametrize("given", ["predictions", "argument"])
def test_recommendation_leaves_out_whole_clusters(given):
    proba, labels, cluster = many(40, 5)
    seen = Watching.seen = []
    rows = Predictions(proba, cluster=cluster) if given == "predictions" else proba
    recommend(rows, labels, cluster=None if given == "predictions" else cluster, methods={"TS": Watching()})
    folds = seen[:5]
    assert [len(fitted) for fitted in folds] == [160] * 5
    place = {tuple(row): item for row, item in zip(proba.tolist(), cluster.tolist(), strict=True)}
    assert all(len({place[tuple(row)] for row in fitted.tolist()}) == 32 for fitted in folds)


def test_a_recommendation_tries_whole_clusters():
    _, labels, cluster = many(5_000, 21)
    tried = cluster[tried_rows(labels, labels.size * 3, cluster=cluster)]
    assert 0 < len(tried) < len(labels)
    assert len(tried) == 21 * len(np.unique(tried))


class Remembering(GaussianNB):
    """Remembers the first column of the rows it was fitted on: their clusters."""

    def fit(self, X, y):
        self.fitted_on_ = X[:, 0].tolist()
        return super().fit(X, y)


def clustered(n_clusters: int = 60, size: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, of which the first is the cluster, labels of two classes, and clusters."""
    generator = np.random.default_rng(2)
    cluster = np.tile(np.arange(n_clusters), size)
    X = np.column_stack([cluster, generator.normal(size=len(cluster))])
    return X, (X[:, 1] + generator.normal(size=len(cluster)) > 0).astype(int), cluster


@pytest.mark.parametrize("cv", [None, 4, GroupKFold(4)], ids=["one split", "4 folds", "splitter"])
def test_model_gives_whole_clusters_to_its_calibrators(cv):
    X, y, cluster = clustered()
    model = CalibratedModel(Remembering(), MulticlassToBinary(PlattScaling()), cv=cv).fit(
        X, y, cluster=cluster
    )
    assert len(model.pairs_) == (1 if cv is None else 4)
    for pair in model.pairs_:
        fitted_on = pair.estimator.fitted_on_
        assert len(fitted_on) == 5 * len(set(fitted_on))
        assert len(set(fitted_on)) in ((45, 46) if cv is None else (45,))  # by class, rounded down


def test_folds_that_divide_clusters_are_refused():
    X, y, cluster = clustered()
    with pytest.raises(InputError, match="fold 0 of cv divides 60 clusters"):
        CalibratedModel(Remembering(), cv=list(StratifiedKFold(3).split(X, y))).fit(X, y, cluster=cluster)
    with pytest.raises(InputError, match="cv makes 5 folds of 3 clusters"):
        CalibratedModel(Remembering(), cv=5).fit(X, y, cluster=cluster % 3)
    with pytest.raises(InputError, match="no id in 1 of 300 rows"):
        CalibratedModel(Remembering()).fit(X, y, cluster=[*cluster[1:], None])
