"""Every fault gets its code, a sentence that names the cause, and a fix that restores the numbers."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib import InputError, Predictions, check, examine
from calib.files.readers.raw_predictions import RawPredictions, RemedyError, parts_of
from calib.files.readers.reading import read_table
from tests.populations import drawn, population, softmax
from tests.written import bytes_of

NAMES = tuple(f"class {letter}" for letter in "abcdefghij")


P, Y = population()
TEXT = np.array(NAMES)[Y]


def codes_at(report, *severities):
    return [finding.code for finding in report.findings if finding.severity in severities]


def changed(rows, columns, value, of=P):
    out = of.astype(float).copy()
    out[rows, columns] = value
    return out


def one_based_proba():
    """Rows without the last class, so that labels plus 1 stay in range."""
    keep = Y != 9
    return P[keep], Y[keep]


#: Scale faults: (scores, code, words in the message, tolerance of the restored numbers).
SCALES = {
    "logits": (np.log(P) + 2, "logits", "these are logits", 1e-12),
    "logits float32": ((np.log(P) + 2).astype(np.float32), "logits", "these are logits", 1e-6),
    "all negative logits": (np.log(P) - 3, "logits", "these are logits", 1e-12),
    "log-probabilities": (np.log(P), "log_probabilities", "log-probabilities", 1e-12),
    "percent": (100 * P, "percent", "percentages", 1e-12),
    "percent, one decimal": (np.round(100 * P, 1), "percent", "percentages", 6e-4),
    "sigmoids": (P / (1 + P), "sigmoid_scores", "independent sigmoids", 1e-12),
    "two decimals": (np.round(P, 2), "rounding", "printed with 2 decimals", 0.05),
    "three decimals": (np.round(P, 3), "rounding", "printed with 3 decimals", 0.005),
    "half precision": (P.astype(np.float16), "rounding", "low precision", 1e-3),
}


#: What is loud about them, where it is not just their code, and what is left when that was fixed.
LOUD = {"two decimals": ["rounding", "saturated"], "half precision": []}
LEFT = {"two decimals": ["saturated"], "percent, one decimal": ["rounding"]}


@pytest.mark.parametrize("name", SCALES)
def test_scale_is_named_and_restored(name):
    scores, code, words, tolerance = SCALES[name]
    report = examine(scores, Y)
    assert codes_at(report, "error", "warning") == LOUD.get(name, [code])
    assert re.search(words, report[code].message)
    fixed = report.fix(code)
    np.testing.assert_allclose(fixed.raw.proba, P, atol=max(tolerance, 1e-15))
    assert codes_at(fixed, "error", "warning") == LEFT.get(name, [])
    usable = fixed.fix("rounding") if "rounding" in LEFT.get(name, []) else fixed
    assert usable.predictions().proba.shape == P.shape


def test_sigmoids_of_the_same_logits():
    """Log-odds of independent sigmoids are the logits: softmax of them is the original."""
    logits = np.log(P) + 1.5
    report = examine(1 / (1 + np.exp(-logits)), Y)
    assert report.codes == ("sigmoid_scores",)
    np.testing.assert_allclose(report["sigmoid_scores"].fix().proba, P, atol=1e-12)


def test_log_probabilities_may_be_minus_infinity():
    scores = changed([0], [0], 0.0)
    scores[0] /= scores[0].sum()
    with np.errstate(divide="ignore"):
        report = examine(np.log(scores), Y)
    assert report.codes == ("log_probabilities",)
    np.testing.assert_allclose(report.fix("log_probabilities").predictions().proba, scores, atol=1e-12)


def test_not_finite_rows_are_named_and_removed():
    report = examine(changed([3, 7], [2, 1], [np.nan, np.inf]), Y)
    finding = report["not_finite"]
    assert codes_at(report, "error", "warning") == ["not_finite"]
    assert finding.rows.tolist() == [3, 7]
    assert finding.columns == ("1", "2")
    assert "2 values are NaN or infinite, in 2 of 2,000 rows (rows 3, 7)" in finding.message
    keep = np.delete(np.arange(2000), [3, 7])
    fixed = report.fix("not_finite").predictions()
    np.testing.assert_array_equal(fixed.proba, P[keep])
    np.testing.assert_array_equal(fixed.labels, Y[keep])


def test_column_of_nan_has_no_fix():
    finding = examine(changed(slice(None), 2, np.nan), Y)["not_finite"]
    assert finding.fix is None
    assert finding.columns == ("2",)


def test_a_row_of_nothing_but_negative_noise_is_not_divided_by_zero():
    noise = changed([5], slice(None), -1e-9)
    fixed = examine(noise, Y).fix("negative")
    assert fixed["rounding"].rows.tolist() == [5]
    assert "row 5 sums to 0" in fixed["rounding"].message


@pytest.mark.parametrize(
    "scores", [np.column_stack([np.arange(2000), P]), np.column_stack([P, 1 + np.arange(2000)])]
)
def test_a_column_of_row_numbers_is_named_and_nothing_else(scores):
    assert examine(scores, Y).codes == ("index_column",)


@pytest.mark.parametrize("scores", [1.0 / P.clip(0.05), 7.0 + P, np.abs(np.log(P)) + 0.1])
def test_positive_numbers_of_an_unknown_scale_have_no_fix(scores):
    finding = examine(scores, Y)["scale_unknown"]
    assert (finding.severity, finding.fix) == ("error", None)


def test_negative_noise_is_clipped_and_large_negatives_are_named():
    noise = changed([5], [1], -1e-9)
    np.testing.assert_allclose(examine(noise, Y).fix("negative").predictions().proba[5, 1], 0.0, atol=2e-9)
    report = examine(changed([5], [1], -0.9), Y)
    assert (report["negative"].rows.tolist(), report["negative"].fix) == ([5], None)


def test_rows_that_do_not_sum_to_one_are_named_without_a_fix():
    report = examine(changed([5, 6], [1, 1], 0.9), Y)
    finding = report["rounding"]
    assert (finding.severity, finding.rows.tolist(), finding.fix) == ("error", [5, 6], None)
    with pytest.raises(InputError, match="^2 of 2,000 rows"):
        report.predictions()


def test_labels_from_one():
    report = examine(P, Y + 1)
    assert codes_at(report, "error", "warning") == ["labels_one_based"]
    np.testing.assert_array_equal(report.fix("labels_one_based").predictions().labels, Y)


def test_labels_from_one_when_the_last_class_is_absent():
    proba, labels = one_based_proba()
    report = examine(proba, labels + 1)
    assert "labels_one_based" in report.codes
    np.testing.assert_array_equal(report.fix("labels_one_based").predictions().labels, labels)


def test_label_out_of_range():
    labels = Y.copy()
    labels[[5, 6]] = [77, -1]
    report = examine(P, labels)
    assert codes_at(report, "error") == ["label_out_of_range"]
    assert report["label_out_of_range"].rows.tolist() == [5, 6]
    assert report["label_out_of_range"].columns == ("-1", "77")
    assert report.fix("label_out_of_range").predictions().n_samples == 1998


def test_labels_of_many_digits_are_written_out():
    labels = Y.astype(object)
    labels[5] = 2**53 + 1
    assert "9007199254740993" in examine(P, labels)["label_out_of_range"].message


@pytest.mark.parametrize(
    "change", [str.upper, str.title, lambda t: f" {t} ", lambda t: t.replace(" ", "_")], ids=range(4)
)
def test_label_names_that_match_loosely(change):
    labels = np.array([change(name) for name in NAMES])[Y]
    report = examine(P, labels, class_names=NAMES)
    if (np.char.strip(labels) == TEXT).all():
        assert "label_names_unmatched" not in report.codes
    else:
        report = report.fix("label_names_unmatched")
    np.testing.assert_array_equal(report.predictions().labels, Y)


def test_names_are_not_matched_by_chance():
    """No fix by the alphabet if labels and scores do not go together."""
    labels = np.array([f"x{code}" for code in range(10)])[np.random.default_rng(3).integers(0, 10, len(Y))]
    assert examine(P, labels, class_names=NAMES)["label_names_unmatched"].fix is None


def test_unknown_label_name():
    labels = TEXT.astype(object)
    labels[[1, 2]] = "zebra"
    report = examine(P, labels, class_names=NAMES)
    assert report["label_names_unmatched"].columns == ("zebra",)
    assert report["label_names_unmatched"].rows.tolist() == [1, 2]
    assert report.fix("label_names_unmatched").predictions().n_samples == 1998


@pytest.mark.parametrize("swap", [[3, 5], [0, 9]])
def test_two_columns_exchanged(swap):
    proba = P.copy()
    proba[:, swap] = P[:, swap[::-1]]
    report = examine(proba, TEXT, class_names=NAMES)
    assert report["column_order"].columns == (NAMES[swap[0]], NAMES[swap[1]])
    np.testing.assert_array_equal(report.fix("column_order").predictions().proba, P)


def test_shuffled_labels():
    report = examine(P, np.random.default_rng(1).permutation(Y))
    assert codes_at(report, "error", "warning") == ["labels_shuffled"]
    assert "while the mean confidence is" in report["labels_shuffled"].message
    assert report["labels_shuffled"].fix is None


def test_labels_missing():
    assert codes_at(examine(P), "error", "warning") == ["labels_missing"]
    some = Y.astype(float)
    some[:7] = np.nan
    report = examine(P, some)
    assert report["labels_missing"].rows.tolist() == list(range(7))
    np.testing.assert_array_equal(report.fix("labels_missing").predictions().labels, Y[7:])


def test_calibration_rows_that_reappear():
    other, truth = population(seed=5)
    assert examine(P, Y, calibration=(other, truth)).codes == ()
    mixed = np.vstack([other[:1900], P[:100]]), np.concatenate([truth[:1900], Y[:100]])
    report = examine(P, Y, calibration=mixed)
    assert report["calibration_overlap"].rows.tolist() == list(range(100))
    fixed = report.fix("calibration_overlap")
    assert fixed.codes == ()
    np.testing.assert_array_equal(fixed.predictions().proba, P[100:])
    assert examine(P, Y, calibration=(P, Y))["calibration_overlap"].fix is None


def test_rows_repeated_inside_the_evaluation_rows_hide_no_overlap():
    twice = np.vstack([P, P[:300]]), np.concatenate([Y, Y[:300]])
    other, truth = population(seed=5)
    mixed = np.vstack([other, P[:100]]), np.concatenate([truth, Y[:100]])
    assert len(examine(*twice, calibration=mixed)["calibration_overlap"].rows) == 200


def test_coincidences_of_a_forest_are_no_overlap():
    """Votes of 20 trees over 3 classes: 231 possible rows, all of which recur in any other sample."""
    rng = np.random.default_rng(0)
    proba, labels = population(n_classes=3)
    other, truth = population(n_classes=3, seed=4)
    votes, others = rng.multinomial(20, proba) / 20, rng.multinomial(20, other) / 20
    assert "calibration_overlap" not in examine(votes, labels, calibration=(others, truth)).codes


@pytest.mark.parametrize("without_id", [0, 5])
def test_overlap_by_id(without_id):
    ids, other_ids = (np.where(np.arange(2000) < without_id, "", np.arange(a, a + 2000)) for a in (0, 1990))
    report = examine(
        pd.DataFrame(P, columns=NAMES).assign(id=ids, label=TEXT),
        calibration=pd.DataFrame(population(seed=2)[0], columns=NAMES).assign(id=other_ids),
    )
    again = list(range(1990 + without_id, 2000))
    assert report["calibration_overlap"].rows.tolist() == again
    assert report.fix("calibration_overlap").raw.n_samples == 2000 - len(again)


def test_classes_absent_and_rare():
    report = examine(P[Y != 4], Y[Y != 4])
    assert report["class_never_true"].columns == ("4",)
    assert report["class_never_true"].severity == "warning"
    without = P.copy()
    without[:, 9] = 0
    report = examine(without / without.sum(axis=1, keepdims=True), np.minimum(Y, 8))
    assert report["class_never_predicted"].columns == ("9",)
    assert report["class_never_true"].severity == "note"
    report = examine(P[:300], Y[:300])
    assert len(report["class_rare"].columns) == 10
    assert report.codes == ("class_rare", "too_few_rows")
    assert "300 rows for 15 bins x 10 classes = 150 cells are 2 rows a cell" in report["too_few_rows"].message


def test_saturation_few_values_and_decisions():
    sure = P.copy()
    sure[:200] = np.eye(10)[P[:200].argmax(axis=1)]
    finding = examine(sure, Y)["saturated"]
    assert finding.rows.tolist() == list(range(200))
    wrong = int((P[:200].argmax(axis=1) != Y[:200]).sum())
    assert f"in {wrong} rows the true class has probability 0" in finding.message
    votes = np.random.default_rng(0).multinomial(20, P) / 20
    assert "few_distinct" in examine(votes, Y).codes
    assert examine(np.eye(10)[P.argmax(axis=1)], Y).codes == ("one_hot",)


def test_ids_that_repeat():
    ids = np.concatenate([np.arange(1000), np.arange(1000)])
    report = examine(P, Y, ids=ids)
    assert report["rows_together"].columns == ("id",)
    assert report.fix("rows_together").predictions().n_clusters == 1000


def test_several_faults_at_once_are_all_seen_and_mended_in_any_order():
    report = examine(100 * P, Y + 1)
    assert set(codes_at(report, "error")) == {"percent", "labels_one_based"}
    fixed = report.fix("labels_one_based", "percent")
    np.testing.assert_allclose(fixed.predictions().proba, P, atol=1e-15)
    np.testing.assert_array_equal(fixed.predictions().labels, Y)
    assert [line.split(":")[0] for line in fixed.log] == ["percent", "labels_one_based"]
    assert [fix.code for fix in fixed.fixes] == ["percent", "labels_one_based"]
    assert fixed.log[0].startswith("percent: ")
    alone = report["percent"].fix()
    np.testing.assert_allclose(alone.proba, P, atol=1e-15)


def test_rows_are_counted_in_the_file_also_after_others_were_dropped():
    labels = Y.astype(float)
    labels[10] = np.nan
    report = examine(changed([3], [2], np.nan), labels)
    assert report["labels_missing"].rows.tolist() == [10]


def test_nothing_is_changed_until_accepted():
    scores = 100 * P
    before = scores.copy()
    report = examine(scores, Y)
    report.effect("percent")
    report.fix("percent")
    np.testing.assert_array_equal(scores, before)
    assert report.raw.proba is scores
    assert report.log == ()


def test_effect_shows_accuracy_and_row_sums():
    effect = examine(100 * P, Y + 1).effect("labels_one_based")
    accuracy = (P.argmax(axis=1) == Y).mean()
    assert effect.accuracy[1] == accuracy
    np.testing.assert_allclose(np.array(effect.row_sums), 100)


def test_unknown_and_unfixable_codes_are_refused():
    report = examine(P, np.random.default_rng(1).permutation(Y))
    with pytest.raises(InputError, match="'sorcery' is not the code"):
        report.fix("sorcery")
    with pytest.raises(InputError, match="no finding 'logits' to fix"):
        report.fix("logits")
    with pytest.raises(InputError, match="'labels_shuffled' has no fix"):
        report.fix("labels_shuffled")


@pytest.mark.parametrize("bad", [np.zeros((2, 2, 2)), [], "none.csv", [["a", "b"]], [[1j, 2j]]])
def test_nothing_to_examine(bad):
    with pytest.raises(InputError):
        examine(bad)


def test_check_examines_both_parts_of_a_file_and_applies_fixes():
    other, truth = population(seed=5)
    data = bytes_of(np.savez, val_p=100 * other, val_y=truth, test_p=100 * P, test_y=Y)
    reports = check(data)
    assert {part: report.codes for part, report in reports.items()} == {
        "calibration": ("percent",),
        "evaluation": ("percent",),
    }
    assert not reports["evaluation"].ok
    fixed = check(data, fix=["percent"])
    np.testing.assert_allclose(fixed["evaluation"].predictions().proba, P, atol=1e-15)
    np.testing.assert_allclose(fixed["calibration"].predictions().proba, other, atol=1e-15)
    with pytest.raises(InputError, match="no finding 'logits'"):
        check(data, fix=["logits"])


def test_a_fault_that_a_fix_brings_to_light_names_both_fixes():
    whole = (100 * P).round()
    data = bytes_of(np.savez, test_p=whole, test_y=Y)
    with pytest.raises(RemedyError) as refused:
        check(data, fix=["percent"])["evaluation"].predictions()
    assert refused.value.value == "percent,rounding"
    proba = check(data, fix=refused.value.value.split(","))["evaluation"].predictions().proba
    np.testing.assert_allclose(proba, whole / whole.sum(axis=1, keepdims=True), rtol=1e-12)


def test_named_logits_are_a_note():
    report = examine(bytes_of(np.savez, logits=np.log(P) + 2, labels=Y))
    assert [(finding.code, finding.severity) for finding in report.findings] == [("logits", "note")]
    np.testing.assert_allclose(report.predictions().proba, P, atol=1e-12)


def test_report_as_a_table():
    frame = examine(100 * P, Y).frame()
    assert frame["code"].tolist() == ["percent"]
    assert list(examine(P, Y).frame().columns) == list(frame.columns)


def test_reference_file_is_clean(shared_data):
    reports = check(shared_data / "cifar10_resnet50.npz")
    for report in reports.values():
        assert codes_at(report, "error", "warning") == []
        assert "logits" in codes_at(report, "note")


def clean_file(seed):
    """Draw evaluation and calibration samples of random shape, sharpness, class mix and model error."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.choice([2, 3, 4, 10, 20, 100]))
    n = int(rng.integers(max(200, 2 * n_classes), 4000))
    mix = rng.dirichlet(np.full(n_classes, rng.choice([1.0, 10.0, 1000.0])))
    sharpness, temperature = rng.uniform(1, 9), rng.choice([0.5, 1.0, 1.0, 2.0])

    def sample(n):
        logits = rng.normal(size=(n, n_classes)) + np.log(mix + 1e-3)
        logits[np.arange(n), rng.choice(n_classes, n, p=mix)] += sharpness * rng.random(n)
        truth = softmax(logits)
        labels = drawn(truth, rng)
        return softmax(logits / temperature).astype(rng.choice([np.float32, np.float64])), labels

    return sample(n), sample(n)


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_no_false_alarm_in_clean_files(start):
    alarms = {}
    for seed in range(start, start + 50):
        (proba, labels), calibration = clean_file(seed)
        report = examine(proba, labels, calibration=calibration)
        loud = codes_at(report, "error", "warning")
        if loud:
            alarms[seed] = [(proba.shape, report[code].message) for code in loud]
        report.predictions()
    assert alarms == {}


def test_no_false_alarm_in_a_clean_file_with_1000_classes():
    proba, labels = population(5000, 1000, spread=20)
    assert codes_at(examine(proba, labels), "error", "warning") == []


@given(seed=st.integers(0, 10**6), fault=st.sampled_from(["logits", "percent", "log", "shift", "columns"]))
def test_any_clean_file_survives_spoiling_and_mending(seed, fault):
    proba, labels = population(400, 5, seed)
    order = np.random.default_rng(seed).permutation(5)
    scores, codes, code = {
        "logits": (np.log(proba) + 4, labels, "logits"),
        "percent": (proba * 100, labels, "percent"),
        "log": (np.log(proba), labels, "log_probabilities"),
        "shift": (proba, labels + 1, "labels_one_based"),
        "columns": (proba[:, order], labels, "column_order"),
    }[fault]
    report = examine(scores, codes)
    if fault == "columns" and (order == np.arange(5)).all():
        assert "column_order" not in report.codes
        return
    fixed = report.fix(code).predictions()
    np.testing.assert_allclose(fixed.proba, proba, atol=1e-12)
    np.testing.assert_array_equal(fixed.labels, labels)


def test_predictions_and_frames_are_accepted_too():
    assert examine(Predictions(P, Y)).codes == ()
    assert examine({"proba": P, "labels": Y}).codes == ()
    assert examine((P, Y)).codes == ()
    assert examine(pd.DataFrame(P, columns=NAMES), labels=TEXT).codes == ()
    assert examine(P.tolist(), np.eye(10)[Y]).codes == ()


def test_labels_that_are_none_of_numbered_classes_are_named_by_the_classes():
    names = ("1", "2", "3", "4")
    report = examine(np.full((8, 4), 0.25), np.arange(8) % 4 + 5.0, class_names=names)
    assert report["label_out_of_range"].columns == ("5", "6", "7", "8")
    assert "classes '1', '2', '3', '4'" in report["label_out_of_range"].message
    # One stray label does not turn the others from names into codes.
    stray = RawPredictions(np.full((5, 4), 0.25), np.array([1, 2, 3, 4, 9]), names)
    assert stray.codes.tolist() == [0, 1, 2, 3, -1]
    assert RawPredictions(np.eye(2), np.array(["--5", "1"], object), ("1", "2")).codes.tolist() == [-1, 0]


def test_effect_leaves_out_what_does_not_change():
    effect = examine(100 * P, Y).effect("percent")
    assert str(effect) == "row sums 100 -> 1"


def test_scores_named_logits_are_said_to_be_so_plainly():
    report = examine(RawPredictions(np.log(P), Y, scale="logits"))
    assert "anything" not in " ".join(item.message for item in report.findings)


def test_a_file_of_calibration_rows_may_name_them_so():
    rows = b"predicted,confidence,true%s\na,0.9,a%s\nb,0.8,b%s\na,0.7,b%s\n"
    plain = read_table(rows % (b"", b"", b"", b""))
    named = read_table(rows % (b",split", b",cal", b",cal", b",test"))
    calibration = parts_of((plain, None, named, None))["calibration"]
    assert calibration.labels.tolist() == ["a", "b"]
    assert len(parts_of((plain, None, plain, None))["calibration"].labels) == 3
