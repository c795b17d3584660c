"""How often calib's intervals and choices are right: ``python -m docs.coverage`` writes docs/coverage.md.

The tables are what the modules of `benchmarks/` print. ``--draws`` sets the draws for each row of the
tables; ``--only "intervals errors"`` names what to run, and keeps the other tables. Seeds are fixed: the same
draws of the same code print the same table.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent / "coverage.md"

#: Module and tables of it, title, how these are to be read, and the share of the draws that they take.
SECTIONS = (
    (
        "intervals errors cells shifted",
        "Intervals of calibration errors",
        "`calib.error_interval`: how often the 95 % interval holds the true error of its cells, and how "
        "often it lies above or below. Scores stay fixed and labels are drawn anew from a known truth, "
        "whose error is a multiple of the noise floor. Lines below 95 % have five times as many draws. If "
        'labels are "mostly agreed", each row has one class with a chance of 80 %, which the scores do not '
        "show. The second table has one to five cells. In the third table all scores are above 0.99 and the "
        "chance is 0.97, or the truth is the scores at temperature 0.7; calib is given the clusters.",
        1.0,
    ),
    (
        "intervals means areas few weighted",
        "Intervals of mean scores and of the AUC",
        "`calib.bootstrap_interval` and `calib.auc`: how often 95 % intervals hold the true number. "
        "Most confidences are high, so losses are skewed. The difference is between a model and its "
        "sharpened copy. The interval of an AUC is wide if few rows have the rarer outcome, because unseen "
        "rows could be out of order. The third table has few clusters, whose rows share a part of the score "
        "and of the outcome, and the delete-one jackknife with Student's quantile beside calib's intervals. "
        "In the fourth table rows of a calibrated model have weights, lognormal or 20 for every twentieth "
        "row: how often 95 % intervals miss, and how often `calib.paired_interval` finds a difference from "
        "equally good scores.",
        5.0,
    ),
    (
        "intervals differences",
        "Differences of calibration errors",
        "`calib.paired_difference`: how often the 95 % interval holds the true difference of squared l2 "
        "errors, and how often the wrong and the right direction is claimed. If the true difference is "
        "0, every claim is wrong.",
        5.0,
    ),
    (
        "risks events centres",
        "The probability of an event",
        "`calib.risk`: how often the 95 % intervals of O/E, in the large, slope and Brier skill hold the "
        "true number, if log-odds are off by a line. Clusters have ten rows with the correlation 0.2; "
        "weights are uniform between 0.2 and 2, or unequal: lognormal. Then `calib.calibration_by_centre`: "
        "log-odds of each centre are off by a normal number with the standard deviation tau. How often the "
        "intervals hold the mean over centres, and the numbers of a new centre.",
        2.0,
    ),
    (
        "gaps conclusion pointed",
        "The conclusion on Overview",
        "`calib.conclude`: how often it calls a model off (5 % of calibrated models by its level), and how "
        "often it states a range or a class. The interval of a range may miss in 5 % of draws; on average "
        "over draws, 5 % of the named classes may be named in error; a range or a class of a tenth of the "
        "rows may be off by more than `at_most` in 5 % of draws. The last column: single tests behind "
        "`--all` that reject at 5 % although all of them together do not. Clusters have 50 rows and a "
        "correlation of 0.1. The second table is about further columns of 12 groups, which `calib metrics` "
        "compares by itself: how often it names a group of a random column, and how often it names the one "
        "group whose confidence is too high by more points than elsewhere. If there are patients, the "
        "random column is a property of each patient, and the name of their own column says nothing.",
        0.5,
    ),
    (
        "sizes clusters untold",
        "Rows that belong together",
        "Perfect models whose rows belong together, such as several rows of a patient: how often floors, "
        "conclusion, tests and intervals find something, which is always wrong. In the first table calib "
        "is given the clusters, in the second table it is not told. Sizes of sites are 1 + Pareto(1.2) times "
        "a constant, with mean 60. In the series, latent numbers and logits are AR(1).",
        0.5,
    ),
    (
        "sizes combined rounded",
        "Tests of the conclusion",
        "`calib.conclude` of perfect models: how often all tests together reject, which decides what it "
        "says, and how often each single test does. Then the line in log-odds of scores that are rounded "
        "to two decimals after the outcomes are drawn: how often intervals miss slope 1, intercept 0, and "
        "0 in the large.",
        2.0,
    ),
    (
        "dependence accused copied columns streams drifts",
        "Known and suspected dependence",
        "Independent rows of files without a column, also of models that are not calibrated: how often "
        "calib takes rows for copies, and how often it suspects that they belong together. Then rows that "
        "occur three times, with the same digits or others. Then groups by a column whose name says "
        "nothing: a confidence that is too high in every fifth group, or a perfect model whose rows of a "
        "group depend on each other. Then a monitor of a perfect model, which gets the patients as "
        "clusters every week. Finally, scores that are too high by a gap from day 60 of 120 on, in a file "
        "with a column of dates.",
        5.0,
    ),
    (
        "sizes reach",
        "What noise could hide",
        'Beside "not distinguishable from noise", calib names the true error that would show in 80 of 100 '
        "such samples. The table shows how often an error of this size is found: if all bins have the same "
        "gap with alternating signs, or if one bin has all of it. Errors of one bin among several are found "
        "more often.",
        0.02,
    ),
    (
        "promises rules highest recalls clusters overlap",
        "Decisions",
        "`calib.decide`: how often the accuracy of accepted rows is below the accuracy that is promised "
        "with probability 90 %. In the second table, the promised accuracy is the highest of seven at which "
        "any row passes, chosen on the same rows. In the third table, an accuracy of 0.9 is promised with a "
        "recall. In the fourth table rows belong together, and calib is given the clusters or not. In the "
        "fifth table the calibrator was fitted on some of the rows, which calib recognises by their values, "
        "their ids or the scores in its file.",
        0.25,
    ),
    (
        "events targets benefits limits",
        "Events",
        "`calib.decide` with targets of an event, promised with probability 90 %: how often any of them is "
        "missed, and how often a threshold is found. Then the intervals of `calib.decision_curve` (net "
        "benefit, and actions avoided per row) and of the difference from noisier scores "
        "(`calib.answers.benefit_difference`), for independent rows and for clusters of 5 rows. Finally, how "
        "often `calib.gate` is red with five limits at the true numbers, for all five together and if each "
        "had a gate of its own.",
        0.5,
    ),
    (
        "judges levels",
        "Answers at levels of a hierarchy",
        "`calib.coarsen`: how often the true accuracy of the answers at any of three levels is below the "
        "accuracy that is promised with probability 90 %, and the share of rows that are answered at the "
        "finest level and at any. Scores are the true probabilities, overconfident, or exchanged between "
        "two species or two genera.",
        0.5,
    ),
    (
        "judges rates kappas",
        "Judges",
        '`calib.judge`: how often 95 % intervals hold the true rate of "pass", the agreement, kappa and '
        "AC1, and how often what passes misses the accuracy of 85 % that is promised with probability 90 "
        '%. Each draw has 3,000 new rows. Judges are right with the chance they state ("honest") or with '
        'another one: "lenient" finds 40 % of the failures. "Labels saved" compares the squared width of '
        "the interval with the interval of the labels alone; below 0 % the interval is wider, because a "
        "rare verdict has few labels. Chosen rows are five times as likely to be labelled if the verdict "
        'is "fail", or the confidence below 0.8. The second table has several equally common verdicts.',
        0.5,
    ),
    (
        "choices few copies",
        "Few wrong rows, and copies",
        "Calibrated models of confident rows. First: how often the intervals of scores lie below or above "
        "the expectation, and how often a limit 5 % below it is called kept. Then `calib.recommend`, with "
        "few wrong rows, and with rows that occur five times without an id: how often it recommends a "
        "calibrator, and the effect on 20,000 fresh rows.",
        1.0,
    ),
    (
        "choices sets recommendations halves first_fold orders",
        "Choices among calibrators",
        "`calib.best_set`: how often the method with the lowest expected score is in the set that the "
        "leaderboard marks. `calib.recommend`: how often it recommends no calibrator, and how often and by "
        "how much its choice is worse or better than the base model on 20,000 fresh rows. Then, how often it "
        "recommends a calibrator chosen on half of 900 rows, if this half alone confirms it, or both halves "
        "do. Then, how often the choice is the same if slow candidates are ruled out after the first fold, "
        "and in which share of the processor time. The last table shows the share of rows whose calibrated "
        "scores change by more than 0.01 if the order of the classes is reversed: in the fit, in predictions "
        "with named columns, "
        "and without names. VS depends on the order in the fit, so calib tries it only if it is named.",
        0.05,
    ),
    (
        "changes shares",
        "Shares of classes among new rows",
        "`calib.LabelShiftCorrection`: how often the 95 % intervals hold the shares of all classes at once, "
        "how often probabilities are corrected, and how often this worsens the log loss of 1,000 further "
        "rows. Rows of a class are normal around a point of its own.",
        0.5,
    ),
    (
        "changes alarms delays",
        "Evidence over time",
        "`calib.Monitor`: how often a stream whose scores are the truth ever raises an alarm, beside a "
        "fixed-sample test of the mean gap that is repeated at every look. Then a change after 13 weeks, "
        "with 200 rows a week: the weeks from the change to the alarm (13 without an alarm). Beside them is "
        "the first week in which that test rejects at 5 %, if it knows the change and starts there.",
        0.5,
    ),
)


def page(tables: dict[str, str], draws: int) -> str:
    """Return the page with the printed table of each script."""
    parts = [
        "# How often calib is right",
        "Intervals, directions, recommendations and other statements are checked in simulations whose "
        f"truth is known. `python -m docs.coverage --draws {draws}` (`docs/coverage.py`) writes this page "
        "and takes more than half an hour of processor time. Headings give the nominal level of a rate, and "
        "each rate has its Monte Carlo standard error. Shares of 10 draws say little.",
    ]
    for script, title, about, share in SECTIONS:
        how = f"`python -m benchmarks.{script} --draws {max(int(draws * share), 1)}`"
        parts += [f"## {title}", f"{about} From {how}:", tables[script].strip()]
    return "\n\n".join(parts) + "\n"


def printed(script: str, draws: int) -> str:
    """Return what a module of `benchmarks/` prints."""
    module, *tables = script.split()
    command = [sys.executable, "-m", f"benchmarks.{module}", *tables, "--draws", str(draws)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603


def written(text: str) -> dict[str, str]:
    """Return the table of each script on a page."""
    tables = {}
    for section in text.split("\n## ")[1:]:
        script, _, rest = section.partition("`python -m benchmarks.")[2].partition(" --draws ")
        tables[script] = rest.partition(":\n\n")[2]
    return tables


def main() -> None:
    """Run the scripts and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    scripts = [script for script, *_ in SECTIONS]
    parser.add_argument("--only", nargs="+", choices=scripts, default=scripts, metavar="SCRIPT")
    options = parser.parse_args()
    shares = {script: share for script, _, _, share in SECTIONS}
    tables = {} if options.only == scripts else written(PAGE.read_text(encoding="utf-8"))
    for script in options.only:
        tables[script] = printed(script, max(int(options.draws * shares[script]), 1))
    PAGE.write_text(page(tables, options.draws), encoding="utf-8")


if __name__ == "__main__":
    main()
