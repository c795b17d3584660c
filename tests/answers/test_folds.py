"""Cross-validation: each fold by its own rows, calibrators of the other folds, one for new rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import calib
from calib import HistogramBinning, InputError, MulticlassToBinary, TemperatureScaling, cross_calibrate
from calib.answers import fold_errors
from calib.cli.parser import main
from tests.answers.test_model_tables import NAMES, N, models

ROWS = models()["unsure"]
FOLD = np.arange(N) % 3


def test_each_fold_and_all_rows_have_the_numbers_of_their_rows():
    table = fold_errors(ROWS, fold=FOLD, n_resamples=50).set_index(["fold", "measure"])
    for name, chosen in {"0": FOLD == 0, "2": FOLD == 2, "pooled": FOLD >= 0}.items():
        part = ROWS.take(np.flatnonzero(chosen))
        found = table.loc[(name, "tl_ece")]
        floor = calib.noise_floor(part.labels, part, n_resamples=50, random_state=0)
        assert found["value"] == pytest.approx(calib.ece(part.labels, part))
        assert found["floor"] == pytest.approx(floor.mean)
        assert found["rows"] == part.n_samples
        assert table.loc[(name, "brier")]["value"] == pytest.approx(calib.brier_score(part.labels, part))
        assert np.isnan(table.loc[(name, "brier")]["floor"])


@pytest.mark.parametrize("calibrator", [TemperatureScaling(), MulticlassToBinary(HistogramBinning(n_bins=4))])
def test_every_row_is_calibrated_by_the_other_folds(calibrator):
    found = cross_calibrate(ROWS, calibrator, fold=FOLD, combine="average", n_resamples=5)
    for number in range(3):
        fitted = calibrator.fit(ROWS.proba[number != FOLD], ROWS.labels[number != FOLD])
        own = number == FOLD
        if isinstance(calibrator, TemperatureScaling):
            np.testing.assert_array_equal(found.scores.proba[own], fitted.predict_proba(ROWS.proba[own]))
        else:
            expected = fitted.predict_top(ROWS.proba[own])
            np.testing.assert_array_equal(found.scores.confidence[own], expected.confidence)
            np.testing.assert_array_equal(found.scores.label[own], expected.label)
    after = found.frame().query("stage == 'after' and fold == 'pooled' and measure == 'accuracy'")["value"]
    assert after.item() == pytest.approx(calib.accuracy(ROWS.labels, found.scores))
    assert list(found.fold[:4]) == ["0", "1", "2", "0"]


def test_calibrator_for_new_rows_is_the_mean_or_is_fitted_again():
    new = models(seed=5)["unsure"]
    mean = cross_calibrate(ROWS, TemperatureScaling(), fold=FOLD, combine="average", n_resamples=5)
    fitted = [TemperatureScaling().fit(ROWS.proba[k != FOLD], ROWS.labels[k != FOLD]) for k in range(3)]
    expected = np.mean([item.predict_proba(new.proba) for item in fitted], axis=0)
    np.testing.assert_allclose(mean.predict(new).proba, expected)
    again = cross_calibrate(ROWS, TemperatureScaling(), fold=FOLD, n_resamples=5)
    whole = TemperatureScaling().fit(ROWS.proba, ROWS.labels)
    np.testing.assert_array_equal(again.predict(new).proba, whole.predict_proba(new.proba))


@pytest.mark.parametrize(
    ("fold", "words"), [(None, "no folds"), (FOLD[1:], "shape"), (np.zeros(N), "2 rows or more")]
)
def test_folds_that_cannot_be_used(fold, words):
    with pytest.raises(InputError, match=words):
        fold_errors(ROWS, fold=fold)


def test_a_column_of_folds_is_read_and_printed(tmp_path, capsys):
    frame = pd.DataFrame(ROWS.proba, columns=list(NAMES)).assign(label=np.array(NAMES)[ROWS.labels])
    frame = frame.assign(fold=FOLD)
    frame.to_csv(tmp_path / "cv.csv", index=False)
    rows = calib.read(tmp_path / "cv.csv")
    expected = fold_errors(rows, n_resamples=20)
    assert expected["fold"].unique().tolist() == ["0", "1", "2", "pooled"]
    code = main(["metrics", str(tmp_path / "cv.csv"), "--resamples", "20", "--json"])
    found = pd.DataFrame(json.loads(capsys.readouterr().out)["folds"])
    assert code == 0
    np.testing.assert_allclose(found["value"].astype(float), expected["value"])
    main(["metrics", str(tmp_path / "cv.csv"), "--resamples", "20"])
    assert "pooled (n=600)" in capsys.readouterr().out
    frame = frame.rename(columns={"fold": "part_of_it"})
    frame.to_csv(tmp_path / "cv.csv", index=False)
    assert calib.read(tmp_path / "cv.csv", fold="part_of_it").columns["fold"] == "part_of_it"
