"""Answers at the finest level of a hierarchy that keeps an accuracy: species, else genus, else family.

The probability of a group of classes is the sum of theirs. A row is answered at the first level, from the
finest, at which the most probable group reaches the level's threshold; a person answers all other rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from calib.answers.decision_rules import decide
from calib.answers.promises import promise_words
from calib.base.exceptions import InputError
from calib.base.results import Drawn
from calib.calibrators.acceptance import LevelRule
from calib.data.equal_rows import Overlap
from calib.data.predictions import ConfidencePrediction, Scores, Values, score_matrix
from calib.data.validation import check_alpha, check_share, plain
from calib.evidence.rows import Source, scores_and_next, single_rows

#: Separates the names in a path such as "Felidae;Felis;Felis catus", the coarsest name first.
SEPARATOR = ";"
#: Columns of `Coarsening` by level.
COLUMNS = ("n_groups", "n_answered", "n_wrong", "right", "lower", "upper")


@dataclass(frozen=True, eq=False, repr=False)
class Coarsening(LevelRule, Drawn):
    """A `LevelRule` that `coarsen` chose, with its effect on the rows it was chosen on."""

    n_samples: int  #: Rows
    n_groups: np.ndarray = field(repr=False)  #: (H,) int64: Groups of classes at each level
    n_answered: np.ndarray  #: (H,) int64: Rows that are answered at this level
    n_wrong: np.ndarray  #: (H,) int64: Wrong answers among them
    #: (H,) float64: Share of right answers (NaN without answers), and its 95 % interval for other rows
    right: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    unpromised: str | None = None  #: Why nothing is promised although enough answers are right
    dependence: str | None = None  #: Which rows may belong together: answers are the more careful ones

    def frame(self) -> pd.DataFrame:
        """Return a row for each level, the finest first."""
        table = {name: getattr(self, name) for name in ("n_groups", "n_answered", "share", *COLUMNS[2:])}
        return pd.DataFrame({"level": self.levels, "threshold": self.thresholds} | table)

    @property
    def share(self) -> np.ndarray:
        """Share of the rows that are answered at each level, (H,) float64."""
        return self.n_answered / self.n_samples

    @property
    def sentence(self) -> str:
        """The share of rows that each level answers, and the promise."""
        said = [
            f"{share:.1%} at {level} ({right:.1%} right)" if share else f"none at {level}"
            for level, share, right in zip(self.levels, self.share, self.right, strict=True)
        ]
        words = f"Of {self.n_samples:,} rows, {', '.join(said)} are answered; "
        words += f"{1.0 - self.share.sum():.1%} are left to a person."
        few = f"these rows are too few or too often wrong for an accuracy of {self.accuracy:.4g}"
        remark = "thresholds are the more careful ones"
        promised = promise_words(self.guarantee, self.unpromised or few, self.dependence, remark)
        return f"{words} {promised}"


def coarsen(
    y_true: Source,
    scores: Scores | Mapping[str, Values] | Sequence[str] | None = None,
    tree: Mapping[str, Values] | pd.DataFrame | Sequence[str] | None = None,
    *,
    accuracy: float = 0.95,
    alpha: float = 0.1,
    sample_weight: Values | None = None,
    cluster: Values | None = None,
    overlap: Overlap | None = None,
) -> Coarsening:
    """Choose how high a summed probability must be for each level of a hierarchy of classes to answer.

    Parameters
    ----------
    y_true, scores
        As for `calib.ece`: labels and a probability for each class, of rows that neither the model nor its
        calibrator was fitted on.
    tree : table, or (L,) sequence of str, optional
        The hierarchy. A table has a column for each level, such as species, genus and family, a row for each
        class, and the names of the classes in its first or last column. A sequence holds the path of each
        class in their order, such as "Felidae;Felis;Felis catus". By default the names of the classes are
        such paths.
    accuracy : float in (0, 1), default 0.95
        At least this share of the answers at each level is to be right.
    alpha : float in (0, 1), default 0.1
        The promise misses at any level with at most this probability.
    sample_weight, cluster, overlap
        As for `calib.decide`.

    Returns
    -------
    Coarsening
        `accept(new)` answers new rows, ``carried_by(calibrator)`` is the calibrator that `calib.save` stores.

    Notes
    -----
    Levels are tested in a fixed sequence, the finest first, each with alpha / H by the bound of
    `calib.decide`. A level is tested on the rows that no finer level answers. The threshold of a finer level
    depends on rows above it, so that the other rows are still a sample. Rows just below it are wrong more
    often than usual, which makes the test of the next level more careful.

    Examples
    --------
    >>> from calib import Predictions
    >>> tree = {"species": ["catus", "silvestris", "lupus"], "genus": ["Felis", "Felis", "Canis"]}
    >>> proba = [[0.97, 0.02, 0.01]] * 200 + [[0.55, 0.43, 0.02]] * 200
    >>> found = Predictions(proba, [0] * 200 + [0, 1] * 100, class_names=tree["species"])
    >>> rule = coarsen(found, tree=tree)
    >>> rule.n_answered.tolist()
    [200, 200]
    >>> rule.accept([[0.5, 0.48, 0.02]]).answer.tolist()
    ['Felis']
    """
    own, tree = scores_and_next(y_true, scores, tree)
    evidence = single_rows(y_true, own, sample_weight, cluster, "A choice of levels")
    if (missing := evidence.lacks("notion:class-wise")) is not None:
        raise InputError(missing)
    check_share(accuracy, "accuracy", 0.95)
    table = _hierarchy(tree, tuple(map(str, evidence.class_names or ())))
    levels, names = tuple(map(str, table)), tuple(map(tuple, table.to_numpy(dtype=object).T))
    thresholds = np.full(len(levels), np.inf)
    asked = LevelRule(levels, names, thresholds, accuracy, check_alpha(alpha), None)
    left = np.ones(evidence.n_samples, dtype=bool)
    found, unpromised, dependence = [], None, None
    for place, (code, top, confidence) in enumerate(asked.claims(score_matrix(evidence.predictions))):
        answered = 0, 0, np.nan, 0.0, 1.0
        if left.any():
            part = evidence.take(np.flatnonzero(left))
            right = code[evidence.labels[left]] == top[left]
            answers = ConfidencePrediction(confidence[left], right, **part.predictions.carried)
            rule = decide(
                part.of_scores(answers), accuracy=accuracy, alpha=alpha, choices=len(levels), overlap=overlap
            )
            unpromised, dependence = unpromised or rule.unpromised, dependence or rule.dependence
            if rule.guarantee is not None:
                thresholds[place], effect = rule.thresholds[0], rule.effect
                answered = effect.n_accepted, effect.n_wrong, effect.accuracy, effect.lower, effect.upper
                left &= confidence < thresholds[place]
        found.append((code.max() + 1, *answered))
    guarantee = (
        f"With probability {1 - alpha:.3g} at least {accuracy:.4g} of the answers at each level are right, "
        "among new rows from the same source."
    )
    chosen: dict[str, Any] = dict(zip(COLUMNS, map(np.array, zip(*found, strict=True)), strict=True))
    chosen |= {**vars(asked), "guarantee": guarantee if np.isfinite(thresholds).any() else None}
    return Coarsening(**chosen, n_samples=len(left), unpromised=unpromised, dependence=dependence)


def _hierarchy(tree: Any, classes: tuple[str, ...]) -> pd.DataFrame:
    """Return a column of names for each level, the finest first, and a row for each class."""
    paths = classes if tree is None else plain(tree)
    if isinstance(paths, Mapping) and len({*map(np.shape, paths.values())} - {()}) != 1:
        raise InputError("tree must hold a column for each level, with as many names as there are classes")
    if isinstance(paths, Mapping) or hasattr(paths, "columns"):
        return _table_levels(pd.DataFrame(paths).fillna("").astype(str), classes)
    if np.size(paths) != len(classes):
        raise InputError(
            f"tree must hold a path for each of {len(classes):,} classes; got {np.size(paths):,}"
        )
    parts = [[name.strip() for name in str(path).split(SEPARATOR)] for path in paths]
    sizes = {len(names): str(path)[:60] for path, names in zip(paths, parts, strict=True)}
    if len(sizes) > 1 or 1 in sizes:
        what = "class names are no paths" if tree is None else "paths must have equally many names"
        counts = ", ".join(f"{path!r} has {size}" for size, path in sizes.items())
        raise InputError(
            f"{what}, at least 2 and joined by {SEPARATOR!r}: {counts}. Pass tree (--tree) as a table with a "
            "column for each level"
        )
    return pd.DataFrame(parts).rename(columns=lambda place: f"level {place + 1}").iloc[:, ::-1]


def _table_levels(table: pd.DataFrame, classes: tuple[str, ...]) -> pd.DataFrame:
    both = list(table), list(table)[::-1]
    columns = max(both, key=lambda names: len(set(classes) & set(table[names[0]])))
    held = table[columns[0]]
    missing = [name for name in classes if name not in set(held)][:3]
    if len(columns) < 2 or missing or held.duplicated().any():
        raise InputError(
            "tree must have each class once in its first or last column, and a column for each other level; "
            + (f"it lacks {', '.join(map(repr, missing))}" if missing else "a class is there twice, or alone")
            + ". `class_names` of calib.Predictions names classes"
        )
    table = table.set_index(columns[0], drop=False).loc[list(classes)]
    for fine, coarse in itertools.pairwise(columns):
        pairs = table[[fine, coarse]].drop_duplicates()
        if twice := pairs[fine][pairs[fine].duplicated()].tolist():
            raise InputError(
                f"{twice[0]!r} in column {fine!r} of tree belongs to several of column {coarse!r}; columns "
                "must go from the class to ever larger groups, or the other way"
            )
    return table[columns]
