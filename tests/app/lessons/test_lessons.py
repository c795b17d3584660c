"""The lessons: numbers of the paper's examples, exact maxima, and each step of the Learn page."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from calib import InputError, ece, noise_floor, paired_interval, reduce_to_binary
from calib.answers.metric_tables import METRIC_COLUMNS
from calib.datasets import load_example
from pages.shared.lessons.binning_by_hand import bent_curve, bin_curve, trade_off, true_curve
from pages.shared.lessons.exercises import EXERCISES, study
from pages.shared.lessons.noise_game import (
    STRENGTHS,
    draw_labels,
    game_round,
    perfect_curve,
    perfect_rows,
    redraws,
)
from pages.shared.lessons.normalising import compare_normalisation
from pages.shared.lessons.six_points import SIX_POINTS, binary_tables, rows_off, used_cells
from pages.shared.lessons.two_patients import two_patients_population, worst_accuracies
from pages.shared.texts import GLOSSARY, NOTES, PAGE_TERMS, REFERENCES
from tests import PAGE_FILES, ROOT
from tests.app.running import turn_to

LEARN = "pages/views/learn.py"
STEPS = ("two-patients", "real-model", "noise", "jensen", "binning", "six-points", "normalising", "teaching")
NOTIONS = ("confidence", "top-label", "class-wise", "top-k-confidence", "top-k-label")
HUNDREDTHS = st.integers(0, 100).map(lambda number: number / 100)


def test_example_1_of_the_paper():
    # 0.5 |0.2 - 0.6| + 0.5 |1 - 0.6| = 0.4; pooled 0.5 (0.2 + 1) - 0.6 = 0.
    population = two_patients_population()
    assert population.conf_ece == pytest.approx(0, abs=1e-12)
    assert population.tl_ece == pytest.approx(0.4)
    example = load_example("two-patients").evaluation
    assert ece(example.labels, example, strategy="discrete") == pytest.approx(population.tl_ece)


@given(HUNDREDTHS, st.tuples(HUNDREDTHS, HUNDREDTHS), st.tuples(HUNDREDTHS, HUNDREDTHS))
def test_two_patients_by_hand(share, told, right):
    population = two_patients_population(share, told, right)
    gaps = [share * (right[0] - told[0]), (1 - share) * (right[1] - told[1])]
    apart = abs(gaps[0]) + abs(gaps[1])
    assert population.tl_ece == pytest.approx(apart, abs=2e-4)
    assert population.conf_ece == pytest.approx(abs(sum(gaps)) if told[0] == told[1] else apart, abs=2e-4)
    assert population.conf_ece <= population.tl_ece + 1e-12


@pytest.mark.parametrize("share", [0.1, 0.4, 0.5, 0.7])
@pytest.mark.parametrize("told", [0.2, 0.5, 0.6, 0.95])
def test_worst_case_is_the_maximum(share, told):
    right = worst_accuracies(share, (told, told))
    gap = share * (right[0] - told)
    assert gap + (1 - share) * (right[1] - told) == pytest.approx(0, abs=1e-12)
    # conf-ECE = 0 leaves one degree of freedom: try every accuracy of a that leaves b a probability.
    of_a = np.linspace(0, 1, 2001)
    of_b = told - share * (of_a - told) / (1 - share)
    tried = 2 * share * np.abs(of_a - told)[(of_b >= 0) & (of_b <= 1)]
    assert 2 * abs(gap) >= tried.max() - 1e-12
    assert 2 * abs(gap) == pytest.approx(tried.max(), abs=2e-3)
    assert 2 * abs(gap) <= 2 * told * (1 - told) + 1e-12


def test_worst_case_with_one_kind_of_patient_or_two_confidences_hides_nothing():
    assert worst_accuracies(0.3, (0.4, 0.6)) == (0.4, 0.6)
    for share in (0.0, 1.0):
        right = worst_accuracies(share, (0.6, 0.6))
        assert two_patients_population(share, (0.6, 0.6), right).tl_ece == pytest.approx(0, abs=1e-12)


def test_population_refuses_shares_that_are_not_probabilities():
    with pytest.raises(InputError, match="lie in"):
        two_patients_population(1.2)


@pytest.mark.parametrize("notion", NOTIONS)
def test_used_cells_are_the_scores_of_the_binary_problems(notion):
    top_k = 2 if notion.startswith("top-k") else None
    problems = reduce_to_binary(SIX_POINTS.labels, SIX_POINTS, notion, top_k=top_k)
    cells = used_cells(SIX_POINTS.proba, notion, 2)
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


def test_rows_that_do_not_sum_to_one_are_found():
    table = SIX_POINTS.proba.copy()
    assert rows_off(table).tolist() == []
    table[1, 0] += 0.1
    table[4] = [-0.1, 0.4, 0.4, 0.3]
    assert rows_off(table).tolist() == [1, 4]


def test_perfect_curve_rises_with_classes_and_falls_with_rows():
    few, many = (perfect_curve(classes, n_resamples=30) for classes in (3, 30))
    assert (np.diff(few["tl_ece_mean"]) < 0).all()
    assert (np.diff(many["tl_ece_mean"]) < 0).all()
    assert (few["tl_ece_mean"] < many["tl_ece_mean"]).all()
    assert (few["conf_ece_mean"] <= few["tl_ece_mean"]).all()
    mean = redraws(1_000, 3, range(1, 31)).mean()
    assert mean == pytest.approx(few.set_index("n_samples").loc[1_000, "tl_ece_mean"], rel=0.15)


def test_labels_are_drawn_from_the_probabilities():
    proba = np.tile([0.1, 0.0, 0.7, 0.2], (40_000, 1))
    shares = np.bincount(draw_labels(proba, np.random.default_rng(0)), minlength=4) / 40_000
    # 5 standard errors of a share of 40,000 rows are at most 0.0125.
    np.testing.assert_allclose(shares, [0.1, 0, 0.7, 0.2], atol=0.0125)
    assert shares[1] == 0
    np.testing.assert_array_equal(perfect_rows(50, 3).proba, perfect_rows(90, 3).proba[:50])


def test_game_rounds_get_harder_and_repeat():
    def p_values(level):
        rounds = [game_round(number, level=level) for number in range(1, 21)]
        off = [round_ for round_ in rounds if not round_.perfect]
        assert 4 < len(off) < 16
        assert {round_.factor for round_ in rounds} == {1.0, STRENGTHS[level - 1], 1 / STRENGTHS[level - 1]}
        return [
            noise_floor(
                round_.predictions.labels, round_.predictions, n_bins=10, n_resamples=99, random_state=0
            ).p_value
            for round_ in off
        ]

    assert max(p_values(1)) <= 0.05
    assert max(p_values(5)) > 0.05
    again, first = game_round(3, level=2), game_round(3, level=2)
    assert again.predictions.fingerprint == first.predictions.fingerprint
    with pytest.raises(InputError, match="level"):
        game_round(1, level=6)


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


def test_trade_off_tightens_and_blunts():
    table = trade_off(bent_curve(1_000))
    assert (np.diff(table["marginal"]) <= 0).all()
    assert table["sharpness"].iloc[-1] < table["sharpness"].iloc[0] - 0.05
    assert table["error"].iloc[0] > table["error"].iloc[-1]
    assert (table["error"] < table["expected_ece"]).all()


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


def test_answers_of_the_exercises():
    worst, six, points = (exercise.answer() for exercise in EXERCISES[:3])
    # b rises to 1: 0.6 * 0.3 = 0.18 = 0.4 * (0.7 - 0.25); TL-ECE is twice that.
    assert "**0.25**" in worst
    assert "**1.00**" in worst
    assert "**0.36**" in worst
    # Pooled: 0.60 (b, d, f) right 2 of 3, 0.70 (a, e) 1 of 2, 0.80 (c) 1 of 1:
    # (3 |2/3 - 0.6| + 2 |0.5 - 0.7| + |1 - 0.8|) / 6 = (0.2 + 0.4 + 0.2) / 6 = 0.1333.
    # Apart: b 0.4, d 0.6, f 0.4, (a, e) 2 * 0.2, c 0.2: 2.0 / 6 = 0.3333.
    assert "**0.133**" in six
    assert "**0.333**" in six
    assert "c and f" in six
    # sqrt(1 / (2 * 200)) = 0.05.
    assert "k = 200" in points
    assert "2,000 rows" in points


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
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.run().switch_page(LEARN)
    for name, value in {"step": step, **settings}.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    assert not app.error
    return app


def words(app: AppTest) -> str:
    return "\n".join(element.value for element in [*app.markdown, *app.caption, *app.success])


def press(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


@pytest.mark.parametrize("step", STEPS)
def test_step_runs(step):
    app = open_step(step)
    assert app.title[0].value.startswith(f"{STEPS.index(step) + 1}. ")


@pytest.mark.parametrize("view", [view for note in NOTES for view in note["views"]], ids=lambda v: v["label"])
def test_links_of_the_notes_open_their_settings(view):
    app = open_step(**view["query"])
    for name, value in view["query"].items():
        if name == "step":
            continue
        shown = app.session_state[name]
        number = value.lstrip("-").replace(".", "").isdigit()
        assert (float(shown) == pytest.approx(float(value))) if number else (str(shown) == value), name


def errors_shown(app: AppTest) -> list[str]:
    return re.findall(r"ECE\) \*\*([\d.]+)\*\*", words(app))


def test_two_patients_show_the_papers_numbers_and_find_the_worst_case():
    app = open_step("two-patients")
    assert errors_shown(app) == []
    app = open_step("two-patients", guess_patients="fewer")
    assert errors_shown(app) == ["0.000", "0.400"]
    app.slider(key="told_a").set_value(0.7)
    app.slider(key="told_b").set_value(0.7)
    app.slider(key="share").set_value(0.4).run()
    press(app, "Find the worst case")
    assert errors_shown(app) == ["0.000", "0.360"]
    assert app.slider(key="right_a").value == pytest.approx(0.25)
    app.slider(key="told_b").set_value(0.71).run()
    assert len(set(errors_shown(app))) == 1
    press(app, "The paper's numbers")
    assert errors_shown(app) == ["0.000", "0.400"]


@pytest.mark.parametrize(
    ("step", "dragged", "name", "value"),
    [
        ("two-patients", "right_a=0.3149=1", "right_a", 0.31),
        ("two-patients", "right_b=7=1", "right_b", 1.0),
        ("two-patients", "share=0.1=1", "share", 0.5),
        ("two-patients", "right_a=nan=1", "right_a", 0.2),
        ("jensen", "gap_2=-0.123=4", "gap_2", -0.12),
        ("noise", "n=1234.5=2", "n", 1_000),
        ("real-model", "look=0.93=2", "look", 10),
    ],
)
def test_what_is_dragged_moves_its_setting_within_its_values(step, dragged, name, value):
    app = open_step(step)
    app.text_input(key="dragged").set_value(dragged).run()
    assert not app.exception
    assert app.session_state[name] == pytest.approx(value)


def test_dragging_the_end_of_the_first_bin_sets_its_points():
    scores = np.sort(bent_curve(1_000).scores)
    app = open_step("binning")
    app.text_input(key="dragged").set_value(f"points={scores[202]}=1").run()
    assert app.slider(key="points").value == 200


def test_previous_and_next_walk_the_steps():
    app = open_step(STEPS[0])
    for number in range(2, 9):
        press(app, next(b.label for b in app.button if b.label.startswith(f"{number}. ")))
        assert app.title[0].value.startswith(f"{number}. ")
        assert app.query_params["step"] == STEPS[number - 1]


def test_edited_tables_live_in_the_address():
    table = "0.5,0.5,0,0,1;" + ";".join(["0.1,0.2,0.3,0.4,4"] * 4) + ";0.9,0.2,0,0,1"
    app = open_step("six-points", guess_six="1", table=table, notion="confidence")
    assert app.query_params["table"] == table
    assert "Row f sums to 1.10" in app.warning[0].value
    press(app, "The original numbers")
    assert not app.warning
    assert "table" not in app.query_params
    open_step("six-points", guess_six="1", table="nonsense;1,2")


def test_real_model_answers_after_the_question():
    app = open_step("real-model")
    assert "horse" not in words(app)
    assert len(app.get("plotly_chart")) == 1
    answered = open_step("real-model", trust="airplane")
    assert "horse" in words(answered)
    assert len(answered.get("plotly_chart")) == 2


def test_noise_game_keeps_the_score():
    app = open_step("noise", part="The game", level="1", round="2")
    truth = game_round(2, level=1).perfect
    press(app, "Only noise" if truth else "Miscalibrated")
    assert app.success
    assert "1 of 1" in [metric.value for metric in app.metric]
    press(app, "Next round")
    press(app, "Miscalibrated" if game_round(3, level=1).perfect else "Only noise")
    assert "1 of 2" in [metric.value for metric in app.metric]


def test_glossary_opens_at_the_terms_of_a_page():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120).run()
    turn_to(app, "learn", "Glossary")
    assert len(app.get("latex")) > 20
    app.multiselect(key="terms").set_value(["TL-ECE"]).run()
    assert not app.exception
    assert "**conf-ECE**" not in words(app)
    assert "**TL-ECE**" in words(app)


def test_exercises_say_only_what_the_simulation_supports():
    """Each claim by its debiased paired interval, which does not touch 0 (or does, if nothing is claimed)."""
    bad_class, few_rows, normalised = EXERCISES[3:]
    item = study("one bad class", 10, 5_000, ("TS", "TL-HB"))
    assert item.against_base("TS").verdict == "not distinguishable"
    assert item.against_base("TL-HB").verdict == "lower"
    assert item.between("TL-HB", "TS").verdict == "lower"
    assert f"{item.error('TL-HB'):.3f} with TL-HB" in bad_class.answer()
    few, more = (study("over-confident", 100, rows, ("TL-HB",)) for rows in (5_000, 10_000))
    assert few.fewest_rows < 45 < more.fewest_rows
    assert few.against_base("TL-HB").verdict == "higher"
    assert more.against_base("TL-HB").verdict == "lower"
    assert f"has {few.fewest_rows}, which 15 bins" in few_rows.answer()
    both = study("one bad class", 10, 5_000, ("N-HB", "CW-HB"))
    assert both.between("N-HB", "CW-HB", "class-wise").verdict == "higher"
    base, after = both.scores["Base"], both.scores["CW-HB"]
    assert paired_interval(base, after, metric="accuracy").upper < 0.0
    assert "cost accuracy" in normalised.answer()
