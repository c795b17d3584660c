"""The options of each command. Help is the docstring of the function that adds them, examples first."""

from __future__ import annotations

import argparse
import math
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import Any

from calib.base.exceptions import InputError
from calib.data.defaults import FDR, LEVEL, N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.notions import NOTIONS
from calib.files.readers.raw_predictions import SCALES

PATHS = "Parquet, Feather, CSV, JSON lines, folders, or quoted patterns such as 'data/*.csv'"
ONLY = "read only rows with this value; repeatable, values of one column are alternatives"
PREDICTIONS = "predictions of one or several models: CSV, TSV, Parquet, Feather, NPY, NPZ or JSON"


class Adder:
    """Adds options, written as their help shows them, to the parser of a command or to a group of it."""

    def __init__(self, parser: ArgumentParser | argparse._ArgumentGroup) -> None:
        self.parser = parser

    def __call__(self, shown: str, text: str, **given: Any) -> argparse.Action:
        """Add "-o --output FILE", "--by COLUMN ..." that is repeatable, a flag "--strict", or "file"."""
        names = [word for word in shown.split() if word.startswith("-")] or [shown]
        metavar, *repeated = shown.split()[len(names) :] or [""]
        if metavar:
            given["metavar"] = metavar
        elif shown.startswith("-") and not given.keys() & {"action", "choices", "type"}:
            given["action"] = "store_true"
        if repeated:
            given = {"action": "append", "default": []} | given
        return self.parser.add_argument(*names, help=text, **given)


class _Later:
    """Choices of an option, loaded when needed: their module takes a second to import."""

    def __init__(self, load: Callable[[], Iterable[str]]) -> None:
        self.load = load

    def __iter__(self) -> Iterator[str]:
        return iter(self.load())

    def __contains__(self, name: object) -> bool:
        return name in tuple(self)


def _whole(least: int, most: int) -> type[argparse.Action]:
    """Return the action of an option that is a whole number; it refuses what no computation can use."""

    class Whole(argparse.Action):
        def __init__(self, **given: Any) -> None:
            super().__init__(**given, type=int)

        def __call__(self, parser: Any, namespace: Any, value: Any, option: str | None = None) -> None:
            if not least <= value <= most:
                expected = f"a whole number from {least:,} to {most:,}"
                raise InputError(f"{option} must be {expected}; got {value:,}")
            setattr(namespace, self.dest, value)

    return Whole


#: Bins of a scale; rows of a bin, or of a table.
BINS, ROWS = _whole(1, 100_000), _whole(1, 10**9)


def metrics(add: Adder) -> None:
    """Print calibration errors and scores of predictions.

    calib metrics predictions.csv
    calib metrics logits.npz --bins 20 --json
    calib metrics predictions.parquet --calibrator cal.json
    calib metrics predictions.csv --calibrator cal.json --split 0.5 --seed 0

    A file that names calibration and evaluation rows (a column 'split', or arrays such as val_logits and
    test_logits) is assessed on its evaluation rows, any other file on all its rows. If `fit` divided the
    file, pass the same --split and --seed to assess only the rows that `fit` did not use.
    """
    _add_file(add)
    add("--calibrator CAL.JSON", "also assess the file with this calibrator")
    add("--all", "also print every single test against noise")
    _add_tolerance(add)
    _add_bins_and_redraws(add)
    _add_split(add)


def fit(add: Adder) -> None:
    """Fit a calibrator and write its file.

    calib fit predictions.csv --points-per-bin 50 -o cal.json
    calib fit logits.npz --notion class-wise --normalize --n-bins 15 -o n-hb.json
    calib fit val.csv --evaluate test.csv --method temperature -o ts.json
    calib fit logits.npz --method dirichlet --l2 cv -o ds.json
    calib fit val.csv --by class,site --fallback pooled -o sites.json

    Fits on the calibration rows and compares before and after on the evaluation rows. A file that names no
    calibration rows is divided at random, stratified by label: the share --split is for fitting, the rest
    for comparing. --split 1 fits on all rows and compares nothing. The same --seed divides in the same way.
    --by site fits a calibrator for each site that the column names, --by class,site for each class of each
    site; `apply` finds the column again by its values.

    METHOD is one of {binary}.

    A folder or a quoted pattern such as 'data/*.parquet' is read batch by batch, whatever its size:
    histogram binning, temperature and vector scaling are fitted on the calibration rows, or on all rows if
    none are named.
    """
    _add_file(add)
    add("--evaluate FILE", "compare before and after on the rows of this file")
    add("-o --output CAL.JSON", "calibrator file to write", required=True)
    method = add("--method METHOD", "see below; default: histogram", default="histogram")
    method.choices = _Later(lambda: import_module("calib.calibrators.catalogue").METHODS)
    add("--notion", "default: top-label", choices=NOTIONS)
    add("--points-per-bin K", "histogram: rows per bin; default 50", action=ROWS)
    add("--n-bins B", "histogram: bins per binary problem, instead of K", action=BINS)
    add("--ties", "histogram: how to bin equal scores; default group", choices=("group", "randomize"))
    add("--top-k K", "ranks of the top-k notions", action=BINS)
    add("--fixed-slope", "platt: fit the intercept alone, for few rows")
    add("--normalize", "class-wise: divide each row by its sum")
    fallbacks = ("identity", "pooled", "shrink")
    add("--fallback", "for classes with too few rows; default identity", choices=fallbacks)
    add("--by [class,]COLUMN", "a calibrator for each group, or each class and group")
    add("--complete", "spread 1 - confidence over the other classes")
    add("--l2 X|cv", "vector, dirichlet: weight of the ridge; cv chooses it by cross-validation", type=_ridge)
    add("--off-diagonal X|cv", "dirichlet: weight of ODIR, or cv: choose it", type=_ridge)
    add("--split SHARE", "share to fit on; default 0.5", type=_share, default=0.5)
    _add_seed(add, "the fit and the split")
    _add_workers(add, "Parquet and Feather files of any size: ")
    _add_bins(add, "bins")  # --n-bins is an option of the calibrator


def recommend(add: Adder) -> None:
    """Recommend one calibrator by cross-validation.

    calib recommend predictions.csv
    calib recommend logits.npz -o cal.json
    calib recommend val.csv --split 1 --json

    Chooses by five folds of the calibration rows. Evaluation rows with labels confirm the choice, too. A file
    that names no calibration rows is divided as `fit` does: the share --split is for choosing, and what
    --output writes is then fitted on all rows. The answer is "none" if the choice does not distinguishably
    improve the Brier score or the log loss without harm to the other, on rows it was not fitted on.
    """
    _add_file(add)
    add("-o --output CAL.JSON", "also write the recommended calibrator, if there is one")
    add("--split SHARE", "share for calibration; default 0.5", type=_share, default=0.5)
    _add_seed(add, "the folds and the split")


def apply(add: Adder) -> None:
    """Calibrate new predictions with a calibrator file.

    calib apply cal.json new.csv -o calibrated.csv
    calib apply cal.json new.parquet -o calibrated.parquet --json
    calib apply cal.json new.csv --label-shift em --calibration labelled.csv -o calibrated.csv
    calib apply new.csv --training-shares fraud=0.5 --target-shares fraud=0.01 -o corrected.csv
    gunzip -c new.csv.gz | calib apply cal.json - -o - | head

    Named columns are put in the calibrator's order of classes; labels are not needed.

    Class shares are CLASS=X, repeatable; one class may be left out. Without names: the share of every class,
    in the order of the file, such as 0.7,0.2,0.1; for P(Y = 1) also its share alone, 0.05.

    A folder or a quoted pattern such as 'data/*.parquet' is read and written batch by batch, whatever its
    size: OUT is then a folder, rows keep their order and all columns, and files that are finished are not
    done again.
    """
    known = "calibrator file; leave it out to correct the scores themselves for known class shares"
    add("calibrator", known, metavar="CAL.JSON", nargs="?")
    _add_file(add)
    add("-o --output OUT", "output: .csv or .parquet, or -", required=True)
    add("--output-format", "default: by the ending of OUT, csv for -", choices=("csv", "parquet"))
    shift = "correct for other class shares than in --calibration, if rows of each class look as before"
    add("--label-shift", shift, choices=("em", "bbse"))
    add("--calibration FILE", "labelled rows with the class shares before the shift")
    add("--target-shares CLASS=X ...", "class shares of the new rows, if known", default=None)
    add("--training-shares CLASS=X ...", "class shares that the model was trained on", default=None)
    add("--save CAL.JSON", "also write the calibrator with its correction")


def check(add: Adder) -> None:
    """List the problems of a file and the fixes for them.

    calib check predictions.csv
    calib check predictions.csv --fix percent,labels_one_based
    calib metrics predictions.csv --fix percent,labels_one_based

    Exits with 1 if an error remains that prevents the file from being used.
    """
    _add_file(add, each_model=False)  # it lists the models


def gate(add: Adder) -> None:
    """Exit with 1 if predictions break a limit.

    calib gate predictions.csv --max tl_ece=0.03
    calib gate predictions.csv --max tl_ece=0.03 --strict --json
    calib gate predictions.csv --tolerance 2
    calib gate logits.npz --calibrator cal.json --max tl_ece=0.02 --min accuracy=0.9
    calib gate predictions.csv --min accuracy=0.8 --by class
    calib gate predictions.csv --max conf_ece=0.05 --by site --by age --cut age=30,50
    calib gate new.csv --baseline last_release.csv --markdown gate.md --junit gate.xml
    calib gate answers.csv --min pass_rate=0.9 --human human

    Exits with 1 if a limit is broken. A limit is kept or broken only if the whole interval of the metric,
    which allows for noise, keeps or breaks it. Otherwise it is undecided; --strict exits with 1 for that
    too. With --by, each limit is checked in each predicted class, or each group of a column. The interval
    of each of m checks misses with a chance of 5 %/m, so that a model that keeps all limits fails the
    gate in at most 5 % of runs. With --baseline, accuracy, Brier score and calibration error must not be
    worse than the baseline's: by pairs of rows with the same id, or by the two intervals if no ids match.
    With --human, pass_rate is the true rate of the judge's positive verdict, as `calib judge` estimates
    it.

    metrics: {metrics};
    with a calibrator file that holds a rule of `calib decide -o` also {ruled}
    """
    _add_file(add)
    add("--max METRIC=X ...", "largest value allowed")
    add("--min METRIC=X ...", "smallest value allowed")
    _add_tolerance(add)
    add("--baseline FILE", "predictions of the last release; fail if the new ones are worse")
    add("--verdict COLUMN ...", "with --human: a judge's class", default=None)
    add("--human COLUMN ...", "labels of people, blank if none, for the limit pass_rate", default=None)
    add("--strict", "exit with 1 also if a limit is undecided")
    add("--junit OUT.XML", "also write the checks as JUnit XML")
    add("--markdown OUT.MD", "also write the checks as a table in Markdown")
    add("--level", "coverage of all intervals together; default %(default)s", type=float, default=LEVEL)
    add("--by COLUMN ...", "class, or a further column: check each limit in each of its groups; repeatable")
    _add_cuts(add)
    _add_applied(add)
    _add_bins_and_redraws(add)


def decide(add: Adder) -> None:
    """Choose which predictions may pass without a person.

    calib decide test.csv --accuracy 0.99
    calib decide test.csv --accuracy 0.99 --by class --calibrator cal.json
    calib decide test.csv --accuracy 0.95 --by document_type --promise each
    calib decide test.csv --reviews 200
    calib decide test.csv --accuracy 0.95 --recall 0.8
    calib decide risks.csv --sensitivity 0.9 --false-positive-rate 0.3
    calib decide test.csv --cost 20 --json
    calib decide test.csv --costs costs.csv
    calib decide risks.csv --cost-column amount --action-cost 5

    --costs reads a table: a line for each class, its name first, and a column for each action, named in the
    first line. Each row of the file then gets the action with the smallest expected cost.
    --sensitivity, --precision and --false-positive-rate, alone or together, give a threshold on P(Y = 1).
    The rows must be new to the model and to its calibrator, or the guarantee does not hold.
    """
    _add_file(add)
    target = Adder(add.parser.add_mutually_exclusive_group())
    target("--accuracy X", "accuracy of accepted rows to promise", type=float)
    target("--reviews R", "largest share, or number, of rows left to a person", type=float)
    target("--cost C", "cost of an accepted wrong row, in reviews", type=float)
    target("--costs COSTS.CSV", "table of classes and actions with what each action costs")
    target("--cost-column COLUMN", "for P(Y = 1): cost of a missed event of each row, an amount")
    add("--action-cost X", "with --cost-column: cost of acting on a row; default 1", type=float, default=1.0)
    add("--sensitivity X", "at least this share of the events is acted on", type=float)
    add("--precision X", "at least this share of the rows acted on are events", type=float)
    rate = "at most this share of the rows without the event is acted on"
    add("--false-positive-rate X", rate, type=float)
    add("--recall X", "with --accuracy: least share of the right rows that is accepted", type=float)
    add("--by class|COLUMN", "one threshold for each predicted class, or value of a column")
    promise = "with --by: the accuracy holds for all classes or groups together (default), or for each"
    add("--promise", promise, choices=("overall", "each"), default="overall")
    add("--alpha", "the guarantee misses with this probability; default 0.1", type=float, default=0.1)
    _add_applied(add, seed=True)
    add("-o --output OUT.JSON", "write the calibrator with the rule in it, for `apply`")


def coarsen(add: Adder) -> None:
    """Answer each row at the finest level of a hierarchy of classes that keeps an accuracy.

    calib coarsen test.csv --tree taxonomy.csv
    calib coarsen test.csv --tree taxonomy.csv --accuracy 0.9 --calibrator cal.json -o levels.json
    calib apply levels.json new.csv -o answered.csv

    Probabilities are summed up the hierarchy. TREE.CSV has a column for each level, such as species, genus
    and family, and a line for each class, with its name in the first or the last column. Without --tree,
    class names are paths such as "Felidae;Felis;Felis catus". `apply` writes the level and the answer of each
    row. The rows must be new to the model and to its calibrator, or the promise does not hold.
    """
    _add_file(add)
    add("--tree TREE.CSV", "the levels of each class; default: class names are paths with ;")
    add("--accuracy X", "accuracy to promise at each level; default 0.95", type=float, default=0.95)
    add("--alpha", "the promise misses with this probability; default 0.1", type=float, default=0.1)
    _add_applied(add, seed=True)
    add("-o --output OUT.JSON", "write this calibrator with the levels in it")


def benefit(add: Adder) -> None:
    """Print the net benefit of acting on P(Y = 1) at several thresholds.

    calib benefit risks.csv --from 0.05 --to 0.35
    calib benefit risks.csv --from 0.05 --to 0.35 --step 0.01 --calibrator cal.json
    calib benefit new.csv --from 0.1 --to 0.3 --against old.csv --json

    Net benefit is TP / n - FP / n * t / (1 - t) at the threshold t, with an interval over rows or clusters.
    With --calibrator the difference is after calibration minus before; with --against it is from other
    scores of the same rows in the same order.
    """
    _add_file(add)
    add("--from T", "smallest threshold, in (0, 1)", dest="begin", type=_share, required=True)
    add("--to T", "largest threshold, in (0, 1)", type=_share, required=True)
    add("--step D", "distance of thresholds; default 0.05", type=_share, default=0.05)
    add("--against FILE", "also print the difference from these scores of the same rows")
    _add_applied(add, seed=True)


def judge(add: Adder) -> None:
    """Compare a judge's verdicts on all rows with people's labels of some rows.

    calib judge answers.csv
    calib judge answers.csv --verdict verdict --human human --confidence confidence --json
    calib judge answers.csv --verdict verdict --human anna --human ben --cluster question
    calib judge ratings.csv --verdict judge_score --human human_score --cut 4
    calib judge runs.csv --sample item_id --verdict judge --human human
    calib judge answers.csv --plan 100 -o label_these.csv

    Prints the true rate of each verdict, how often people agree with it by verdict and confidence, which
    verdicts may pass without a person, and with --plan which rows to label next. A row without a label is
    blank in the columns of --human. Columns are found by their names, or by a mostly empty column with the
    classes of a full one; the first line says which. Exports of promptfoo, Inspect, DeepEval and Langfuse are
    read as they are. A judge that was asked repeatedly has several columns of --verdict, or a line for each
    answer and --sample: the most frequent answer counts, and its share of the answers is the confidence.

    How were rows chosen to be labelled? At random, or by verdict or confidence: that shows in the rows. With
    known chances: give --weight. By anything else, such as a suspicion: say --chosen-by otherwise, and no
    rate is corrected.
    """
    add("file", "CSV, TSV, Parquet, Feather, NPZ or JSON", metavar="FILE")
    repeated = "the judge's class of every row; repeatable if it was asked repeatedly"
    add("--verdict COLUMN ...", repeated, default=None)
    people = "the class that a person gives, blank if nobody did; repeatable for several people"
    add("--human COLUMN ...", people, default=None)
    add("--cut X", "verdicts and labels that are scores: pass from X on", type=float)
    add("--sample COLUMN", "ids of rows that were judged repeatedly, one line each time")
    add("--confidence COLUMN", "the judge's confidence in its verdict, 0 to 1")
    add("--cluster COLUMN", "ids of rows that belong together, such as questions")
    add("--weight COLUMN", "1 / chance that the row was labelled")
    add("--only COLUMN=VALUE ...", ONLY, default=None)
    add("--labelled-by COLUMN", "who labelled the row; models are refused")
    ways = ("random", "verdict", "confidence", "otherwise")
    add("--chosen-by", "how rows were chosen to be labelled; default: tested", choices=ways)
    add("--accuracy X", "accuracy of what passes; default 0.9", type=float, default=0.9)
    add("--alpha", "intervals miss with this probability; default 0.05", type=float, default=0.05)
    add("--plan K", "also say which K rows to label next", action=ROWS)
    add("-o --output OUT.CSV", "with --plan: write these rows")
    _add_opening(add)
    _add_seed(add, "the rows of --plan")


def open(add: Adder) -> None:
    """Say what a project file holds.

    calib open my.calib
    calib open my.calib --json
    calib open my.calib --serve

    A project file is saved from the Data page of the app, or by `calib.Project.save`. Nothing in it is
    executed. --serve needs the extra of the app, as `calib app` does.
    """
    add("file", "a project file, by custom with the ending .calib", metavar="FILE")
    add("--serve", "serve the app with this project")


def app(add: Adder) -> None:
    """Serve the app on this machine.

    calib app
    calib app --port 8600 --browser
    calib app -- --server.baseUrlPath=calib

    Only this machine can reach the app, and your files stay on it. Options after -- go to `streamlit run`.
    To serve others, and for the environment variables that set limits, see docs/deploy.md.
    """
    add("--port N", "default: 8501, or the next free port", action=_whole(1, 65_535))
    add("--address NAME", "address to listen on; default: localhost")
    add("--browser", "open the app in the browser")
    add("streamlit", "options of `streamlit run`", nargs="*", metavar="-- OPTION")


def completion(add: Adder) -> None:
    """Print a script that completes commands.

    calib completion bash > ~/.local/share/bash-completion/completions/calib
    calib completion zsh > ~/.zfunc/_calib
    calib completion fish > ~/.config/fish/completions/calib.fish
    """
    add.parser.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh"))


def schema(add: Adder) -> None:
    """Print the JSON Schema of a command's --json.

    calib schema gate
    calib schema metrics > metrics.schema.json
    """
    adders = [each for group in COMMANDS.values() for each in group if each not in WITHOUT_JSON]
    names = [each.__name__ for each in adders]
    add("of", "command that has --json", metavar="COMMAND", choices=names)


def slices(add: Adder) -> None:
    """Find groups of rows that are miscalibrated beyond noise.

    calib slices predictions.csv --by site
    calib slices predictions.csv --by site --by age --cut age=30,50,70
    calib slices predictions.csv --by day --cut day=quarter --json

    A column is any further column of FILE. Its values are groups; numbers of more than 10 values are cut at
    their quartiles, dates by month. "Above noise" controls the false discovery rate over all groups.
    """
    _add_file(add)
    add("--by COLUMN ...", "column of the groups; repeatable", required=True, default=None)
    _add_cuts(add)
    add("--pairs", "also the groups of every two columns at once")
    add("--rows N", "most groups to print; default 20", action=ROWS, default=20)
    add("--fdr", "false discovery rate; default %(default)s", type=float, default=FDR)
    _add_applied(add)
    _add_bins_and_redraws(add)


def watch(add: Adder) -> None:
    """Look for miscalibration in rows as they come.

    calib watch model.watch.json monday.csv
    calib watch model.watch.json week-*.parquet --time scored_at --by site --tolerance 0.02
    calib watch model.watch.json new.csv --start evaluation.csv --json
    calib watch model.watch.json --acknowledge "refitted on 5 May"

    Adds the files to STATE, which the first call makes. After an alarm it exits with 1 until the alarm is
    acknowledged. Without FILE, it shows STATE. However often you look and however long it runs, the chance
    of a false alarm is at most --alpha for each count. Pass each row once, when it has its label, in the
    order of time. Nothing is written if a file cannot be used.
    """
    add("state", "JSON file with the state of the monitor", metavar="STATE")
    add("files", "labelled rows to add, in order of time", nargs="*", metavar="FILE")
    _add_reading(add)
    note = "keep NOTE in STATE and begin a new count, before the rows of FILE; the same NOTE works once"
    add("--acknowledge NOTE", note)
    add("--time COLUMN", "column of times; default: the order of the rows")
    batch = "id of the rows of one FILE, which are added once; default: the file's name and the time of this "
    add("--batch ID", batch + "call")
    new = "for a new STATE: "
    add("--notion", f"{new}default top-label", choices=("top-label", "confidence", "class-wise"))
    add("--by COLUMN", f"{new}also look at each group of this column")
    add("--tolerance X", f"{new}largest gap that counts as calibrated; default 0", type=float)
    add("--alpha", f"{new}chance of ever raising a false alarm; default 0.05", type=float)
    start = "for a new STATE or count: look for changes since these rows, not for miscalibration"
    add("--start FILE", start)


def report(add: Adder) -> None:
    """Write one self-contained HTML page.

    calib report predictions.csv -o report.html
    calib report predictions.csv --split 0.5 -o report.html
    calib report logits.npz --calibrator cal.json -o report.html

    The page needs no network and no server. It describes the evaluation rows. If the file names calibration
    rows, or --split sets a share of its rows aside for calibration, {methods} are
    fitted and compared; --calibrator adds more. The page states versions, seeds and this command.
    """
    _add_file(add)
    add("-o --output OUT.HTML", "page to write", required=True)
    add("--calibrator CAL.JSON ...", "compare it, too; repeatable")
    add("--split SHARE", "share of the rows to fit calibrators on", type=_share)
    add("--points-per-bin K", "rows per bin; default 50", action=ROWS, default=50)
    _add_bins_and_redraws(add)


def lesson(add: Adder) -> None:
    """Write a lesson of 15 minutes on calibration as one HTML page.

    calib lesson -o lesson.html
    calib lesson --data predictions.csv -o lesson.html
    calib lesson --handout -o handout.html

    The page needs no network and no server: three chapters with pictures that move, and six exercises.
    --data adds the bin of your own predictions whose classes are most off. --handout writes the teacher's
    notes instead, two pages to print.
    """
    add("-o --output OUT.HTML", "page to write", required=True)
    own = "your predictions: CSV, TSV, Parquet, Feather, NPY, NPZ or JSON"
    add("--data FILE", own, dest="file")
    add("--handout", "write the teacher's notes")
    _add_reading(add)


def tables(add: Adder) -> None:
    """Compare models, each with several calibrators.

    calib tables resnet.csv densenet.csv
    calib tables resnet.npz densenet.npz --methods TS,TL-HB,spline -o tables.tex
    calib tables a.csv b.csv --split 0.3 -o tables.csv --json

    Each FILE holds the predictions of one model, or of several, for the same rows. Rows are matched by id, or
    by position if there are no ids; classes are matched by name. Calibrators are fitted on the calibration
    rows that the files name. If they name none, all files are split in the same way. The ending of OUT
    chooses CSV, Markdown or LaTeX.

    methods: {methods}; and {binary}
    """
    add("files", PREDICTIONS, nargs="+", metavar="FILE")
    _add_reading(add)
    add("--methods A,B,...", "calibrators; default: as in the paper's tables")
    add("-o --output OUT", "table to write: .csv, .md or .tex; of --sweep: .csv or .html")
    add("--split SHARE", "share to fit on; default 0.5", type=_share, default=0.5)
    add("--sweep", "errors for 5 to 25 bins instead of the table")
    _add_bins_and_redraws(add)


def summarize(add: Adder) -> None:
    """Summarize files of any size.

    calib summarize 'data/*.parquet' -o run.calib.json.gz
    calib summarize data/ --by site --class-wise -o run.calib.json.gz
    calib summarize 'data/*.parquet' --scheduler tcp://10.0.0.5:8786 -o run.calib.json.gz

    Reads files of any size batch by batch. The summary has sums from which errors, diagrams, noise floors
    and tables in up to 50 equal-width bins follow exactly. The app, metrics, gate, slices and report read it.
    """
    add("files", PATHS, nargs="+", metavar="FILE")
    add("-o --output OUT", "summary to write, such as run.calib.json.gz", required=True)
    add("--by COLUMN ...", "also sum its groups; repeatable")
    add("--class-wise", "also sum the scores of every class")
    add("--class-names A,B,...", "names of the classes, if the columns have none")
    add("--drop", "leave out rows that cannot be used, and list their places")
    parts = ("evaluation", "calibration")
    add("--part", "rows to use, if a column says which are which", choices=parts, default=parts[0])
    _add_columns(add)
    _add_workers(add)
    _add_bins(add)


def merge(add: Adder) -> None:
    """Add up summaries.

    calib merge monday.calib.json.gz tuesday.calib.json.gz -o week.calib.json.gz

    Refuses summaries that cover the same part of the data.
    """
    add("files", "summaries that `summarize` wrote", nargs="+", metavar="FILE")
    add("-o --output OUT", "summary to write", required=True)
    _add_bins(add)


def sql(add: Adder) -> None:
    """Print the query that sums a table in a warehouse.

    calib sql --dialect bigquery --table shop.predictions > sums.sql
    calib sql --dialect duckdb --result sums.csv -o run.calib.json.gz

    Prints one GROUP BY for a table with a predicted class, its confidence and the true class. Run it where
    the table is, save the result as CSV or Parquet, and turn it into a summary with --result.
    """
    dialect = add("--dialect", "SQL dialect of the warehouse", type=str, required=True)
    dialect.choices = _Later(lambda: import_module("calib.scale.warehouse").DIALECTS)
    named = "name of the table; default predictions. Names are not quoted"
    add("--table", named, type=str, default="predictions")
    add("--predicted COLUMN", "predicted class; default predicted", default="predicted")
    add("--confidence COLUMN", "its confidence; default confidence", default="confidence")
    add("--label COLUMN", "true class; default label", default="label")
    add("--result FILE", "result of the query, to make a summary of")
    add("-o --output OUT", "with --result: summary to write")
    _add_bins(add)


def centres(add: Adder) -> None:
    """Compare the calibration of P(Y = 1) over centres.

    calib centres predictions.csv --by hospital

    O/E, in the large and slope of each centre, such as a hospital or a study. For 5 centres or more also
    their mean, their spread and the range in a new centre.
    """
    _add_file(add)
    add("--by COLUMN", "column of the centres", required=True)
    _add_applied(add)


#: Functions that add the options of a command, by the module of the command that they are named after.
COMMANDS: dict[str, tuple[Callable[[Adder], None], ...]] = {
    "commands": (
        *(metrics, fit, recommend, apply, gate, decide),
        *(benefit, slices, centres, report, tables, open),
    ),
    "judging": (judge, coarsen),
    "light": (lesson, check, app, completion),
    "watching": (watch,),
    "files_at_scale": (summarize, merge, sql),
    "schemas": (schema,),
}
#: The functions of commands that print no JSON.
WITHOUT_JSON = (app, completion, schema)


def names_in_help(command: str) -> dict[str, str]:
    """Return the names that the help of a command lists. Their modules take a second to import."""
    if command == "gate":
        from calib.stats.measures import MEASURES, RULED

        return {"metrics": ", ".join(MEASURES), "ruled": " and ".join(RULED)}
    from calib.calibrators.catalogue import METHODS, REPORTED, named_methods

    if command == "report":
        return {"methods": " and ".join([", ".join(REPORTED[:-1]), REPORTED[-1]])}
    return {"methods": ", ".join(named_methods()), "binary": ", ".join(METHODS)}


def _add_file(add: Adder, *, each_model: bool = True) -> None:
    add("file", "CSV, TSV, Parquet, Feather, NPY, NPZ or JSON", metavar="FILE")
    _add_reading(add)
    if each_model:
        add("--each-model", "run for every model of the file; output files are named after the models")


def _add_reading(add: Adder) -> None:
    add("--labels FILE", "true labels, if FILE has none")
    _add_opening(add)
    none = "a predicted value that means no answer; repeatable; default: IDK, an empty cell and the like"
    add("--abstention VALUE ...", none, default=None)
    add("--part NAME", "rows to use: calibration, evaluation or a value of the split column")
    add("--fix CODES", "comma-separated codes of fixes to apply, see `check`", default="")
    _add_columns(add)


def _add_opening(add: Adder) -> None:
    add("--format NAME", "format of FILE; default: recognised from the file")
    seconds = "refuse a file that takes longer to read; default: no limit"
    add("--time-limit SECONDS", seconds, type=float, default=math.inf)


def _add_columns(add: Adder) -> None:
    add("--unweighted", "count every row once, even if there is a column of weights")
    add("--independent", "count each row alone, even if a column of clusters is found or a test suspects one")
    add("--scores", "scale of the scores; default: recognised from names", choices=SCALES, default="auto")
    add = Adder(add.parser.add_argument_group("columns", "recognised by default; `check` prints them"))
    add("--label COLUMN", "the true class")
    add("--predicted COLUMN", "the predicted class")
    add("--correct COLUMN", "whether the prediction is right")
    add("--weight COLUMN", "weights of rows")
    add("--id COLUMN", "ids of rows")
    cluster = (
        "column of clusters, such as patients; or a block of time: month, week, day or hour of the column "
    )
    add("--cluster COLUMN", f"{cluster}of dates, or COLUMN=day")
    add("--group COLUMN", "groups of rows")
    add("--fold COLUMN", "folds of a cross-validation")
    add(
        "--score COLUMN ...",
        "the score; for all classes, repeat it in their order or give a pattern such as 'p_*'",
    )
    votes = "votes in place of a label: a column of an annotator, or of counts or shares for a class; "
    add("--votes COLUMN ...", f"{votes}repeatable, or a pattern such as 'votes_*'")
    answers = (
        "repeated answers to a question: the share that agrees is the confidence, --label has the accepted "
        "answers; repeatable, or a pattern, or with --cluster QUESTION if each answer has a line"
    )
    add("--sample COLUMN ...", answers)
    add("--only COLUMN=VALUE ...", ONLY)
    add("--drop-label VALUE ...", "leave out rows with this label, such as CANCEL; repeatable")
    add("--model NAME", "the model to read, if the file holds several")
    add("--words TABLE", "probabilities of a confidence in words: high=0.9,low=0.3")
    add(
        "--positive CLASS",
        "class whose probability the score is; of multilabel scores, the only class to use",
    )


def _add_cuts(add: Adder) -> None:
    at = "edges such as age=30,50; a number of groups such as age==4; of dates year, quarter, month, week, "
    add("--cut COLUMN=AT ...", f"{at}day, weekday or hour")


def _add_bins(add: Adder, name: str = "n_bins") -> None:
    add("--bins B", "equal-width bins; default %(default)s", dest=name, action=BINS, default=N_BINS)


def _add_bins_and_redraws(add: Adder) -> None:
    _add_bins(add)
    redraws: Any = {"dest": "n_resamples", "action": _whole(0, 1_000_000), "default": N_RESAMPLES}
    add("--resamples R", "redraws of the noise floor; 0 for none", **redraws)
    _add_seed(add, "the redraws")


def _add_tolerance(add: Adder) -> None:
    add("--tolerance POINTS", "percentage points that scores may be off in any range, such as 2", type=float)


def _add_seed(add: Adder, of: str) -> None:
    number: Any = {"dest": "random_state", "action": _whole(0, 2**32 - 1), "default": RANDOM_STATE}
    add("--seed", f"seed of {of}; default %(default)s", **number)


def _add_applied(add: Adder, *, seed: bool = False) -> None:
    add("--calibrator CAL.JSON", "apply this calibrator first")
    _add_split(add)
    if seed:
        _add_seed(add, "the split")


def _add_split(add: Adder) -> None:
    words = "use only the rows that `fit --split SHARE` with this --seed leaves for evaluation"
    add("--split SHARE", words, type=_share)


def _add_workers(add: Adder, topic: str = "") -> None:
    add("--workers N", f"{topic}parts at a time; default: one per processor", action=_whole(1, 10_000))
    add("--scheduler ADDRESS", f"{topic}a Dask scheduler, tcp://..., or local to start one here")


def _share(text: str) -> float:
    share = float(text)
    if not 0.0 < share <= 1.0:
        raise argparse.ArgumentTypeError(f"expected a share above 0 and at most 1; got {text}")
    return share


def _ridge(text: str) -> float | str:
    from calib.calibrators.softmax_fit import CROSS_VALIDATED

    if text == CROSS_VALIDATED:
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'expected a number or "{CROSS_VALIDATED}"; got {text!r}') from None
