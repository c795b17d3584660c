"""The steps after the lesson: numbers of the paper's examples, and each step of the Learn page."""

from __future__ import annotations

import json

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from calib import ece, lesson, reduce_to_binary
from calib.answers.metric_tables import METRIC_COLUMNS
from calib.datasets import load_example
from calib.datasets.simulated import draw_labels
from calib.lessons.chapters import star_split
from pages.shared.lessons.binning import bent_curve, best_points, bin_curve, true_curve
from pages.shared.lessons.noise import perfect_curve, perfect_rows
from pages.shared.lessons.normalising import compare_normalisation
from pages.shared.lessons.notions import SIX_POINTS, binary_tables, used_cells
from pages.shared.texts import GLOSSARY, PAGE_TERMS, REFERENCES
from tests import PAGE_FILES, ROOT
from tests.app.running import open_page, turn_to

LEARN = "pages/views/learn.py"
STEPS = ("noise", "binning", "notions", "normalising")
NOTIONS = ("confidence", "top-label", "class-wise", "top-k-confidence", "top-k-label")


@pytest.mark.parametrize("notion", NOTIONS)
def test_used_cells_are_the_scores_of_the_binary_problems(notion):
    problems = reduce_to_binary(SIX_POINTS, notion=notion, top_k=2 if notion.startswith("top-k") else None)
    cells = used_cells(SIX_POINTS.proba, notion)
    for index in range(problems.n_problems):
        entries = slice(problems.offsets[index], problems.offsets[index + 1])
        rows = np.nonzero(cells == index + 1)[0]
        assert sorted(rows) == sorted(problems.rows[entries])
        np.testing.assert_array_equal(np.sort(SIX_POINTS.proba[cells == index + 1]), problems.scores[entries])


def test_six_points_keep_the_labels_the_paper_states():
    assert [SIX_POINTS.labels[at] + 1 for at in (0, 1, 5)] == [3, 4, 1]
    np.testing.assert_allclose(SIX_POINTS.proba.sum(axis=1), 1)
    assert used_cells(SIX_POINTS.proba, "canonical")[:, 0].tolist() == [1, 2, 3, 4, 5, 6]
    twice = used_cells(SIX_POINTS.proba[[3, 1, 3, 0]], "canonical")
    assert twice.tolist() == [[1] * 4, [2] * 4, [1] * 4, [3] * 4]


def test_binary_tables_are_figure_3():
    tables = binary_tables(SIX_POINTS, "top-label")
    assert {index + 1: list(table.columns) for index, table in tables.items()} == {
        1: ["c", "f"],
        2: ["d"],
        3: ["a", "e"],
        4: ["b"],
    }
    assert tables[2].loc["outcome"].tolist() == [1, 0]
    assert list(binary_tables(SIX_POINTS, "confidence")) == [0]
    assert all(len(table.columns) == 6 for table in binary_tables(SIX_POINTS, "class-wise").values())


def test_perfect_curve_rises_with_classes_and_falls_with_rows():
    few, many = (perfect_curve(classes, n_resamples=30) for classes in (3, 30))
    assert (np.diff(few["tl_ece_mean"]) < 0).all()
    assert (np.diff(many["tl_ece_mean"]) < 0).all()
    assert (few["tl_ece_mean"] < many["tl_ece_mean"]).all()
    assert (few["tl_ece_mean"] < few["tl_ece_q95"]).all()


def test_labels_are_drawn_from_the_probabilities():
    proba = np.tile([0.1, 0.0, 0.7, 0.2], (40_000, 1))
    shares = np.bincount(draw_labels(proba, np.random.default_rng(0)), minlength=4) / 40_000
    # 5 standard errors of a share of 40,000 rows are at most 0.0125.
    np.testing.assert_allclose(shares, [0.1, 0, 0.7, 0.2], atol=0.0125)
    assert shares[1] == 0
    np.testing.assert_array_equal(perfect_rows(50, 3).proba, perfect_rows(90, 3).proba[:50])


def test_binning_by_hand():
    curve = bent_curve(600)
    binned = bin_curve(curve, 50)
    assert binned.count.sum() == 600
    assert binned.count.min() >= 50
    # eps_1 = sqrt(log(2 / 0.1) / (2 * 49)) for k = 50.
    assert binned.promise.marginal == pytest.approx(np.sqrt(np.log(20) / 98), abs=1e-9)
    low, high = true_curve(np.array([0.0, 1.0]))
    assert ((binned.true_mean >= low) & (binned.true_mean <= high)).all()
    assert len(binned.frame()) == 12


def test_more_points_per_bin_promise_more():
    curve = bent_curve(1_000)
    tried = {k: bin_curve(curve, k) for k in (5, 50, 500)}
    promises = [binned.promise.marginal for binned in tried.values()]
    assert promises == sorted(promises, reverse=True)
    points, best = best_points(curve)
    assert best.error == bin_curve(curve, points).error
    assert all(best.error <= binned.error for binned in tried.values())


@pytest.mark.parametrize("name", ["resnet", "digits"])
@pytest.mark.parametrize("n_bins", [2, 15])
def test_normalising_keeps_the_largest_entry_and_class_wise_calibration_moves_it(name, n_bins):
    example = load_example(name)
    comparison = compare_normalisation(example.calibration, example.evaluation, n_bins)
    base, *after = comparison.methods.values()
    class_wise, normalised = (rows.proba for rows in after)
    table = comparison.frame().set_index("method")
    np.testing.assert_allclose(normalised, class_wise / class_wise.sum(axis=1)[:, None])
    np.testing.assert_array_equal(normalised.argmax(axis=1), class_wise.argmax(axis=1))
    assert comparison.n_moved == 0
    assert table.loc["N-HB", "accuracy"] == table.loc["CW-HB", "accuracy"]
    assert table.loc["CW-HB", "accuracy"] < table.loc["Base model", "accuracy"] - 0.02
    first = comparison.changed[0]
    assert base.label[first] == base.labels[first] != class_wise[first].argmax()
    # Theorem 2: sqrt(1 / (2 k)) with k = n // B points in every bin.
    points = example.calibration.n_samples // n_bins
    assert comparison.expected_ece == pytest.approx(np.sqrt(1 / (2 * points)), abs=1e-9)
    # In the same narrow bins, normalising raises the error of both examples.
    errors = [ece(base.labels, scores, notion="class-wise") for scores in (class_wise, normalised)]
    assert errors[1] > errors[0]


@pytest.mark.thorough
def test_normalising_raises_the_estimate_unless_wide_bins_hide_it():
    example = load_example("resnet")
    for n_bins, rises in ((2, False), (15, True)):
        table = compare_normalisation(example.calibration, example.evaluation, n_bins).frame()
        errors = table.set_index("method")["cw_ece"]
        assert (errors["N-HB"] > errors["CW-HB"]) == rises
        shown = "does not rise" in words(
            open_step("normalising", guess_normalising="lowers it", per_class=str(n_bins))
        )
        assert shown == (not rises)


def test_glossary_covers_every_metric_and_every_page():
    names = [term["name"] for term in GLOSSARY]
    assert len(set(names)) == len(names)
    assert all({"name", "group", "meaning", "paper"} <= set(term) for term in GLOSSARY)
    for head in set(METRIC_COLUMNS.values()) - {"Method", "Bins"}:
        stem = head.split(",")[0].split(" (")[0]
        assert any(stem in name or name.startswith(stem) for name in names), head
    listed = {term for terms in PAGE_TERMS.values() for term in terms}
    assert listed <= set(names)
    titles = {path.stem.replace("_", " ").capitalize() for path in PAGE_FILES}
    assert titles == set(PAGE_TERMS)


def test_every_source_the_glossary_names_is_a_reference():
    works = " ".join(work["cite"] for work in REFERENCES)
    for term in GLOSSARY:
        for source in term["paper"].split(";")[-1].replace("Not in the paper", "").split(", "):
            if "(" in source and source.rstrip(")")[-4:].isdigit():
                author, year = source.split()[0], source.rstrip(")")[-4:]
                assert author in works or author == "van", source
                assert f"({year})" in works, source


def open_step(step: str, **settings: str) -> AppTest:
    app = open_page(LEARN, learn_tab="More", step=step, **settings)
    assert not app.exception
    assert not app.error
    return app


def words(app: AppTest) -> str:
    return "\n".join(element.value for element in [*app.markdown, *app.caption, *app.success])


@pytest.mark.parametrize("step", STEPS)
def test_step_runs(step):
    assert len(open_step(step).title) == 1


def test_the_lesson_gets_the_data_on_screen():
    app = open_page(LEARN)
    content = json.loads(app.get("bidi_component")[0].proto.json)["content"]
    assert content == json.loads(json.dumps(lesson().content()))
    app = open_page(LEARN, example="digits")
    own = json.loads(app.get("bidi_component")[0].proto.json)["content"]["own"]
    assert own["count"] == star_split(load_example("digits").evaluation, "").count
    assert [button.label for button in app.get("download_button")][:1] == ["The lesson as a file"]


@pytest.mark.parametrize(
    ("step", "guess", "shown"),
    [
        ("noise", {"guess_noise": "0", "L": "100", "n": "1000"}, "With 100 classes and 1,000 rows"),
        ("binning", {"guess_binning": "few", "points": "200"}, "With 200, ECE is"),
        ("notions", {"guess_six": "4", "notion": "canonical"}, "6 different vectors for six points"),
        ("normalising", {"guess_normalising": "raises it", "per_class": "2"}, "No promise"),
    ],
)
def test_steps_answer_after_the_guess(step, guess, shown):
    assert shown not in words(open_step(step))
    assert shown in words(open_step(step, **guess))


def test_glossary_opens_at_the_terms_of_a_page():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    turn_to(app, "learn", "Glossary")
    assert app.dataframe[0].value["Name"].tolist() == [term["name"] for term in GLOSSARY]
    app.multiselect(key="terms").set_value(["TL-ECE"]).run()
    assert not app.exception
    assert "**conf-ECE**" not in words(app)
    assert "**TL-ECE**" in words(app)
