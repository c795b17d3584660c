"""Uploads to the app: repaired, remembered, applied, compared."""

from __future__ import annotations

import gc
import io
import re
from dataclasses import replace

import numpy as np
import pandas as pd
from streamlit.runtime.uploaded_file_manager import UploadedFile

from calib import HistogramBinning, MulticlassToBinary, Predictions
from calib.answers.guarantee_cards import guarantee_card
from calib.calibrators.multiclass import as_multiclass
from calib.files.saved import dumps
from tests.app.running import open_page, press, turn_to, with_binning

RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(240, 3)) * 2
PROBA = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
LABELS = np.array([RNG.choice(3, p=p) for p in PROBA])
CALIBRATOR = dumps(MulticlassToBinary().fit(PROBA, LABELS))


def csv(scores: np.ndarray, labels: np.ndarray | None = LABELS) -> bytes:
    """A table of scores, with labels."""
    table = pd.DataFrame(scores, columns=["0", "1", "2"])
    if labels is not None:
        table["label"] = labels
    return table.to_csv(index=False).encode()


def upload(app, key: str, name: str, data: bytes) -> None:
    app.file_uploader(key=key).upload(name, data, "application/octet-stream").run()


def shown_text(app) -> str:
    elements = [*app.text, *app.markdown, *app.caption, *app.info, *app.error, *app.success]
    return "\n".join(element.value for element in elements)


def metric(app, label: str) -> str:
    """Number of the sentence on the loaded data, such as evaluation rows."""
    said = next(item.value for item in app.markdown if "** evaluation rows" in item.value)
    return re.search(rf"\*\*([\d,.]+)\*\* {label.lower()}", said)[1]


def test_apply_repairs_what_the_data_page_repairs():
    app = open_page("pages/views/repair.py", repair_tab="Apply", example="digits")
    upload(app, "calibrator-file", "cal.json", CALIBRATOR)
    upload(app, "apply-file", "logits.csv", csv(LOGITS))
    assert "softmax" in shown_text(app)
    assert "240 rows; on average" not in shown_text(app)
    press(app, "Apply fix")
    assert not app.exception
    assert "240 rows; on average" in shown_text(app)


def test_apply_keeps_every_column_and_says_what_is_loaded():
    app = open_page("pages/views/repair.py", repair_tab="Apply", example="digits")
    rows = Predictions(PROBA, LABELS, ("cat", "dog", "emu"))
    fitted = MulticlassToBinary().fit(PROBA, LABELS)
    upload(app, "calibrator-file", "cal.json", dumps(fitted, fitted_on=rows))
    assert "fitted on 240 rows; saved 20" in shown_text(app)
    assert "**Top-label histogram binning** (TL-HB, k = 50)" in shown_text(app)
    assert "3 classes: `` cat ``, `` dog ``, `` emu ``" in shown_text(app)
    assert "probability" in next(item.value for item in app.markdown if "fitted on 240" in item.value)
    table = pd.DataFrame(PROBA, columns=["dog", "emu", "cat"])
    table.insert(0, "site", "north")
    table["label"] = np.array(["dog", "emu", "cat"])[LABELS]
    table["note"] = "a note"
    upload(app, "apply-file", "new.csv", table.to_csv(index=False).encode())
    shown = app.dataframe[-1].value
    assert list(shown.columns) == [*table.columns, "predicted", "confidence", "calibrated"]
    pd.testing.assert_frame_equal(shown[list(table.columns)], table.head(len(shown)), check_dtype=False)
    ordered = PROBA[:, [2, 0, 1]]
    np.testing.assert_allclose(shown["calibrated"], fitted.predict_top(ordered).confidence[: len(shown)])
    assert "matched by the names" in shown_text(app)
    unnamed = pd.DataFrame(PROBA, columns=["0", "1", "2"])
    upload(app, "apply-file", "unnamed.csv", unnamed.to_csv(index=False).encode())
    assert "matched by position" in app.warning[0].value


def test_apply_says_what_the_binning_of_one_score_promises():
    app = open_page("pages/views/repair.py", repair_tab="Apply", example="digits")
    rows = Predictions(PROBA, LABELS, ("cat", "dog", "emu"))
    binary = HistogramBinning(n_bins=5).fit(PROBA[:, 0], LABELS == 0)
    promised = guarantee_card(as_multiclass(binary, rows), 0.1).words()
    upload(app, "calibrator-file", "one.json", dumps(binary, fitted_on=rows))
    assert promised in shown_text(app)
    upload(app, "calibrator-file", "two.json", dumps(binary))
    assert "its guarantee is not known" in shown_text(app)


def test_apply_needs_no_labels_it_can_use():
    app = open_page("pages/views/repair.py", repair_tab="Apply", example="digits")
    upload(app, "calibrator-file", "cal.json", CALIBRATOR)
    upload(app, "apply-file", "new.csv", csv(PROBA, np.arange(240) + 7))
    assert not app.exception
    assert "240 rows; on average" in shown_text(app)
    assert "calibrating needs none" in shown_text(app)
    assert not app.error


def test_pending_upload_outlives_a_look_at_another_page():
    app = open_page("pages/views/data.py", example="digits")
    upload(app, "up", "logits.csv", csv(LOGITS))
    app.switch_page("pages/views/overview.py").run()
    app.switch_page("pages/views/data.py").run()
    assert "logits.csv, uploaded earlier" in shown_text(app)
    press(app, "Apply fix")
    assert "Fixed" in shown_text(app)
    assert metric(app, "Evaluation rows") == "240"
    assert "uploaded earlier" not in shown_text(app)


def test_pending_upload_takes_labels_later_and_can_be_dismissed():
    app = open_page("pages/views/data.py", example="digits")
    upload(app, "up", "scores.csv", csv(PROBA, None))
    app.switch_page("pages/views/overview.py").run()
    app.switch_page("pages/views/data.py").run()
    file = io.BytesIO()
    np.save(file, LABELS)
    upload(app, "up-labels", "labels.npy", file.getvalue())
    assert metric(app, "Evaluation rows") == "240"
    upload(app, "up", "logits.csv", csv(LOGITS))
    app.switch_page("pages/views/overview.py").run()
    app.switch_page("pages/views/data.py").run()
    press(app, "Dismiss this file")
    assert "uploaded earlier" not in shown_text(app)


def test_refusals_in_the_app_have_no_codes():
    app = open_page("pages/views/data.py", example="digits")
    upload(app, "up", "wrong.csv", csv(PROBA, LABELS + 7))
    assert app.session_state["dataset"].example == "digits"
    assert "label_out_of_range" not in shown_text(app)
    assert "cannot be used yet" in app.error[0].value
    assert "is read as the true label." in shown_text(app)
    assert any(panel.proto.expanded for panel in app.expander if panel.label.startswith("Columns"))


def test_a_file_without_labels_says_so_and_cannot_be_pressed_into_use():
    app = open_page("pages/views/data.py", example="digits")
    upload(app, "up", "scores.csv", csv(PROBA, None))
    said = app.error[0].value.replace("\\", "")
    assert "No column holds the true class. Add one, or drop a file of labels here." in said
    assert app.session_state["dataset"].example == "digits"


def test_roles_by_value_split_and_fixes_stay_when_the_page_is_left():
    app = open_page("pages/views/data.py", example="digits")
    table = pd.DataFrame(PROBA, columns=["p(cat)", "p(dog)", "p(emu)"])
    table["age"] = RNG.integers(18, 90, len(table))
    table["species"] = np.array(["cat", "dog", "emu"])[LABELS]
    upload(app, "up", "animals.csv", table.to_csv(index=False).encode())
    assert "`` species `` is read as the true label" in shown_text(app)
    preview = app.dataframe[0].value
    assert {"species (true label)", "p(cat) (score)", "age"} <= set(preview.columns)
    app.slider(key="split").set_value(25).run()
    assert app.session_state["dataset"].checked.calibration.n_samples == 60
    app.switch_page("pages/views/overview.py").run()
    app.switch_page("pages/views/data.py").run()
    assert app.slider(key="split").value == 25
    app.selectbox(key="role-label").set_value("(none)").run()
    press(app, "Read again with these columns")
    assert app.session_state["dataset"].checked.calibration.n_samples == 60


def test_ages_are_no_labels():
    app = open_page("pages/views/data.py", example="digits")
    table = pd.DataFrame(PROBA, columns=["p(cat)", "p(dog)", "p(emu)"])
    table["age"] = RNG.integers(18, 90, len(table))
    upload(app, "up", "ages.csv", table.to_csv(index=False).encode())
    assert "No column is read as the true label" in shown_text(app)


def test_vectors_of_two_models_are_chosen_by_their_pattern():
    app = open_page("pages/views/data.py", example="digits")
    table = pd.DataFrame({f"{model}_p{code}": PROBA[:, code] for model in ("svm", "rf") for code in range(3)})
    table.iloc[:, :3] = 0.5 * table.iloc[:, :3] + 1 / 6
    table["y"] = LABELS
    upload(app, "up", "two.csv", table.to_csv(index=False).encode())
    assert app.session_state["dataset"].example == "digits"
    assert "the rows of 'svm_p0', 'svm_p1', 'svm_p2' sum to 1" in shown_text(app)
    app.button(key="role-choice-1").click().run()
    assert not app.exception
    shown = app.session_state["dataset"]
    rows = shown.evaluation.proba
    np.testing.assert_allclose(np.sort(rows, axis=0), np.sort(PROBA, axis=0), atol=1e-9)


def test_words_of_confidence_are_given_numbers():
    app = open_page("pages/views/data.py", example="digits")
    words = np.array(["Likely", "sure", "hm"])[np.arange(240) % 3]
    table = pd.DataFrame({"confidence": words, "correct": LABELS == 0})
    upload(app, "up", "answers.csv", table.to_csv(index=False).encode())
    assert app.session_state["dataset"].example == "digits"
    assert app.number_input(key="role-word-likely").value == 0.7
    for word, chance in (("likely", 0.8), ("sure", 0.95), ("hm", 0.4)):
        app.number_input(key=f"role-word-{word}").set_value(chance)
    app.run()
    press(app, "Read again with these columns")
    assert not app.exception
    shown = app.session_state["dataset"]
    assert set(shown.evaluation.confidence) == {0.8, 0.95, 0.4}
    assert set(shown.roles.words) == {"likely=0.8", "sure=0.95", "hm=0.4"}


def test_exports_carry_the_fixes_of_the_data_their_page_is_about():
    app = open_page("pages/views/data.py", example="resnet")
    loaded = app.session_state["dataset"]
    app.session_state["dataset"] = replace(loaded, log=("evaluation rows: percent: row sums 100 -> 1",))
    app.switch_page("pages/views/reliability.py").run()
    assert app.session_state["fixes"] == ("evaluation rows: percent: row sums 100 -> 1",)
    app.switch_page("pages/views/simplex.py").run()  # opens on three classes of its own
    assert app.session_state["fixes"] == ()
    app.switch_page("pages/views/reliability.py").run()
    app.switch_page("pages/views/learn.py").run()
    assert app.session_state["fixes"] == ()
    assert not app.exception


def test_apply_corrects_for_label_shift():
    """New digits with other class shares: the log loss falls, and the page says what is assumed."""
    app = open_page("pages/views/repair.py", example="digits")
    app.selectbox(key="chosen").select("N-HB, k = 50").run()
    app = turn_to(app, "repair", "Apply")
    data = app.session_state["dataset"]
    rows, random = data.evaluation, np.random.default_rng(0)
    kept = random.random(rows.n_samples) < np.where(rows.labels < 5, 0.1, 1.0)
    table = pd.DataFrame(rows.proba[kept], columns=rows.class_names)
    table["label"] = np.array(rows.class_names)[rows.labels[kept]]
    upload(app, "apply-file", "new.csv", table.to_csv(index=False).encode())
    assert not app.exception
    assert "label shift" not in shown_text(app)
    control = next(item for item in app.segmented_control if item.label == "Class shares of the new rows")
    for way in ("Estimated by EM", "Estimated by BBSE"):
        control.set_value(way).run()
        assert not app.exception
        assert "**This assumes label shift**" in shown_text(app)
        shares = app.dataframe[0].value if "weight" in app.dataframe[0].value else app.dataframe[1].value
        true = np.bincount(rows.labels[kept], minlength=10) / kept.sum()
        assert 0.5 * np.abs(shares["estimated share"] - true).sum() < 0.1
        control = next(item for item in app.segmented_control if item.label == "Class shares of the new rows")
    name = with_binning(app)
    app.selectbox(key="chosen").select(name).run()
    assert "every class" in shown_text(app)


def test_the_bytes_of_a_used_file_are_not_kept():
    """What a widget calls lives on with the names of its page: the file must not be one of them."""
    app = open_page("pages/views/data.py", example="digits")
    upload(app, "up", "used.csv", csv(PROBA))
    app.switch_page("pages/views/overview.py").run()
    gc.collect()
    kept = [item.name for item in gc.get_objects() if isinstance(item, UploadedFile)]
    assert "used.csv" not in kept


def test_a_table_without_scores_is_refused_with_menus_of_its_columns():
    frame = pd.DataFrame({"alpha": ["u", "v"] * 30, "beta": [0.25, 0.75] * 30, "gamma": ["x", "y"] * 30})
    app = open_page("pages/views/data.py", example="digits")
    upload(app, "up", "odd.csv", frame.to_csv(index=False).encode())
    assert len(app.error) == 1
    assert app.session_state["dataset"].example == "digits"
    app.multiselect(key="role-scores").set_value(["beta"]).run()
    app.selectbox(key="role-label").set_value("gamma").run()
    press(app, "Read again with these columns")
    assert not app.exception


def test_labels_of_another_file_are_described_as_used():
    random = np.random.default_rng(5)
    frame = pd.DataFrame(random.dirichlet(np.ones(3), 90), columns=["p_a", "p_b", "p_c"])
    frame["channel"] = random.choice(["a", "b", "c"], 90)
    labels = pd.DataFrame({"label": random.choice(["a", "b", "c"], 90)})
    app = open_page("pages/views/data.py", example="digits")
    upload(app, "up-labels", "labels.csv", labels.to_csv(index=False).encode())
    upload(app, "up", "scores.csv", frame.to_csv(index=False).encode())
    said = shown_text(app)
    assert "The true labels come from the file of labels" in said
    assert "`` channel `` is read as the true label" not in said
    assert "true label: channel" not in said
