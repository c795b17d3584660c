"""A classifier and a calibrator as one scikit-learn estimator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _check_method_params,
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
    indexable,
)

from calib.base.exceptions import InputError
from calib.calibrators.binary import BinaryCalibrator
from calib.calibrators.calibrator import Fittable
from calib.calibrators.multiclass import MulticlassToBinary, fit_rows
from calib.data.defaults import RANDOM_STATE
from calib.data.matrices import completed, highest, softmax
from calib.data.predictions import TopLabelPrediction, Values
from calib.data.splits import units_of
from calib.data.validation import as_clusters, check_all_known, check_choice, check_share

#: Largest size of a scaled decision value: calibrators clip scores at log-odds of about 16.
LARGEST_DECISION = 16.0
#: Fewest calibration rows of a fold with its own calibrator: a sigmoid fits any two rows.
MIN_FOLD_ROWS = 3
RESPONSES = ("auto", "predict_proba", "decision_function")


def _calibrator_has(*methods: str) -> Any:
    def has(model: CalibratedModel) -> bool:
        pairs = getattr(model, "pairs_", None)
        calibrator = pairs[0].calibrator if pairs else model.unfitted_calibrator
        return any(hasattr(calibrator, method) for method in methods)

    return available_if(has)


class FittedPair:
    """A fitted classifier, and the calibrator fitted on its scores of rows that it had not seen.

    `response` is the method whose result is calibrated; decision values are divided by `scale`; `classes` are
    the (L,) classes of the columns.
    """

    def __init__(self, estimator: BaseEstimator, response: str, classes: np.ndarray) -> None:
        self.estimator, self.response, self.classes = estimator, response, classes
        self.calibrator: Any = None
        self.scale = 1.0

    def values(self, X: Any) -> np.ndarray:
        """Return the classifier's output; unseen classes get probability 0, or decision value -inf."""
        values = np.asarray(getattr(self.estimator, self.response)(X))
        own = np.asarray(self.estimator.classes_)
        if len(own) == len(self.classes):
            return values
        if values.ndim == 1:
            values = np.column_stack([-values / 2.0, values / 2.0])
        nothing = 0.0 if self.response == "predict_proba" else -np.inf
        matrix = np.full((len(values), len(self.classes)), nothing, dtype=values.dtype)
        matrix[:, np.searchsorted(self.classes, own)] = values
        return matrix

    def scores(self, values: np.ndarray) -> np.ndarray:
        """Return scores, (n, L); decision values d become expit(d), or softmax(d) for several classes."""
        if self.response == "predict_proba":
            return values
        scaled = values / self.scale
        if scaled.ndim == 1:
            return np.column_stack([expit(-scaled), expit(scaled)])
        return softmax(scaled)

    def fit_calibrator(
        self, unfitted: BaseEstimator, values: np.ndarray, codes: np.ndarray, weights: Any
    ) -> FittedPair:
        if self.response == "decision_function":
            self.scale = max(1.0, float(np.abs(values[np.isfinite(values)]).max()) / LARGEST_DECISION)
        self.calibrator = fit_rows(clone(unfitted), self.scores(values), codes, weights)
        return self

    def proba(self, X: Any) -> np.ndarray:
        """Calibrated probabilities, (n, L); a calibrated confidence is completed by the other classes."""
        scores = self.scores(self.values(X))
        if hasattr(self.calibrator, "predict_proba"):
            return self.calibrator.predict_proba(scores)
        top = self.calibrator.predict_top(scores)
        return completed(scores, top.label, top.confidence)


class CalibratedModel(ClassifierMixin, MetaEstimatorMixin, Fittable):
    """A classifier whose probabilities go through a calibrator.

    Parameters
    ----------
    estimator : classifier with predict_proba or decision_function
        Fitted by `fit` on rows that the calibrator does not see. In `sklearn.frozen.FrozenEstimator` it stays
        as it is, and all rows go to the calibrator.
    calibrator : MulticlassToBinary, a scaling or CanonicalBinning, optional
        Default `MulticlassToBinary()`.
    calibration : float in (0, 1), default 0.25
        Without `cv`: share of each class's rows set aside for the calibrator, with seed `random_state`.
    cv : int, splitter or iterable of (train, test), optional
        Folds in place of the split, as in `sklearn.model_selection.check_cv`. Every class needs a row in each
        fold; with `ensemble`, each fold needs 3 rows of 2 classes.
    ensemble : bool, default True
        True averages the probabilities of each fold's pair. False fits one calibrator to the scores of all
        folds together, and the estimator to all rows.
    response : {"auto", "predict_proba", "decision_function"}, default "auto"
        What is calibrated. "auto" prefers `predict_proba`. Decision values d become expit(d), or softmax(d)
        for more than two classes.
    n_jobs : int, optional
        Splits fitted at the same time, as in `joblib.Parallel`.

    Attributes
    ----------
    pairs_ : list of FittedPair
        Estimator and calibrator of each split: a single pair, unless `cv` with `ensemble`.
    estimator_, calibrator_
        The single pair's. ``calib.save(model.calibrator_, file, class_names=model.classes_)`` stores it.
    classes_ : (L,) array
        Classes in the order of the columns.
    n_calibration_ : int
        Rows that the calibrators were fitted on.

    Notes
    -----
    A guarantee of histogram binning holds for one split or a frozen estimator, not for averages or
    ``ensemble=False``. Only ratios of weights matter to calibrators; a weight of 2 is not the same as two
    rows for histogram binning, Platt scaling and structured scaling, which count rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = LogisticRegression(C=0.1).fit(X[::2], y[::2])
    >>> model = CalibratedModel(FrozenEstimator(classifier), MulticlassToBinary(min_points=1))
    >>> top = model.fit(X[1::2], y[1::2]).predict_top(X[:3])
    >>> top.label.tolist(), top.confidence.tolist()
    ([0, 0, 0], [1.0, 1.0, 1.0])
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        calibrator: Any = None,
        *,
        calibration: float = 0.25,
        random_state: int | np.random.RandomState | None = RANDOM_STATE,
        cv: Any = None,
        ensemble: bool = True,
        response: str = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.calibration = calibration
        self.random_state = random_state
        self.cv = cv
        self.ensemble = ensemble
        self.response = response
        self.n_jobs = n_jobs

    @property
    def unfitted_calibrator(self) -> Any:
        """The calibrator as given, or `MulticlassToBinary()`."""
        return MulticlassToBinary() if self.calibrator is None else self.calibrator

    def fit(
        self,
        X: Any,
        y: Values,
        sample_weight: Values | None = None,
        *,
        cluster: Any = None,
        **fit_params: Any,
    ) -> CalibratedModel:
        """Fit estimators on some of the rows and calibrators on the rest.

        Parameters
        ----------
        X : (n, features) array_like, sparse matrix or DataFrame
        y : (n,) array_like
            Class labels.
        sample_weight : (n,) array_like of float, optional
            For the calibrator, and for the estimator if its `fit` takes (with metadata routing: requests)
            weights.
        cluster : (n,) array_like, optional
            Ids of rows that belong together, which stay on one side of every split. An int `cv` then means
            `sklearn.model_selection.StratifiedGroupKFold`; a splitter gets the ids as ``groups``.
        **fit_params
            For the estimator's `fit`, divided by row if they have an entry per row; with metadata routing,
            for whatever requests them.

        Raises
        ------
        InputError
            If the estimator or calibrator lacks a method that is needed, no rows are left for the calibrator,
            folds are too small or divide a cluster, or a frozen estimator does not know a class of `y`.

        Warns
        -----
        UserWarning
            If the estimator's `fit` takes no weights; it is then fitted without them.
        """
        response = self._response()
        if isinstance(self.calibrator, (str, type)):
            raise InputError(f"calibrator must be one such as TemperatureScaling(); got {self.calibrator!r}")
        if isinstance(self.cv, str):
            raise InputError(f"cv cannot be {self.cv!r}; pass FrozenEstimator(classifier), without cv")
        if isinstance(self.calibrator, BinaryCalibrator):
            name = type(self.calibrator).__name__
            raise InputError(f"{name} calibrates one score: pass MulticlassToBinary({name}()) as calibrator")
        X, y, sample_weight = indexable(X, y, sample_weight)
        if np.ndim(y):
            check_all_known(np.asarray(y), "y")
        check_classification_targets(y)
        labels = column_or_1d(y, warn=True)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, labels)
        clusters = None if cluster is None else as_clusters(cluster, len(labels))
        to_estimator, to_splitter = self._routed(sample_weight, fit_params)
        frozen = isinstance(self.estimator, FrozenEstimator)
        self.classes_ = np.asarray(self.estimator.classes_) if frozen else np.unique(labels)
        codes = self._codes(labels)

        def fitted(rows: np.ndarray) -> Any:
            params = _check_method_params(X, to_estimator, rows)
            return clone(self.estimator).fit(_safe_indexing(X, rows), labels[rows], **params)

        def pair_and_values(train: np.ndarray, test: np.ndarray) -> tuple[FittedPair, np.ndarray]:
            pair = FittedPair(self.estimator if frozen else fitted(train), response, self.classes_)
            return pair, pair.values(_safe_indexing(X, test))

        splits = self._splits(X, labels, clusters, to_splitter)
        several = Parallel(n_jobs=self.n_jobs)(
            delayed(pair_and_values)(np.asarray(train), np.asarray(test)) for train, test in splits
        )
        tests = [np.asarray(test) for _, test in splits]
        if self.ensemble and len(splits) > 1 and not hasattr(self, "predict_proba"):
            raise InputError(
                "cv with ensemble=True averages probabilities, and this calibrator gives none; use "
                "ensemble=False"
            )
        if not self.ensemble and not frozen:
            everything = FittedPair(fitted(np.arange(len(labels))), response, self.classes_)
            collected = np.concatenate([values for _, values in several])
            several, tests = [(everything, collected)], [np.concatenate(tests)]
        pairs = [
            pair.fit_calibrator(
                self.unfitted_calibrator, values, codes[test], None if weights is None else weights[test]
            )
            for (pair, values), test in zip(several, tests, strict=True)
        ]
        self.set_pairs(pairs, sum(map(len, tests)))
        return self

    def set_pairs(self, pairs: list[FittedPair], n_calibration: int) -> None:
        """Set the fitted attributes from pairs of estimator and calibrator."""
        self.pairs_, self.n_calibration_ = pairs, n_calibration
        for name in ("estimator_", "calibrator_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        first = self.pairs_[0]
        if len(self.pairs_) == 1:
            self.estimator_, self.calibrator_ = first.estimator, first.calibrator
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(first.estimator, name):
                setattr(self, name, getattr(first.estimator, name))

    def predict(self, X: Any) -> np.ndarray:
        """Predicted class labels, (n,), by the calibrator, or by the average over several pairs."""
        check_is_fitted(self)
        if len(self.pairs_) > 1:
            return self.classes_[highest(self.predict_proba(X))[0]]
        return self.classes_[self.calibrator_.predict(self._scores(X))]

    @_calibrator_has("predict_proba", "predict_top")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Calibrated probabilities of all classes, (n, L), averaged over the pairs.

        If a calibrator gives only the predicted class's confidence, the other classes share the rest in
        proportion to the estimator's scores.
        """
        check_is_fitted(self)
        return np.mean([pair.proba(X) for pair in self.pairs_], axis=0)

    @_calibrator_has("predict_top")
    def predict_top(self, X: Any) -> TopLabelPrediction:
        """Predicted class as a code (`classes_[label]` is its label) and its calibrated probability."""
        check_is_fitted(self)
        if len(self.pairs_) > 1:
            return TopLabelPrediction(*highest(self.predict_proba(X)))
        return self.calibrator_.predict_top(self._scores(X))

    @_calibrator_has("predict_top_k")
    def predict_top_k(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Codes of the K highest classes and their calibrated scores, both (n, K)."""
        check_is_fitted(self)
        return self.calibrator_.predict_top_k(self._scores(X))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata this model, its estimator and the splitter of `cv` request."""
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        if hasattr(self.cv, "get_metadata_routing"):
            router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def __sklearn_tags__(self) -> Any:
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags.sparse = own.input_tags.sparse
        tags.input_tags.allow_nan = own.input_tags.allow_nan
        return tags

    def _scores(self, X: Any) -> np.ndarray:
        (pair,) = self.pairs_
        return pair.scores(pair.values(X))

    def _response(self) -> str:
        check_choice(self.response, RESPONSES, "response")
        wanted = RESPONSES[1:] if self.response == "auto" else (self.response,)
        for name in wanted:
            if hasattr(self.estimator, name):
                return name
        raise InputError(
            f"the estimator needs {' or '.join(wanted)}; {type(self.estimator).__name__} has none"
        )

    def _codes(self, labels: np.ndarray) -> np.ndarray:
        codes = np.searchsorted(self.classes_, labels).clip(0, len(self.classes_) - 1)
        unknown = self.classes_[codes] != labels
        if unknown.any():
            raise InputError(f"y has the class {labels[unknown][0]!r}, which the estimator was not fitted on")
        return codes

    def _routed(
        self, sample_weight: Values | None, params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", sample_weight=sample_weight, **params)
            return routed.estimator.fit, routed.splitter.split if "splitter" in routed else {}
        if sample_weight is None or isinstance(self.estimator, FrozenEstimator):
            return params, {}
        if has_fit_parameter(self.estimator, "sample_weight"):
            return {**params, "sample_weight": sample_weight}, {}
        if not any(name.endswith("__sample_weight") for name in params):  # of a step of a pipeline
            warnings.warn(
                f"sample_weight is used by the calibrator alone: {type(self.estimator).__name__}.fit has no "
                "such argument. For a pipeline, also pass the weights to its last step, as "
                "step__sample_weight.",
                UserWarning,
                stacklevel=3,
            )
        return params, {}

    def _splits(
        self, X: Any, labels: np.ndarray, cluster: np.ndarray | None, params: dict[str, Any]
    ) -> list[tuple[Any, Any]]:
        if isinstance(self.estimator, FrozenEstimator):
            nothing = np.empty(0, dtype=np.intp)
            return [(nothing, np.arange(len(labels)))]
        if self.cv is None:
            return [self._divide(labels, cluster)]
        # half of scikit-learn
        from sklearn.model_selection import LeaveOneOut, StratifiedGroupKFold, check_cv

        by_cluster = cluster is not None and isinstance(self.cv, (int, np.integer))
        cv = StratifiedGroupKFold(self.cv) if by_cluster else check_cv(self.cv, labels, classifier=True)
        n_folds = len(labels) if isinstance(cv, LeaveOneOut) else getattr(cv, "n_splits", 0)
        classes, counts = np.unique(labels, return_counts=True)
        rarest = counts.argmin()
        if counts[rarest] < n_folds:
            raise InputError(
                f"cv makes {n_folds} folds of n_samples={len(labels)}, and class {str(classes[rarest])!r} "
                f"has {counts[rarest]} rows; every class needs at least a row in each fold. Use fewer folds"
            )
        if cluster is not None:
            params = {"groups": cluster, **params}
            if (n_clusters := len(np.unique(cluster))) < n_folds:
                raise InputError(f"cv makes {n_folds} folds of {n_clusters} clusters; use fewer folds")
        splits = list(cv.split(X, labels, **params))
        for number, (train, test) in enumerate(splits):
            if cluster is not None and len(divided := np.intersect1d(cluster[train], cluster[test])):
                raise InputError(
                    f"fold {number} of cv divides {len(divided):,} clusters between estimator and "
                    "calibrator; give cv as an int, or a splitter that keeps its groups together, such as "
                    "GroupKFold"
                )
        for number, (_, test) in enumerate(splits if self.ensemble else ()):
            n_rows, n_classes = len(labels[test]), len(np.unique(labels[test]))
            if n_rows < MIN_FOLD_ROWS or n_classes < min(2, len(classes)):
                raise InputError(
                    f"fold {number} of cv has {n_rows} rows of {n_classes} of {len(classes)} classes for its "
                    f"calibrator; with ensemble=True it needs at least {MIN_FOLD_ROWS} rows, of at least 2 "
                    "classes. Use fewer folds, shuffled or stratified folds, or ensemble=False"
                )
        return splits

    def _divide(self, labels: np.ndarray, cluster: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Stratify by class; the class of a cluster is its first row's."""
        check_share(self.calibration, "calibration", 0.25)
        unit = units_of(cluster, len(labels))
        strata = labels[np.unique(unit, return_index=True)[1]]
        order = check_random_state(self.random_state).permutation(len(strata))
        order = order[np.argsort(strata[order], kind="stable")]
        _, starts, counts = np.unique(strata[order], return_index=True, return_counts=True)
        position = np.arange(len(strata)) - np.repeat(starts, counts)
        chosen = position < np.repeat(np.floor(counts * self.calibration + 1e-9), counts)
        if not chosen.any():
            what = "rows" if cluster is None else "clusters"
            raise InputError(
                f"{len(strata)} {what} of {len(counts)} classes leave none for the calibrator with "
                f"calibration={self.calibration}; bring more rows or raise it"
            )
        calibrates = np.isin(unit, order[chosen])
        return np.flatnonzero(~calibrates), np.flatnonzero(calibrates)
