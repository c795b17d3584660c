"""Votes about rows: every number is the expected one if a label is drawn from the votes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import softmax

from calib import (
    InputError,
    Predictions,
    Project,
    TemperatureScaling,
    accuracy,
    brier_score,
    ece,
    log_loss,
    noise_floor,
    read,
)
from calib.answers.calibrated import fit_on

NAMES = ("a", "b", "c")
RANDOM = np.random.default_rng(0)
PROBA = RANDOM.dirichlet(np.ones(3), 200)
COUNTS = RANDOM.multinomial(5, PROBA)
SHARES = COUNTS / 5
ROWS = Predictions(PROBA, class_names=NAMES)


def annotators(counts):
    """The columns of annotators who gave these counts, one of whom did not vote."""
    return np.array([[*np.repeat(NAMES, row), None] for row in counts], dtype=object)


@pytest.mark.parametrize("votes", [COUNTS, SHARES * (1 + 1e-12), annotators(COUNTS)])
def test_numbers_are_expectations_over_the_votes(votes):
    voted = ROWS.with_votes(votes)
    assert (voted.kind, voted.n_clusters) == ("vectors", 200)
    each = range(3)
    expected = {
        accuracy: np.mean(SHARES[np.arange(200), PROBA.argmax(axis=1)]),
        brier_score: sum(SHARES[:, k] @ ((PROBA - np.eye(3)[k]) ** 2).sum(axis=1) for k in each) / 200,
        log_loss: -(SHARES * np.log(PROBA)).sum(axis=1).mean(),
    }
    for metric, value in expected.items():
        assert metric(voted.labels, voted) == pytest.approx(value)
    confidence, right = PROBA.max(axis=1), SHARES[np.arange(200), PROBA.argmax(axis=1)]
    bins = np.minimum((confidence * 15).astype(int), 14)
    gaps = [abs((right - confidence)[bins == item].sum()) / 200 for item in np.unique(bins)]
    assert ece(voted.labels, voted, notion="confidence") == pytest.approx(sum(gaps))


def test_calibrators_are_fitted_to_the_distribution():
    voted = ROWS.with_votes(COUNTS)
    fitted = fit_on(TemperatureScaling(), voted)

    def loss(log_t):
        return -(SHARES * np.log(softmax(np.log(PROBA) / np.exp(log_t), axis=1))).sum()

    best = np.exp(minimize_scalar(loss, bounds=(-3, 3), method="bounded", options={"xatol": 1e-9}).x)
    assert fitted.temperature_ == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("agreed", [False, True])
def test_perfect_models_are_seldom_above_noise(agreed):
    """Votes drawn from the scores, each on its own or all alike: 5 % nominal, 60 files."""
    random, above = np.random.default_rng(1), 0
    for _ in range(60):
        proba = random.dirichlet(np.ones(3), 300)
        counts = 4 * random.multinomial(1, proba) if agreed else random.multinomial(4, proba)
        voted = Predictions(proba, class_names=NAMES).with_votes(counts)
        floor = noise_floor(voted.labels, voted, notion="confidence", n_resamples=99, random_state=random)
        above += floor.p_value <= 0.05
    assert above <= 8


def test_what_cannot_be_votes_is_refused():
    for votes, words in (
        (COUNTS[:5], "200 rows of 3 classes"),
        (-COUNTS, "row 0 has"),
        (np.zeros((200, 3)), "row 0 has"),
        (np.full((200, 2), "z", dtype=object), "match no class"),
    ):
        with pytest.raises(InputError, match=words):
            ROWS.with_votes(votes)


P, SAID = PROBA[:, 0], annotators(COUNTS)[:, :5]
LAYOUTS = {
    "annotators": {f"annotator_{k}": SAID[:, k] for k in range(5)},
    "counts": {f"votes_{name}": COUNTS[:, k] for k, name in enumerate(NAMES)},
    "shares": {f"{name} share": SHARES[:, k] for k, name in enumerate(NAMES)},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", ["vectors", "top-label"])
def test_files_with_votes_are_read_as_votes(kind, layout, tmp_path):
    scores = {f"p_{name}": PROBA[:, k] for k, name in enumerate(NAMES)}
    if kind == "top-label":
        scores = {"predicted": np.array(NAMES)[PROBA.argmax(axis=1)], "confidence": PROBA.max(axis=1)}
    frame = pd.DataFrame(scores | LAYOUTS[layout])
    rows = read(frame, votes=list(LAYOUTS[layout]))
    assert (rows.kind, rows.voted.max() + 1, rows.metadata) == (kind, 200, None)
    assert accuracy(rows.labels, rows) == pytest.approx(SHARES[np.arange(200), PROBA.argmax(axis=1)].mean())
    assert rows.without_votes().n_samples == 200
    once = rows.unweighted()
    assert accuracy(once.labels, once) == pytest.approx(accuracy(rows.labels, rows))
    Project("votes", rows).save(tmp_path / "votes.calib")
    assert Project.load(tmp_path / "votes.calib").evaluation.fingerprint == rows.fingerprint


def test_a_score_is_read_with_the_codes_of_two_raters():
    first, second = (np.random.default_rng(seed).random(200) < P for seed in (1, 2))
    frame = pd.DataFrame({"score": P, "rater1": first.astype(int), "rater2": second.astype(int)})
    rows = read(frame, votes="rater*")
    assert (rows.kind, rows.sample_weight) == ("binary", None)
    assert rows.labels.reshape(200, 2).sum(axis=1).tolist() == (first.astype(int) + second).tolist()


def test_a_label_beside_columns_of_annotators_is_asked_for():
    frame = pd.DataFrame({f"p_{name}": PROBA[:, k] for k, name in enumerate(NAMES)} | LAYOUTS["annotators"])
    frame["label"] = frame["annotator_0"]
    with pytest.raises(InputError, match="can both be the true class"):
        read(frame)
    assert read(frame, label="label").voted is None
    assert read(frame, votes="annotator_*").voted is not None
    with pytest.raises(InputError, match="not both"):
        read(frame, votes="annotator_*", label="label")
