"""Calibrators that condition on a group: cells against single fits, fallbacks, files and guarantees."""

import json

import numpy as np
import pytest
from sklearn.base import clone

from calib import CalibratorFileError, HistogramBinning, InputError, MulticlassToBinary, PlattScaling
from calib.answers import guarantee_card
from calib.answers.calibrated import calibrated_scores
from calib.calibrators.catalogue import name_of
from calib.calibrators.multiclass import fallback_records
from calib.data.notions import PerClass
from calib.data.predictions import as_predictions
from calib.export.onnx import to_onnx, verify_onnx
from calib.export.scorer_file import scorer, verify_scorer
from calib.files.saved import checksum, dumps, loads

N, L = 900, 3
RANDOM = np.random.default_rng(0)
PROBA = RANDOM.dirichlet(np.full(L, 0.7), N)
LABEL, SCORE = PROBA.argmax(axis=1), PROBA.max(axis=1)
Y = np.where(RANDOM.random(N) < SCORE**2, LABEL, (LABEL + 1) % L)
GROUPS = RANDOM.choice(["east", "north", "west"], N, p=[0.05, 0.5, 0.45])
NEW, NEW_GROUPS = RANDOM.dirichlet(np.full(L, 0.7), 200), RANDOM.choice(["north", "east", "moon"], 200)
BOTH = ("class", "group")


def fitted(by=BOTH, binary=None, **options):
    binary = HistogramBinning(points_per_bin=40) if binary is None else binary
    return MulticlassToBinary(binary, by=by, **options).fit(PROBA, Y, groups=GROUPS)


@pytest.mark.parametrize("binary", [HistogramBinning(points_per_bin=40), PlattScaling()])
@pytest.mark.parametrize("fallback", ["identity", "pooled"])
def test_each_cell_is_calibrated_by_its_rows_or_its_class(binary, fallback):
    model = fitted(binary=binary, fallback=fallback, min_points=40)
    top = model.predict_top(NEW, groups=NEW_GROUPS)
    label, score = NEW.argmax(axis=1), NEW.max(axis=1)
    assert top.label.tolist() == label.tolist()
    for row in range(len(NEW)):
        cell = (label[row] == LABEL) & (NEW_GROUPS[row] == GROUPS)
        if cell.sum() < 40:
            cell = label[row] == LABEL
        item = clone(binary).fit(SCORE[cell], (Y == LABEL)[cell])
        assert top.confidence[row] == pytest.approx(item.predict(score[[row]])[0], abs=1e-9)
    used = {(fallback.label, fallback.group): fallback.used for fallback in model.fallbacks_}
    assert used == {(label, 0): "class" for label in range(L)}
    assert model.groups_ == ("east", "north", "west")
    assert fallback_records(model, "abc")[0]["group"] == "east"
    assert name_of(model).endswith("by class and group")
    if isinstance(binary, HistogramBinning):
        card = guarantee_card(model).frame()
        assert card["group"].tolist() == [name for name in model.groups_ for _ in range(L)]
        assert card["eps_conditional"].isna().tolist() == [True] * L + [False] * 2 * L


def test_group_alone_pools_its_classes():
    model = fitted("group", fallback="pooled")
    top = model.predict_top(NEW, groups=NEW_GROUPS)
    for group in ("north", "moon"):
        rows = group == GROUPS if group == "north" else np.ones(N, bool)
        item = HistogramBinning(points_per_bin=40).fit(SCORE[rows], (Y == LABEL)[rows])
        new = group == NEW_GROUPS
        np.testing.assert_array_equal(top.confidence[new], item.predict(NEW.max(axis=1)[new]))
    alone = fitted("group").predict_top(NEW, groups=NEW_GROUPS)
    moon = NEW_GROUPS == "moon"
    np.testing.assert_array_equal(alone.confidence[moon], NEW.max(axis=1)[moon])


def test_classes_with_too_few_rows_fall_back_as_without_groups():
    model = MulticlassToBinary(HistogramBinning(points_per_bin=330), by=BOTH, fallback="pooled")
    model.fit(PROBA, Y, groups=GROUPS)
    plain = MulticlassToBinary(HistogramBinning(points_per_bin=330), fallback="pooled").fit(PROBA, Y)
    others = np.full(len(NEW), "moon")
    expected = plain.predict_top(NEW).confidence
    np.testing.assert_array_equal(model.predict_top(NEW, groups=others).confidence, expected)
    assert {fallback.used for fallback in model.fallbacks_} >= {"pooled"}


def test_groups_are_told_apart_by_their_text_and_weights_are_handed_on():
    numbers = np.where(GROUPS == "north", 1, 2)
    item = MulticlassToBinary(by="group").fit(PROBA, Y, groups=numbers)
    other = MulticlassToBinary(by="group").fit(PROBA, Y, groups=numbers.astype(float))
    assert item.groups_ == other.groups_ == ("1", "2")
    assert item.group_codes(["2", "1", None], 3).tolist() == [1, 0, -1]
    kept = np.arange(N) % 3 > 0
    weighted = MulticlassToBinary(by=BOTH).fit(PROBA, Y, kept, groups=GROUPS)
    alone = MulticlassToBinary(by=BOTH).fit(PROBA[kept], Y[kept], groups=GROUPS[kept])
    np.testing.assert_array_equal(
        weighted.predict_top(PROBA, groups=GROUPS).confidence,
        alone.predict_top(PROBA, groups=GROUPS).confidence,
    )


@pytest.mark.parametrize("by", ["group", BOTH])
@pytest.mark.parametrize("options", [{}, {"fallback": "pooled", "complete": "rescale"}])
def test_files_replay_groups_to_the_last_bit(by, options):
    model = fitted(by, **options)
    loaded = loads(dumps(model))
    assert loaded.groups_ == model.groups_
    assert loaded.by == by
    assert loaded.fallbacks_ == model.fallbacks_
    item, other = (m.predict_top(NEW, groups=NEW_GROUPS).confidence for m in (model, loaded))
    np.testing.assert_array_equal(item, other)
    assert guarantee_card(loaded).words() == guarantee_card(model).words()
    if options:
        rows = loaded.predict_proba(NEW, groups=NEW_GROUPS)
        np.testing.assert_allclose(rows.sum(axis=1), 1.0)


def test_files_without_groups_are_as_before_and_damaged_ones_are_refused():
    plain = json.loads(dumps(MulticlassToBinary().fit(PROBA, Y)))
    assert "by" not in plain["params"]
    assert not {"groups_", "by_class_"} & set(plain["state"])
    whole = json.loads(dumps(fitted()))

    def refused(words, **state):
        document = whole | {"state": {**whole["state"], **state}}
        document["state"] = {name: value for name, value in document["state"].items() if value != "gone"}
        document["checksum"] = checksum({key: item for key, item in document.items() if key != "checksum"})
        with pytest.raises(CalibratorFileError, match=words):
            loads(json.dumps(document).encode())

    refused("distinct names in ascending order", groups_=["west", "north", "east"])
    refused(r"groups_\[0\] must be a name", groups_=[1, 2, 3])
    refused("needs 'groups_'", groups_="gone")
    refused("needs 'by_class_'", by_class_="gone")
    refused("n_points_", groups_=["east", "north"])
    refused("by_class_", by_class_=whole["state"]["by_class_"][:2])


def test_guarantee_holds_in_every_class_and_group():
    """Rows drawn from a known truth: all cells at once are within eps_2 but for a share of alpha."""
    random, truth = np.random.default_rng(2), {}
    for label in range(2):
        for group in range(3):
            truth[label, group] = lambda s, k=0.2 + 0.3 * label + 0.2 * group: s ** (1.0 + k)
    missed, marginal = [], []
    for _ in range(60):
        label, group = random.integers(0, 2, 1500), random.integers(0, 3, 1500)
        score = random.uniform(0.5, 1.0, 1500)
        chance = np.select(
            [(label == a) & (group == b) for a, b in truth], [f(score) for f in truth.values()]
        )
        proba = np.where(np.arange(2) == label[:, None], score[:, None], 1 - score[:, None])
        y = np.where(random.random(1500) < chance, label, 1 - label)
        model = MulticlassToBinary(HistogramBinning(points_per_bin=50), by=BOTH).fit(proba, y, groups=group)
        card = guarantee_card(model, 0.1)
        assert card.covered == 1.0
        off = []
        for (of_label, of_group), chance_of in truth.items():
            fit = model.calibrators_[of_group * 2 + of_label]
            edges = np.concatenate(([0.5], fit.edges_, [1.0]))
            for low, high, value in zip(edges, edges[1:], fit.values_, strict=False):
                true = chance_of(np.linspace(low, high, 201)).mean()
                off.append(abs(value - true))
        missed.append(max(off) > card.worst_conditional)
        marginal.append(np.mean(np.array(off) > card.worst_marginal))
    assert np.mean(missed) <= 0.1
    assert np.mean(marginal) <= 0.1


def test_assessment_knows_what_is_binned():
    model = fitted(fallback="pooled")
    assert model.strategy_for(as_predictions(NEW)) == PerClass()
    assert fitted("group", fallback="pooled").strategy_for(as_predictions(NEW)) == PerClass()
    assert fitted(binary=PlattScaling()).strategy_for(as_predictions(NEW)) == "uniform"
    scores = calibrated_scores(model, NEW, groups=NEW_GROUPS)
    np.testing.assert_array_equal(scores.confidence, model.predict_top(NEW, groups=NEW_GROUPS).confidence)


def test_what_does_not_fit_together_is_refused():
    model = fitted()
    with pytest.raises(InputError, match="needs the group of each row"):
        model.predict_top(NEW)
    with pytest.raises(InputError, match="one value per row"):
        model.predict_top(NEW, groups=NEW_GROUPS[:3])
    with pytest.raises(InputError, match="group"):
        MulticlassToBinary(by="group").fit(PROBA, Y)
    with pytest.raises(InputError, match='groups need by="group"'):
        MulticlassToBinary().fit(PROBA, Y, groups=GROUPS)
    with pytest.raises(InputError, match='groups belong to notion "top-label"'):
        MulticlassToBinary(notion="class-wise", by="group").fit(PROBA, Y, groups=GROUPS)
    with pytest.raises(InputError, match="by must be"):
        MulticlassToBinary(by=("group", "class")).fit(PROBA, Y, groups=GROUPS)
    assert model.predict(NEW).tolist() == NEW.argmax(axis=1).tolist()


@pytest.mark.parametrize("binary", [HistogramBinning(points_per_bin=40), PlattScaling()])
@pytest.mark.parametrize("by", ["group", BOTH])
def test_scorer_and_graph_take_the_group_as_a_second_input(by, binary):
    pytest.importorskip("onnxruntime")
    for options in ({}, {"fallback": "pooled", "complete": "rescale"}):
        model = fitted(by, binary, **options)
        code = scorer(model)
        assert "north" not in code  # nothing that a user typed
        assert verify_scorer(code, model, NEW, groups=NEW_GROUPS) <= 1e-12
        assert verify_onnx(to_onnx(model), model, NEW, groups=NEW_GROUPS) <= 1e-12
    space = {}
    exec(compile(code, "scorer", "exec"), space)
    with pytest.raises(ValueError, match="needs a group"):
        space["calibrate"](NEW)
    with pytest.raises(ValueError, match="whole numbers as groups"):
        space["calibrate"](NEW, np.full(len(NEW), 0.5))
