"""COVTYPE-shaped simulation: the class imbalance and the underconfident forest, with known truth."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit

from calib.datasets.covtype_real import COVER_TYPES
from calib.datasets.example import EXAMPLE_TITLES, Example
from calib.predictions import Predictions

#: Shares of the true classes 1..7 in COVTYPE.
SHARES = np.array([0.3646, 0.4876, 0.0615, 0.0047, 0.0163, 0.0299, 0.0353])

_TREES = 100
_VOTES = np.arange(30, _TREES + 1)  # possible votes for the predicted class

# Who is meant when the forest is wrong: row l, the true classes when l is predicted. Proportions of the
# errors of a forest on the 15,000-row sample, smoothed.
_ERRORS = np.array(
    [
        [0.00, 0.84, 0.01, 0.00, 0.01, 0.00, 0.14],
        [0.74, 0.00, 0.04, 0.00, 0.13, 0.07, 0.02],
        [0.00, 0.25, 0.00, 0.16, 0.02, 0.57, 0.00],
        [0.00, 0.00, 0.60, 0.00, 0.00, 0.40, 0.00],
        [0.10, 0.75, 0.10, 0.00, 0.00, 0.05, 0.00],
        [0.00, 0.31, 0.62, 0.06, 0.01, 0.00, 0.00],
        [0.93, 0.07, 0.00, 0.00, 0.00, 0.00, 0.00],
    ]
)
# The predicted class's votes are beta distributed on 30..100; rare classes get fewer.
_MEAN_VOTES = np.array([0.86, 0.87, 0.85, 0.74, 0.71, 0.78, 0.86])
_CONCENTRATION = 4.0
# P(Y = l | x) = expit(slope logit h + shift): steeper than the diagonal and above it, so underconfident.
_SLOPE = 1.9
_SHIFT = np.array([0.25, 0.25, 0.15, 0.45, 0.75, 0.30, 0.55])


def covtype_simulated(
    *, n_calibration: int = 40_671, n_evaluation: int = 174_304, random_state: int = 0
) -> Example:
    """Simulate a random forest on COVTYPE-7: real class shares, underconfident, scores in steps of 0.01.

    Parameters
    ----------
    n_calibration, n_evaluation : int
        Rows of the two parts; the defaults are the paper's (Appendix B.2).
    random_state : int
        Seed.

    Notes
    -----
    A forest of 100 fully grown trees predicts shares of votes. Here the predicted class c and its votes are
    drawn first; then P(Y = c | x) = expit(1.9 logit h + s_c) with a shift s_c > 0 per class, and the other
    classes share the other votes and the other probability alike. The shares of the predicted classes are
    solved for, so that the true classes have COVTYPE's shares.
    """
    chances = _vote_chances()
    truth_by_votes = expit(_SLOPE * logit(_VOTES / _TREES) + _SHIFT[:, None])
    right = (chances * truth_by_votes).sum(axis=1)
    label_given_prediction = np.diag(right) + (1.0 - right)[:, None] * _ERRORS
    predicted_shares = np.linalg.solve(label_given_prediction.T, SHARES)
    predicted_shares /= predicted_shares.sum()

    def draw(n: int, rng: np.random.Generator) -> tuple[Predictions, np.ndarray]:
        label = rng.choice(len(SHARES), size=n, p=predicted_shares)
        upto = chances.cumsum(axis=1)[label]
        place = (upto <= rng.random((n, 1)) * upto[:, -1:]).sum(axis=1)
        truth = truth_by_votes[label, place]
        votes = _other_votes(label, _VOTES[place], rng)
        hit = rng.random(n) < truth
        share = votes.cumsum(axis=1)
        other = (share > np.floor(rng.random(n) * share[:, -1])[:, None]).argmax(axis=1)
        np.put_along_axis(votes, label[:, None], _VOTES[place][:, None], axis=1)
        return Predictions(votes / _TREES, np.where(hit, label, other), COVER_TYPES), truth

    calibration, _ = draw(n_calibration, np.random.default_rng((random_state, 0)))
    evaluation, truth = draw(n_evaluation, np.random.default_rng((random_state, 1)))
    return Example(
        name="covtype-simulated",
        title=EXAMPLE_TITLES["covtype-simulated"],
        description=(
            "Simulated in the shape of COVTYPE with a random forest: 7 classes, one 100 times as frequent as "
            "another, and confidences in steps of 0.01 that are too low for every predicted class."
        ),
        simulated=True,
        calibration=calibration,
        evaluation=evaluation,
        truth=truth,
    )


def _vote_chances() -> np.ndarray:
    """P(votes | predicted class), (7, 71): beta densities on the grid of `_VOTES`, normalised."""
    u = (np.arange(len(_VOTES)) + 0.5) / len(_VOTES)
    mean = ((_MEAN_VOTES * _TREES - _VOTES[0]) / (_TREES - _VOTES[0]))[:, None]
    log_density = (mean * _CONCENTRATION - 1) * np.log(u) + ((1 - mean) * _CONCENTRATION - 1) * np.log1p(-u)
    density = np.exp(log_density)
    return density / density.sum(axis=1, keepdims=True)


def _other_votes(label: np.ndarray, top: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw the other classes' votes, (n, 7) int with zeros at `label`, each below the `top` votes."""
    weights = rng.gamma(1.5 * _ERRORS[label]) + 1e-9 * _ERRORS[label]
    votes = rng.multinomial(_TREES - top, weights / weights.sum(axis=1, keepdims=True))
    room = np.maximum(top - 1, 0)[:, None]
    excess = np.maximum(votes - room, 0)
    votes -= excess
    left = excess.sum(axis=1)
    for code in range(votes.shape[1]):
        add = np.where(label == code, 0, np.minimum(left, room[:, 0] - votes[:, code]))
        votes[:, code] += add
        left = left - add
    return votes
