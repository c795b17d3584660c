"""Command line: ``calib COMMAND FILE``; `--help` of each command shows examples."""

from __future__ import annotations

import argparse
import json
import math
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

from calib.base.exceptions import InputError
from calib.base.version import __version__
from calib.cli.input import Failure, FailureData, check_files, check_numbers, is_of_many, run_command
from calib.cli.json_data import as_json
from calib.cli.streams import is_piped, options_of, read_piped, show
from calib.data.defaults import FDR, LEVEL, N_BINS, N_RESAMPLES, RANDOM_STATE
from calib.data.notions import NOTIONS
from calib.files.readers.raw_predictions import SCALES, RemedyError
from calib.files.readers.roles import ChoiceError, models_in

#: The option for an argument of the library, to name it in errors that it remedies.
OPTION_OF = {"fix": "--fix", "scores": "--scores", "split": "--part"}

PROGRAM = "calib"

#: Commands that are not in `calib.cli.commands`, by module. A module is imported when its command is run.
MODULES = {
    "light": ("check", "app", "completion"),
    "files_at_scale": ("summarize", "merge", "sql"),
    "watching": ("watch",),
    "schemas": ("schema",),
}
#: Characters of the longest message: class names and values of a file may be long.
LONGEST = 2_000

EXIT_CODES = """\
exit codes:
  0  done
  1  a check failed (check, gate)
  2  the options or a file cannot be used; one sentence on stderr says why
  3  internal error: a fault of calib
130  stopped by Ctrl-C
With --json, an error is also an object on stdout: {"error": {"kind", "message", "exit_code"}}.

In place of a file, - means standard input or output; with -o - the rest is printed on stderr.
"""

METRICS = """\
examples:
  calib metrics predictions.csv
  calib metrics logits.npz --bins 20 --json
  calib metrics predictions.parquet --calibrator cal.json
  calib metrics predictions.csv --calibrator cal.json --split 0.5 --seed 0

A file that names calibration and evaluation rows (a column 'split', or arrays such as val_logits and
test_logits) is assessed on its evaluation rows, any other file on all its rows. If `fit` divided the
file, pass the same --split and --seed to assess only the rows that `fit` did not use.

"""

FIT = """\
examples:
  calib fit predictions.csv --points-per-bin 50 -o cal.json
  calib fit logits.npz --notion class-wise --normalize --n-bins 15 -o n-hb.json
  calib fit val.csv --evaluate test.csv --method temperature -o ts.json
  calib fit logits.npz --method dirichlet --l2 cv -o ds.json
  calib fit val.csv --by class,site --fallback pooled -o sites.json

Fits on the calibration rows and compares before and after on the evaluation rows. A file that names no
calibration rows is divided at random, stratified by label: the share --split is for fitting, the rest
for comparing. --split 1 fits on all rows and compares nothing. The same --seed divides in the same way.
--by site fits a calibrator for each site that the column names, --by class,site for each class of each site;
`apply` finds the column again by its values.

A folder or a quoted pattern such as 'data/*.parquet' is read batch by batch, whatever its size: histogram
binning, temperature and vector scaling are fitted on the calibration rows, or on all rows if none are named.

"""

APPLY = """\
examples:
  calib apply cal.json new.csv -o calibrated.csv
  calib apply cal.json new.parquet -o calibrated.parquet --json
  calib apply cal.json new.csv --label-shift em --calibration labelled.csv -o calibrated.csv
  calib apply cal.json new.csv --training-shares fraud=0.5 --target-shares fraud=0.01 -o calibrated.csv
  gunzip -c new.csv.gz | calib apply cal.json - -o - | head

Named columns are put in the calibrator's order of classes; labels are not needed.

A folder or a quoted pattern such as 'data/*.parquet' is read and written batch by batch, whatever its size:
OUT is then a folder, rows keep their order and all columns, and files that are finished are not done again.

"""

CHECK = """\
examples:
  calib check predictions.csv
  calib check predictions.csv --fix percent,labels_one_based
  calib metrics predictions.csv --fix percent,labels_one_based

Exits with 1 if an error remains that prevents the file from being used.

"""

GATE = """\
examples:
  calib gate predictions.csv --max tl_ece=0.03
  calib gate predictions.csv --max tl_ece=0.03 --strict --json
  calib gate logits.npz --calibrator cal.json --max tl_ece=0.02 --min accuracy=0.9
  calib gate predictions.csv --min accuracy=0.8 --by class
  calib gate predictions.csv --max conf_ece=0.05 --by site --by age --cut age=30,50
  calib gate new.csv --baseline last_release.csv --markdown gate.md --junit gate.xml

Exits with 1 if a limit is broken. A limit is kept or broken only if the whole interval of the metric,
which allows for noise, keeps or breaks it. Otherwise it is undecided; --strict exits with 1 for that too.
With --by, each limit is checked in each predicted class, or each group of a column; the intervals of G
groups miss with a chance of 5 %/G each, so that limits kept everywhere fail the gate in at most 5 % of runs.
With --baseline, accuracy, Brier score and calibration error must not be worse than the baseline's: by pairs
of rows with the same id, or by the two intervals if no ids match.

metrics: {metrics};
with a calibrator file that holds a rule of `calib decide -o` also {ruled}

"""

RECOMMEND = """\
examples:
  calib recommend predictions.csv
  calib recommend logits.npz -o cal.json
  calib recommend val.csv --split 1 --loss log_loss --json

Tries the calibrators of the catalogue in five folds of the calibration rows; the evaluation rows are not
used. A file that names no calibration rows is divided as `fit` does: the share --split is for calibration.
The answer is "none" if no calibrator is distinguishably better than the unchanged scores.

"""


DECIDE = """\
examples:
  calib decide test.csv --accuracy 0.99
  calib decide test.csv --accuracy 0.99 --by class --calibrator cal.json
  calib decide test.csv --reviews 200
  calib decide test.csv --accuracy 0.95 --recall 0.8
  calib decide test.csv --cost 20 --json
  calib decide test.csv --costs costs.csv

--costs reads a table: a line for each class, its name first, and a column for each action, named in the
first line. Each row of the file then gets the action with the smallest expected cost.
The rows must be new to the model and to its calibrator, or the guarantee does not hold.

"""

APP = """\
examples:
  calib app
  calib app --port 8600 --browser
  calib app -- --server.baseUrlPath=calib

Only this machine can reach the app, and your files stay on it. Options after -- go to `streamlit run`. To
serve others, and for the environment variables that set limits, see docs/deploy.md.

"""

COMPLETION = """\
examples:
  calib completion bash > ~/.local/share/bash-completion/completions/calib
  calib completion zsh > ~/.zfunc/_calib
  calib completion fish > ~/.config/fish/completions/calib.fish

"""

SCHEMA = """\
examples:
  calib schema gate
  calib schema metrics > metrics.schema.json

"""

OPEN = """\
examples:
  calib open my.calib
  calib open my.calib --json
  calib open my.calib --serve

A project file is saved from the Data page of the app, or by `calib.Project.save`. Nothing in it is
executed. --serve needs the extra of the app, as `calib app` does.

"""

SLICES = """\
examples:
  calib slices predictions.csv --by site
  calib slices predictions.csv --by site --by age --cut age=30,50,70
  calib slices predictions.csv --by day --cut day=quarter --json

A column is any further column of FILE. Its values are groups; numbers of more than 10 values are cut at
their quartiles, dates by month. "Above noise" controls the false discovery rate over all groups.

"""

WATCH = """\
examples:
  calib watch model.watch.json monday.csv
  calib watch model.watch.json week-*.parquet --time scored_at --by site --tolerance 0.02
  calib watch model.watch.json new.csv --start evaluation.csv --json

Adds the files to STATE, which the first call makes, and exits with 1 if there has ever been an alarm. However
often you look and however long it runs, the chance of a false alarm is at most --alpha. Pass each row once,
when it has its label, in the order of time. Nothing is written if a file cannot be used.

"""

REPORT = """\
examples:
  calib report predictions.csv -o report.html
  calib report predictions.csv --split 0.5 -o report.html
  calib report logits.npz --calibrator cal.json -o report.html

The page needs no network and no server. It describes the evaluation rows. If the file names calibration
rows, or --split sets a share of its rows aside for calibration, {methods} are
fitted and compared; --calibrator adds more. The page states versions, seeds and this command.

"""


TABLES = """\
examples:
  calib tables resnet.csv densenet.csv
  calib tables resnet.npz densenet.npz --methods TS,TL-HB,spline -o tables.tex
  calib tables a.csv b.csv --split 0.3 -o tables.csv --json

Every FILE is a model, named after the file, on the same rows: matched by id, or in the same order; classes in
another order are matched by name. Files name their calibration rows, or all are split in the same way.
OUT is CSV, Markdown or LaTeX by its ending.

methods: {methods}; and {binary}

"""

SUMMARIZE = """\
examples:
  calib summarize 'data/*.parquet' -o run.calib.json.gz
  calib summarize data/ --by site --class-wise -o run.calib.json.gz
  calib summarize 'data/*.parquet' --scheduler tcp://10.0.0.5:8786 -o run.calib.json.gz

Reads files of any size batch by batch. The summary has sums from which errors, diagrams, noise floors and
tables in up to 50 equal-width bins follow exactly. The app, metrics, gate, slices and report read it.

"""

MERGE = """\
examples:
  calib merge monday.calib.json.gz tuesday.calib.json.gz -o week.calib.json.gz

Refuses summaries that cover the same part of the data.

"""


SQL = """\
examples:
  calib sql --dialect bigquery --table shop.predictions > sums.sql
  calib sql --dialect duckdb --result sums.csv -o run.calib.json.gz

Prints one GROUP BY for a table with a predicted class, its confidence and the true class. Run it where the
table is, save the result as CSV or Parquet, and turn it into a summary with --result.

"""


class _Usage(SystemExit):
    def __init__(self, program: str, message: str) -> None:
        super().__init__(2)
        self.program, self.message = program, message


class _Parser(argparse.ArgumentParser):
    """A parser whose errors can be reported as JSON, and whose help may be cut off by `| head`."""

    #: The parser of each command.
    commands: Mapping[str, argparse.ArgumentParser]
    #: Shown below the options, before the exit codes.
    examples: str | Callable[[], str] = ""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        raise _Usage(self.prog, message)

    def format_help(self) -> str:
        self.epilog = (self.examples() if callable(self.examples) else self.examples) + EXIT_CODES
        return super().format_help()

    def _print_message(self, message: str, file: Any = None) -> None:
        show(message.rstrip("\n"), sys.stderr if file is None else file)


def main(arguments: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if arguments is None else list(arguments)
    program = PROGRAM

    def report(kind: str, message: str, code: int) -> int:
        sentence = _one_line(message)
        show(f"{program}: {sentence}", sys.stderr)
        if "--json" in words and kind != "output":
            show(json.dumps(as_json(FailureData(Failure(kind, sentence, code))), indent=1), sys.stdout)
        return code

    try:
        everything = parser()
        options = everything.parse_args(words)
        options.parser = everything
        program = f"{PROGRAM} {options.command}"
        options.arguments = words[1:]
        check_numbers(options)
        check_files(options)
        read_piped(options)
        with warnings.catch_warnings():
            warnings.showwarning = _say_warning
            module = import_module(f"calib.cli.{_module_of(options)}")
            output = run_command(getattr(module, options.command), options)
        wants_json = getattr(options, "json", False)
        text = json.dumps(as_json(output.data), indent=1, allow_nan=False) if wants_json else output.text
    except _Usage as error:
        program = error.program
        report("usage", f"error: {error.message}", 2)
        raise
    except RemedyError as error:
        remedy = f"add {OPTION_OF[error.argument]} {error.value}, or see what `check` lists"
        return report("input", f"{error.fact}; {remedy}", 2)
    except ChoiceError as error:
        each = " or --each-model" if models_in(error.choices) and hasattr(options, "each_model") else ""
        return report("input", f"{error.fact}; add {options_of(error.choices)}{each}", 2)
    except InputError as error:
        return report("input", str(error), 2)
    except OSError as error:
        has_file = error.filename is not None and error.strerror is not None
        return report("input", f"{error.filename}: {error.strerror}" if has_file else str(error), 2)
    except MemoryError as error:
        return report("input", f"there is not enough memory for this: {error}", 2)
    except KeyboardInterrupt:
        return report("stopped", "stopped", 130)
    except Exception as error:
        traceback.print_exc()
        message = (
            f"internal error: {type(error).__name__}: {error}. This is a fault of calib: please report it"
        )
        return report("internal", f"{message} with the lines above", 3)
    if not text:
        return output.code
    stream = sys.stderr if is_piped(getattr(options, "output", None)) else sys.stdout
    unwritten = show(text, stream)
    return output.code if unwritten is None else report("output", f"not printed: {unwritten.strerror}", 2)


def _module_of(options: argparse.Namespace) -> str:
    if options.command in ("fit", "apply"):
        spread = getattr(options, "scheduler", None) or getattr(options, "workers", None)
        return "commands" if spread is None and not is_of_many(options.file) else "files_at_scale"
    return next((module for module, names in MODULES.items() if options.command in names), "commands")


class _Later:
    """Choices of an option, looked up in a table when needed: its module takes a second to import."""

    def __init__(self, module: str, table: str) -> None:
        self.module, self.table = module, table

    def __iter__(self) -> Iterator[str]:
        return iter(getattr(import_module(self.module), self.table))

    def __contains__(self, name: object) -> bool:
        return name in tuple(self)


def _gate_examples() -> str:
    from calib.stats.measures import MEASURES, RULED

    return GATE.format(metrics=", ".join(MEASURES), ruled=" and ".join(RULED))


def _report_examples() -> str:
    from calib.calibrators.catalogue import REPORTED

    return REPORT.format(methods=" and ".join([", ".join(REPORTED[:-1]), REPORTED[-1]]))


def _tables_examples() -> str:
    from calib.calibrators.catalogue import METHODS, named_methods

    return TABLES.format(methods=", ".join(named_methods()), binary=", ".join(METHODS))


def parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog=PROGRAM,
        description="Calibration of classifiers: metrics, calibrators and checks.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"calib {__version__}")
    commands_ = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    metrics = _command(commands_, "metrics", "print calibration errors and scores of predictions", METRICS)
    _add_file(metrics)
    metrics.add_argument("--calibrator", metavar="CAL.JSON", help="also assess the file with this calibrator")
    _add_bins(metrics)
    _add_noise(metrics)
    _add_split(metrics)

    fit = _command(commands_, "fit", "fit a calibrator and write its file", FIT)
    _add_file(fit)
    add = fit.add_argument
    add("--evaluate", metavar="FILE", help="compare before and after on the rows of this file")
    add("-o", "--output", required=True, metavar="CAL.JSON", help="calibrator file to write")
    method = add("--method", default="histogram", help="default: histogram")
    method.choices = _Later("calib.calibrators.catalogue", "METHODS")
    add("--notion", choices=NOTIONS, help="default: top-label")
    add("--points-per-bin", type=int, metavar="K", help="histogram: rows per bin; default 50")
    add("--n-bins", type=int, metavar="B", help="histogram: bins per binary problem, instead of K")
    add("--ties", choices=("group", "randomize"), help="histogram: how to bin equal scores; default group")
    add("--top-k", type=int, metavar="K", help="ranks of the top-k notions")
    add("--normalize", action="store_true", help="class-wise: divide each row by its sum")
    fallbacks = ("identity", "pooled", "shrink")
    add("--fallback", choices=fallbacks, help="for classes with too few rows; default identity")
    add(
        "--by",
        metavar="[class,]COLUMN",
        help="a calibrator for each group in COLUMN, or for each class and group",
    )
    add("--complete", action="store_true", help="spread 1 - confidence over the other classes")
    add(
        "--l2", type=_ridge, metavar="X|cv", help="vector, dirichlet: weight of the ridge, or cv to choose it"
    )
    add("--off-diagonal", type=_ridge, metavar="X|cv", help="dirichlet: weight of ODIR, or cv to choose it")
    add("--split", type=_share, default=0.5, metavar="SHARE", help="share to fit on; default 0.5")
    add("--seed", type=int, default=RANDOM_STATE, help="seed of the fit and the split; default %(default)s")
    _add_workers(fit, "Parquet and Feather files of any size: ")
    _add_bins(fit)

    recommend = _command(commands_, "recommend", "recommend one calibrator by cross-validation", RECOMMEND)
    _add_file(recommend)
    add = recommend.add_argument
    add("-o", "--output", metavar="CAL.JSON", help="also write the recommended calibrator, if there is one")
    add("--loss", choices=("brier", "log_loss"), default="brier", help="loss that decides; default brier")
    add("--split", type=_share, default=0.5, metavar="SHARE", help="share for calibration; default 0.5")
    add("--seed", type=int, default=RANDOM_STATE, help="seed of the folds and the split; default %(default)s")

    apply = _command(commands_, "apply", "calibrate new predictions with a calibrator file", APPLY)
    apply.add_argument("calibrator", metavar="CAL.JSON")
    _add_file(apply)
    apply.add_argument("-o", "--output", required=True, metavar="OUT", help="output: .csv or .parquet, or -")
    apply.add_argument(
        "--output-format", choices=("csv", "parquet"), help="default: by the ending of OUT, csv for -"
    )
    apply.add_argument(
        "--label-shift",
        choices=("em", "bbse"),
        help="correct for other class shares than in --calibration; assumes rows of each class look alike",
    )
    apply.add_argument(
        "--calibration", metavar="FILE", help="labelled rows with the class shares before the shift"
    )
    for name, whose in (
        ("target", "of the new rows, if known"),
        ("training", "that the model was trained on"),
    ):
        words = f"class shares {whose}, such as fraud=0.01; one class may be left out"
        apply.add_argument(f"--{name}-shares", action="append", metavar="CLASS=X", help=words)
    apply.add_argument("--save", metavar="CAL.JSON", help="also write the calibrator with its correction")

    check = _command(commands_, "check", "list the problems of a file and the fixes for them", CHECK)
    _add_file(check)

    gate = _command(commands_, "gate", "exit with 1 if predictions break a limit", _gate_examples)
    _add_file(gate)
    add = gate.add_argument
    add("--max", action="append", default=[], metavar="METRIC=X", help="largest value allowed")
    add("--min", action="append", default=[], metavar="METRIC=X", help="smallest value allowed")
    add("--baseline", metavar="FILE", help="predictions of the last release; fail if the new ones are worse")
    add("--strict", action="store_true", help="exit with 1 also if a limit is undecided")
    add("--junit", metavar="OUT.XML", help="also write the checks as JUnit XML")
    add("--markdown", metavar="OUT.MD", help="also write the checks as a table in Markdown")
    add("--level", type=float, default=LEVEL, help="coverage of the intervals; default %(default)s")
    by = "class, or a further column: check each limit in each of its groups; repeatable"
    add("--by", action="append", default=[], metavar="COLUMN", help=by)
    _add_cuts(gate)
    add("--calibrator", metavar="CAL.JSON", help="apply this calibrator first")
    _add_bins(gate)
    _add_noise(gate)
    _add_split(gate)

    decide = _command(commands_, "decide", "choose which predictions may pass without a person", DECIDE)
    _add_file(decide)
    target = decide.add_mutually_exclusive_group(required=True)
    target.add_argument("--accuracy", type=float, metavar="X", help="accuracy of accepted rows to promise")
    target.add_argument(
        "--reviews", type=float, metavar="R", help="largest share, or number, of rows left to a person"
    )
    target.add_argument("--cost", type=float, metavar="C", help="cost of an accepted wrong row, in reviews")
    words = "table of classes and actions with what each action costs"
    target.add_argument("--costs", metavar="COSTS.CSV", help=words)
    add = decide.add_argument
    words = "with --accuracy: least share of the right rows that is accepted"
    add("--recall", type=float, metavar="X", help=words)
    add("--by", choices=("class",), help="one threshold for each predicted class")
    words = "with --by class: the accuracy holds for all classes together (default), or for each"
    add("--promise", choices=("overall", "each"), default="overall", help=words)
    add("--alpha", type=float, default=0.1, help="the guarantee misses with this probability; default 0.1")
    add("--calibrator", metavar="CAL.JSON", help="apply this calibrator first")
    add("-o", "--output", metavar="OUT.JSON", help="write this calibrator with the rule in it")
    _add_split(decide)

    open_ = _command(commands_, "open", "say what a project file holds", OPEN)
    open_.add_argument("file", metavar="FILE", help="a project file, by custom with the ending .calib")
    open_.add_argument("--serve", action="store_true", help="serve the app with this project")

    app = _command(commands_, "app", "serve the app on this machine", APP, data=False)
    app.add_argument("--port", type=int, metavar="N", help="default: 8501, or the next free port")
    app.add_argument("--address", metavar="NAME", help="address to listen on; default: localhost")
    app.add_argument("--browser", action="store_true", help="open the app in the browser")
    app.add_argument("streamlit", nargs="*", metavar="-- OPTION", help="options of `streamlit run`")

    completion = _command(
        commands_, "completion", "print a script that completes commands", COMPLETION, data=False
    )
    completion.add_argument("shell", choices=("bash", "zsh", "fish", "tcsh"))

    schema = _command(commands_, "schema", "print the JSON Schema of a command's --json", SCHEMA, data=False)
    of = schema.add_argument("of", metavar="COMMAND", help="command that has --json")

    slices = _command(commands_, "slices", "find groups of rows that are miscalibrated beyond noise", SLICES)
    _add_file(slices)
    add = slices.add_argument
    add("--by", action="append", required=True, metavar="COLUMN", help="column of the groups; repeatable")
    _add_cuts(slices)
    add("--pairs", action="store_true", help="also the groups of every two columns at once")
    add("--rows", type=int, default=20, metavar="N", help="most groups to print; default 20")
    add("--fdr", type=float, default=FDR, help="false discovery rate; default %(default)s")
    add("--calibrator", metavar="CAL.JSON", help="apply this calibrator first")
    _add_bins(slices)
    _add_noise(slices)
    _add_split(slices)

    watch = _command(commands_, "watch", "look for miscalibration in rows as they come", WATCH)
    watch.add_argument("state", metavar="STATE", help="JSON file with the state of the monitor")
    watch.add_argument("files", nargs="+", metavar="FILE", help="labelled rows to add, in order of time")
    _add_reading(watch)
    add = watch.add_argument
    add("--time", metavar="COLUMN", help="column of times; default: the order of the rows")
    new = "for a new STATE: "
    add("--notion", choices=("top-label", "confidence", "class-wise"), help=f"{new}default top-label")
    add("--by", metavar="COLUMN", help=f"{new}also look at each group of this column")
    add("--tolerance", type=float, metavar="X", help=f"{new}gap that counts as calibrated; default 0")
    add("--alpha", type=float, help=f"{new}chance of ever raising a false alarm; default 0.05")
    add("--start", metavar="FILE", help=f"{new}look for changes since these rows, not for miscalibration")

    report = _command(commands_, "report", "write one self-contained HTML page", _report_examples)
    _add_file(report)
    add = report.add_argument
    add("-o", "--output", required=True, metavar="OUT.HTML", help="page to write")
    add("--calibrator", action="append", default=[], metavar="CAL.JSON", help="compare it, too; repeatable")
    add("--split", type=_share, metavar="SHARE", help="share of the rows to fit calibrators on")
    add("--points-per-bin", type=int, default=50, metavar="K", help="rows per bin; default 50")
    _add_bins(report)
    _add_noise(report)

    tables = _command(commands_, "tables", "compare models, each with several calibrators", _tables_examples)
    _add_paths(tables, "predictions of one or several models: CSV, TSV, Parquet, Feather, NPY, NPZ or JSON")
    _add_reading(tables)
    add = tables.add_argument
    add("--methods", metavar="A,B,...", help="calibrators; default: as in the paper's tables")
    add("-o", "--output", metavar="OUT", help="table to write: .csv, .md or .tex; of --sweep: .csv or .html")
    add("--split", type=_share, default=0.5, metavar="SHARE", help="share to fit on; default 0.5")
    add("--sweep", action="store_true", help="errors for 5 to 25 bins instead of the table")
    _add_bins(tables)
    _add_noise(tables)

    summarize = _command(commands_, "summarize", "summarize files of any size", SUMMARIZE)
    _add_paths(
        summarize, "Parquet, Feather, CSV, JSON lines, folders, or quoted patterns such as 'data/*.csv'"
    )
    add = summarize.add_argument
    add("-o", "--output", required=True, metavar="OUT", help="summary to write, such as run.calib.json.gz")
    add("--by", action="append", default=[], metavar="COLUMN", help="also sum its groups; repeatable")
    add("--class-wise", action="store_true", help="also sum the scores of every class")
    add("--class-names", metavar="A,B,...", help="names of the classes, if the columns have none")
    add("--drop", action="store_true", help="leave out rows that cannot be used, and list their places")
    _add_scan(summarize)
    _add_bins(summarize)

    merge = _command(commands_, "merge", "add up summaries", MERGE)
    _add_paths(merge, "summaries that `summarize` wrote")
    merge.add_argument("-o", "--output", required=True, metavar="OUT", help="summary to write")
    _add_bins(merge)

    sql = _command(commands_, "sql", "print the query that sums a table in a warehouse", SQL)
    add = sql.add_argument
    dialect = add("--dialect", required=True, help="SQL dialect of the warehouse")
    dialect.choices = _Later("calib.scale.warehouse", "DIALECTS")
    add("--table", default="predictions", help="name of the table; default predictions")
    add("--predicted", default="predicted", metavar="COLUMN", help="predicted class; default predicted")
    add("--confidence", default="confidence", metavar="COLUMN", help="its confidence; default confidence")
    add("--label", default="label", metavar="COLUMN", help="true class; default label")
    add("--result", metavar="FILE", help="result of the query, to make a summary of")
    add("-o", "--output", metavar="OUT", help="with --result: summary to write")
    _add_bins(sql)
    parser.commands = commands_.choices
    of.choices = [name for name, each in parser.commands.items() if each.get_default("json") is not None]
    return parser


def _add_paths(command: argparse.ArgumentParser, what: str) -> None:
    command.add_argument("files", nargs="+", metavar="FILE", help=what)


def _add_scan(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    _add_columns(command)
    parts = ("evaluation", "calibration")
    add("--part", choices=parts, default=parts[0], help="rows to use, if a column says which are which")
    _add_workers(command)


def _add_workers(command: argparse.ArgumentParser, topic: str = "") -> None:
    add = command.add_argument
    add("--workers", type=int, metavar="N", help=f"{topic}parts at a time; default: one per processor")
    add(
        "--scheduler",
        metavar="ADDRESS",
        help=f"{topic}a Dask scheduler, tcp://..., or local to start one here",
    )


def _command(
    parsers: argparse._SubParsersAction,
    name: str,
    what: str,
    examples: str | Callable[[], str],
    *,
    data: bool = True,
) -> argparse.ArgumentParser:
    command: _Parser = parsers.add_parser(
        name,
        help=what,
        description=what[0].upper() + what[1:] + ".",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.examples = examples
    if data:
        command.add_argument("--json", action="store_true", help="print the result as JSON")
    return command


def _add_file(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="CSV, TSV, Parquet, Feather, NPY, NPZ or JSON")
    _add_reading(command)
    if not command.prog.endswith(" check"):  # which lists the models
        command.add_argument(
            "--each-model",
            action="store_true",
            help="run for every model of the file; output files are named after the models",
        )


def _add_reading(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--labels", metavar="FILE", help="true labels, if FILE has none")
    add("--format", metavar="NAME", help="format of FILE; default: recognised from the file")
    add(
        "--time-limit",
        type=float,
        default=math.inf,
        metavar="SECONDS",
        help="refuse a file that takes longer to read; default: no limit",
    )
    add(
        "--abstention",
        action="append",
        metavar="VALUE",
        help="a predicted value that means no answer; repeatable; default: IDK, an empty cell and the like",
    )
    _add_columns(command)
    add("--part", metavar="NAME", help="rows to use: calibration, evaluation or a value of the split column")
    add("--fix", default="", metavar="CODES", help="comma-separated codes of fixes to apply, see `check`")


def _add_columns(command: argparse.ArgumentParser) -> None:
    words = "count every row once, even if there is a column of weights"
    command.add_argument("--unweighted", action="store_true", help=words)
    words = "scale of the scores; default: recognised from names"
    command.add_argument("--scores", choices=SCALES, default="auto", help=words)
    columns = command.add_argument_group("columns", "recognised by default; `check` prints them")
    one_each = {
        "label": "the true class",
        "predicted": "the predicted class",
        "correct": "whether the prediction is right",
        "weight": "weights of rows",
        "id": "ids of rows",
        "cluster": "column of clusters, such as patients; or a block of time: month, week, day or hour of "
        "the column of dates, or COLUMN=day",
        "group": "groups of rows",
        "fold": "folds of a cross-validation",
    }
    for role, what in one_each.items():
        columns.add_argument(f"--{role}", metavar="COLUMN", help=what)
    add = columns.add_argument
    add(
        "--score", action="append", default=[], metavar="COLUMN",
        help="the score; for all classes, repeat it in their order or give a pattern such as 'p_*'",
    )  # fmt: skip
    add(
        "--votes", action="append", default=[], metavar="COLUMN",
        help="votes in place of a label: a column of an annotator, or of counts or shares for a class; "
        "repeatable, or a pattern such as 'votes_*'",
    )  # fmt: skip
    add("--model", metavar="NAME", help="the model to read, if the file holds several")
    add("--words", metavar="TABLE", help="probabilities of a confidence in words: high=0.9,low=0.3")
    words = "class whose probability the score is; of multilabel scores, the only class to use"
    add("--positive", metavar="CLASS", help=words)


def _add_cuts(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--cut",
        action="append",
        default=[],
        metavar="COLUMN=AT",
        help="edges such as age=30,50; a number of groups such as age==4; of dates year, quarter, month, "
        "week, day, weekday or hour",
    )


def _add_bins(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--bins", type=int, default=N_BINS, metavar="B", help="equal-width bins; default %(default)s"
    )


def _add_noise(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--resamples",
        type=int,
        default=N_RESAMPLES,
        metavar="R",
        help="redraws of the noise floor; 0 for none",
    )
    command.add_argument(
        "--seed", type=int, default=RANDOM_STATE, help="seed of the redraws; default %(default)s"
    )


def _add_split(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--split",
        type=_share,
        metavar="SHARE",
        help="use only the rows that `fit --split SHARE` with this --seed leaves for evaluation",
    )


def _share(text: str) -> float:
    share = float(text)
    if not 0.0 < share <= 1.0:
        raise argparse.ArgumentTypeError(f"expected a share above 0 and at most 1; got {text}")
    return share


def _ridge(text: str) -> float | str:
    from calib.calibrators.ridge_choice import CROSS_VALIDATED

    if text == CROSS_VALIDATED:
        return text
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f'expected a number or "{CROSS_VALIDATED}"; got {text!r}') from None


def _say_warning(message: Warning | str, *_: object, **__: object) -> None:
    show(f"warning: {_one_line(message)}", sys.stderr)


def _one_line(message: object) -> str:
    line = " ".join(str(message).split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 4]} ..."
