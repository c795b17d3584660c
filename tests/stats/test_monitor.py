"""Evidence over time: bets that pay 1 on average, few false alarms, and what an alarm says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtr

from calib import ConfidencePrediction, InputError, Monitor, Predictions, TopLabelPrediction, load, save
from calib.files.saved.monitors import monitor_bytes
from calib.stats.bets import EXPONENTS, STAKE, begun_by, gap_bounds, log_factors


def week(seed, n=200, off=0.0, n_classes=4):
    """Confidences of uniform classes, right as often as they say, or less in class 2 or in all."""
    random = np.random.default_rng(seed)
    label, confidence = random.integers(n_classes, size=n), random.uniform(0.6, 0.95, n)
    right = random.random(n) < confidence - off * ((label == 2) if off < 1.0 else 0.3)
    y = np.where(right, label, (label + 1) % n_classes)
    proba = np.full((n, n_classes), ((1.0 - confidence) / (n_classes - 1))[:, None])
    proba[np.arange(n), label] = confidence
    return y, proba


def fed(weeks, n=200, off=0.0, change=0, **options):
    monitor = Monitor(**options)
    for number in range(weeks):
        monitor.update(*week(number, n, off if number >= change else 0.0), np.full(n, float(number)))
    return monitor


@pytest.mark.parametrize("tolerance", [0.0, 0.05])
def test_no_bet_pays_more_than_1_on_average_while_the_null_holds(tolerance):
    scores = np.array([0.0, 1e-6, 0.01, 0.1, 0.2, 0.37, 0.5, 0.7, 0.85, 0.93, 0.999999, 1.0])
    everything = [
        log_factors(scores, np.full(len(scores), outcome), -tolerance, tolerance) for outcome in (True, False)
    ]
    bets = [np.exp(both) for both in zip(*everything, strict=True)]
    assert len(bets) == len(STAKE)
    for ones, zeros in bets:
        for truth in (scores, np.minimum(scores + tolerance, 1.0), np.maximum(scores - tolerance, 0.0)):
            assert (truth * ones + (1.0 - truth) * zeros <= 1.0 + 1e-12).all()
        assert (np.maximum(ones, zeros) > 1.001).any()


def test_stakes_and_their_beginnings_sum_to_1():
    assert np.exp(STAKE).sum() == pytest.approx(1.0)
    steps = begun_by(np.array([0, 1, 10, 10**4, 10**9]))
    assert steps[0] == 0.0
    assert (np.diff(steps) > 0.0).all()
    assert steps[-1] < 1.0


def test_false_alarms_of_calibrated_streams_are_few():
    """By Ville's inequality 40 streams raise 2 or fewer on average; more than 6 have a chance of 0.3 %."""
    alarms = 0
    for stream in range(40):
        monitor = Monitor()
        for number in range(6):
            monitor.update(*week(1_000 * (stream + 1) + number))
        alarms += monitor.alarm
    assert alarms <= 6


def test_a_change_in_one_class_is_found_dated_and_named():
    monitor = fed(14, off=0.35, change=6)
    assert monitor.alarm
    assert monitor.since in (5.0, 6.0, 7.0)
    assert monitor.named() == [("class", "2")]
    gap = monitor.gap("class", "2", since_alarm=True)
    assert gap.lower < -0.35 < gap.upper < 0.0
    table = monitor.frame().set_index(["level", "name"])
    assert table["named"].sum() == 1
    assert table.loc[("all", ""), "rows"] == 14 * 200
    assert monitor.words().startswith(f"Alarm: miscalibrated since {monitor.since:g};")


def test_a_change_is_found_within_the_week():
    """Right 30 points less often than said, from the fourth week on."""
    monitor = fed(3)
    assert not monitor.alarm
    assert monitor.since is None
    assert monitor.update(*week(3, off=1.0), np.full(200, 3.0)).alarm
    assert monitor.since == 3.0


def test_tolerance_forgives_what_is_within_it():
    assert fed(8, off=1.0, tolerance=0.31).largest < 1.0
    assert fed(8, off=1.0, tolerance=0.1).alarm


def test_any_division_into_updates_gives_the_same_evidence():
    y, proba = week(0, 400, off=0.2)
    whole, parts = Monitor().update(y, proba), Monitor()
    for start in range(0, 400, 50):
        parts.update(y[start : start + 50], proba[start : start + 50])
    assert parts.log_evidence == pytest.approx(whole.log_evidence, abs=1e-9)


def test_rows_of_an_update_are_put_in_the_order_of_their_times():
    y, proba = week(0, 400, off=0.2)
    days = pd.date_range("2026-01-01", periods=400, freq="h")
    order = np.random.default_rng(0).permutation(400)
    first = Monitor().update(y, proba, days)
    second = Monitor().update(y[order], proba[order], days.astype(str).to_numpy()[order])
    assert second.log_evidence == pytest.approx(first.log_evidence, abs=1e-9)
    assert second.blocks[0].first == pd.Timestamp("2026-01-01").timestamp()


def test_a_cluster_is_one_bet():
    y, proba = week(0, 8, off=1.0)
    once = Monitor().update(y, proba)
    repeated = Monitor().update(np.repeat(y, 5), np.repeat(proba, 5, axis=0), cluster=np.repeat(range(8), 5))
    assert repeated.log_evidence == pytest.approx(once.log_evidence, abs=1e-9)
    assert repeated.gap().n_rows == 8


def test_rows_without_a_label_wait():
    y, proba = week(0, 60)
    late = y.astype(float)
    late[:20] = np.nan
    monitor = Monitor().update(late, proba)
    assert (monitor.n_rows, monitor.n_unlabelled) == (40, 20)
    assert monitor.update(np.full(5, np.nan), proba[:5]).n_rows == 40
    assert monitor.update(y[:20], proba[:20]).n_rows == 60


def test_rows_that_come_again_are_refused():
    y, proba = week(0, 600)
    monitor = Monitor().update(y[:400], proba[:400], np.arange(400))
    with pytest.raises(InputError, match="these rows were added before"):
        monitor.update(y[:400][::-1], proba[:400][::-1], np.arange(400)[::-1])
    with pytest.raises(InputError, match="67% of these rows were added before"):
        monitor.update(y, proba, np.arange(600))
    assert monitor.update(y[400:], proba[400:], np.arange(400, 600)).n_rows == 600


def test_equal_rows_of_few_distinct_scores_are_not_taken_for_the_same():
    random, monitor = np.random.default_rng(0), Monitor(notion="confidence")
    for _ in range(5):
        scores = random.integers(1, 20, 100) / 20
        monitor.update(random.random(100) < scores, scores)
    assert monitor.n_rows == 500


def test_compared_with_a_start_a_constant_gap_is_no_alarm():
    start = week(99, 20_000, off=1.0)
    monitor = Monitor().compare_with(*start)
    for number in range(4):
        monitor.update(*week(number, off=1.0))
    assert not monitor.alarm
    assert Monitor().update(*week(0, 800, off=1.0)).alarm
    for number in range(4, 16):
        monitor.update(*week(number))
    assert monitor.alarm
    assert monitor.threshold == 40.0
    with pytest.raises(InputError, match="before the first update"):
        monitor.compare_with(*start)


def test_groups_are_looked_at_by_themselves():
    monitor = Monitor(notion="confidence", by="site")
    for number in range(10):
        y, proba = week(number, off=1.0)
        good, _ = week(number)
        site = np.where(np.arange(200) % 4, "north", "south")
        monitor.update(np.where(site == "south", y, good), proba, groups=site)
    assert monitor.named() == [("group", "south")]
    with pytest.raises(InputError, match="pass groups="):
        monitor.update(*week(99))


def test_classes_may_come_later_where_there_is_no_column_for_each():
    def rows(names, seed):
        random = np.random.default_rng(seed)
        label = random.integers(len(names), size=100)
        return TopLabelPrediction(label, np.full(100, 0.9), label, class_names=names)

    monitor = Monitor()
    for number, names in enumerate((("a", "b"), ("b", "c"))):
        monitor.update(rows(names, number).labels, rows(names, number))
    of = monitor.levels["class"]
    assert of.names == ["a", "b", "c"]
    assert of.weights.tolist() == [0.25, 0.25, 0.25]
    closed = Monitor().update(*week(0))
    assert closed.levels["class"].weights.tolist() == [0.25] * 4
    with pytest.raises(InputError, match="earlier rows had 4 classes"):
        closed.update(*week(1, n_classes=5))


def test_many_blocks_are_put_together():
    monitor = Monitor(notion="confidence")
    random = np.random.default_rng(0)
    for number in range(300):
        scores = random.uniform(0.5, 1.0, 10)
        monitor.update(
            random.random(10) < scores - (0.4 if number >= 200 else 0.0), scores, np.full(10, number)
        )
    assert len(monitor.blocks) <= 256
    assert sum(block.n_rows for block in monitor.blocks) == monitor.gap().n_rows == 3_000
    assert 190 <= monitor.since <= 210
    assert monitor.over_time()["rows"].sum() == 3_000


def test_bounds_of_a_gap_are_where_the_mixture_reaches_its_limit():
    sums = np.array([500.0, -20.0, 80.0])
    low, high = gap_bounds(sums, 0.05)
    assert low < -0.04 < high
    for distance in (500 * high + 20, -20 - 500 * low):
        bernstein = np.exp(EXPONENTS * distance + (np.log1p(-EXPONENTS) + EXPONENTS) * 80.0)
        hoeffding = np.exp(4.0 * EXPONENTS * distance - (4.0 * EXPONENTS) ** 2 / 8.0 * 500.0)
        assert np.mean([bernstein, hoeffding]) == pytest.approx(2.0 / 0.05)
    assert gap_bounds(np.zeros(3), 0.05) == (-1.0, 1.0)


def test_bounds_of_a_gap_hold_it_at_all_times():
    misses = 0
    for seed in range(100):
        random, sums = np.random.default_rng(seed), np.zeros(3)
        for _ in range(20):
            scores = random.uniform(0.5, 1.0, 50)
            residual = (random.random(50) < scores - 0.1) - scores
            sums += (50, residual.sum(), (residual**2).sum())
            low, high = gap_bounds(sums, 0.05)
            if not low <= -0.1 <= high:
                misses += 1
                break
    assert misses <= 10


def test_what_a_monitor_cannot_use_is_refused():
    y, proba = week(0)
    with pytest.raises(InputError, match="A monitor cannot use weights"):
        Monitor().update(y, Predictions(proba, sample_weight=np.arange(1.0, 201.0)))
    for options in ({"notion": "top-k-label"}, {"notion": "class-wise", "by": "site"}, {"alpha": 2.0}):
        with pytest.raises(InputError):
            Monitor(**options)
    with pytest.raises(InputError, match="groups need by="):
        Monitor().update(y, proba, groups=y)
    with pytest.raises(InputError, match="time must hold one value per row"):
        Monitor().update(y, proba, [1.0])
    with pytest.raises(InputError, match="time must be numbers or dates"):
        Monitor().update(y, proba, ["soon"] * 200)
    monitor = Monitor().update(y, proba, np.arange(200))
    with pytest.raises(InputError, match="earlier rows have times that are numbers"):
        monitor.update(*week(1))
    with pytest.raises(InputError, match="another kind"):
        Monitor().update(y, proba).update(y[:100] > 1, proba[:100, 0])


def test_evidence_is_half_of_all_rows_and_a_quarter_each_of_classes_and_groups():
    """Two classes with a weight of 1/2 each; two groups with 1/4 each, and 1/2 for groups that come later."""
    monitor = Monitor(by="site")
    for number in range(3):
        y, proba = week(number, off=0.3, n_classes=2)
        monitor.update(y, proba, groups=np.where(np.arange(200) % 4, "north", "south"))
    worth = {(line.level, line.name): np.exp(line.log_evidence) for line in monitor.frame().itertuples()}
    assert len(worth) == 1 + 2 + 2
    of_classes = sum(value for (level, _), value in worth.items() if level == "class") / 2
    of_groups = sum(value for (level, _), value in worth.items() if level == "group") / 4 + 1 / 2
    (of_all,) = (value for (level, _), value in worth.items() if level == "all")
    assert monitor.evidence == pytest.approx(of_all / 2 + of_classes / 4 + of_groups / 4)
    alone = Monitor(notion="confidence").update(*week(0, off=0.3))
    assert alone.log_evidence == pytest.approx(alone.frame()["log_evidence"].item())


def weeks(monitor, random, patients, n_weeks=26, **options):
    """Add rows of a calibrated stream, two of each patient a week; `patients` gives the names of a week."""
    latent = np.random.default_rng(9).standard_normal(40 * n_weeks)
    for week in range(n_weeks):
        place = np.repeat(patients(week), 2)
        score = random.uniform(0.05, 0.95, len(place))
        common = np.sqrt(0.4) * latent[place] + np.sqrt(0.6) * random.standard_normal(len(place))
        monitor.update(ndtr(common) < score, score, np.full(len(place), week), cluster=place, **options)
    return monitor


def test_patients_that_come_back_are_refused_or_left_out(tmp_path):
    """40 patients every week are one bet each; with new patients beside them only these are bet on."""
    random, monitor = np.random.default_rng(0), Monitor(notion="confidence")
    with pytest.raises(InputError, match="came before"):
        weeks(monitor, random, lambda week: np.arange(40))
    assert (monitor.n_rows, monitor.n_returned, len(monitor.clusters)) == (80, 0, 40)
    save(monitor, tmp_path / "state.json")
    again = load(tmp_path / "state.json")
    with pytest.raises(InputError, match="came before"):
        weeks(again, random, lambda week: np.arange(40), 1)
    weeks(again, random, lambda week: np.arange(20 * week + 20, 20 * week + 60), 3)
    assert (again.n_rows, again.n_returned) == (80 + 3 * 40, 3 * 40)
    save(again, tmp_path / "state.json")
    assert load(tmp_path / "state.json").n_returned == again.n_returned


def test_rows_declared_independent_are_new_in_every_update():
    random, monitor = np.random.default_rng(1), Monitor(notion="confidence")
    for _ in range(3):
        score = random.random(100)
        rows = ConfidencePrediction(score, random.random(100) < score, cluster=np.zeros(100, dtype=int))
        monitor.update(rows.independent())
    assert (monitor.n_rows, monitor.n_returned) == (300, 0)


@pytest.mark.parametrize(("gap", "n_rows"), [(0.14, 4_000), (0.081, 10_000)])
def test_a_drift_is_found_although_its_weeks_are_alike(gap, n_rows):
    for seed in range(8):
        random = np.random.default_rng(seed)
        day, score = np.sort(random.integers(0, 120, n_rows)), random.uniform(0.3, 0.99, n_rows)
        right = random.random(n_rows) < score - gap * (day >= 60)
        dates = (np.datetime64("2026-01-01") + day).astype(str)
        rows = ConfidencePrediction(score, right, metadata=pd.DataFrame({"scored_at": dates}))
        monitor = Monitor(notion="confidence").update(rows, time=dates)
        assert monitor.alarm
        assert abs((monitor.since - pd.Timestamp("2026-03-02")).days) <= 10


@pytest.mark.parametrize(("batch", "since"), [(None, "update 2"), ("day 2", "day 2")])
def test_without_times_an_alarm_names_a_batch(batch, since):
    monitor = Monitor(notion="confidence").update(np.arange(200) % 2, np.full(200, 0.5))
    assert not monitor.alarm
    monitor.update(np.zeros(200), np.full(200, 0.5), batch=batch)
    assert monitor.since == monitor.gap(since_alarm=True).since == since


def test_an_alarm_that_is_acknowledged_begins_a_new_count(tmp_path):
    monitor = fed(6, off=1.0)
    since, evidence = monitor.since, monitor.evidence
    assert monitor.acknowledge("refitted on 5 May") is monitor
    assert (monitor.alarm, monitor.since, monitor.evidence, monitor.n_rows) == (False, None, 1.0, 0)
    (count,) = monitor.ended
    assert (count.note, count.n_rows, count.evidence, count.since) == (
        "refitted on 5 May",
        1_200,
        evidence,
        f"{since:g}",
    )
    assert monitor.alpha_spent == 0.05
    with pytest.raises(InputError, match="added before"):
        monitor.update(*week(0, off=1.0), np.zeros(200))
    for number in range(10, 13):
        monitor.update(*week(number, n_classes=5), np.full(200, float(number)))
    fresh = Monitor()
    for number in range(10, 13):
        fresh.update(*week(number, n_classes=5), np.full(200, float(number)))
    assert monitor.log_evidence == fresh.log_evidence
    monitor.acknowledge("refitted on 5 May")
    assert (len(monitor.ended), monitor.n_rows) == (1, 600)
    save(monitor, tmp_path / "state.json")
    again = load(tmp_path / "state.json")
    assert (again.ended, again.words()) == (monitor.ended, monitor.words())
    assert again.acknowledge("new calibrator").alpha_spent == 0.1
    assert Monitor().acknowledge("calibrator of May").alpha_spent == 0.0
    for note in ("", "two\nlines", 3):
        with pytest.raises(InputError, match="note"):
            monitor.acknowledge(note)


def test_after_an_acknowledgement_the_start_stays_or_is_given_anew():
    start = week(99, 2_000, off=1.0)
    monitor = Monitor().compare_with(*start).update(*week(0))
    bounds = monitor.start
    assert monitor.acknowledge("refitted").start is bounds
    assert monitor.compare_with(*week(98, 2_000)).start.keys() == bounds.keys()
    assert monitor.threshold == 40.0


@pytest.mark.parametrize("refusal", ["classes", "clock", "again", "stopped"])
def test_a_refused_update_leaves_every_field_unchanged(refusal, monkeypatch):
    y, proba = week(0)
    late = np.append(y[1:].astype(float), np.nan)
    site = np.where(np.arange(200) % 2, "north", "south")
    monitor = Monitor(by="site").update(y, proba, np.arange(200), groups=site)
    before = monitor_bytes(monitor)
    expected: type[BaseException] = InputError
    times, scores = np.arange(200) + 200.0, proba
    if refusal == "classes":
        scores = np.column_stack([proba, np.zeros(200)])
    elif refusal == "clock":
        times = None
    elif refusal == "again":
        late, times = np.append(y[:-1].astype(float), np.nan), np.arange(200)
    else:
        expected = KeyboardInterrupt

        def stop(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(Monitor, "_remember", stop)
    with pytest.raises(expected):
        monitor.update(late, scores, times, groups=np.where(site == "north", "east", site), batch="b")
    assert monitor_bytes(monitor) == before


def test_a_monitor_draws_itself_and_says_which_rows_it_has():
    monitor = Monitor(notion="confidence").update(np.ones(30, dtype=int), np.full(30, 0.9))
    assert monitor.plot().data
    with pytest.raises(InputError, match="no rows of class 'cat'"):
        monitor.gap("class", "cat")
    with pytest.raises(InputError, match="no rows of any kind"):
        monitor.acknowledge("refitted").over_time()
    with pytest.raises(InputError, match="has none yet"):
        monitor.plot()


def test_a_block_without_a_gap_has_the_gap_0():
    monitor = Monitor().update(np.array([0, 0, 1, 1]), TopLabelPrediction(np.zeros(4, int), np.full(4, 0.5)))
    assert monitor.over_time()["gap"].tolist() == [0.0]
