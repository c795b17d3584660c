"""Sentences of pages, reports and commands name no class of the code and no notion."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import calib
from calib.answers.guarantee_cards import guarantee_card
from calib.calibrators.catalogue import METHODS, full_name, name_of, named_methods, short_name
from calib.calibrators.multiclass import MulticlassToBinary
from calib.cli.parser import main
from calib.datasets import load_example
from calib.report import ReportInput, report_html
from tests.app.running import PLACES, open_page, turn_to

#: Names in camel case: calibrators, schemes, predictions, results. Words that pages use as words stay.
CLASSES = {method.make.__name__ for method in METHODS.values()} | set(calib.__all__) - {"InputError"}
CODE = re.compile(
    r"\b("
    + "|".join(sorted(name for name in CLASSES if re.search("[a-z][A-Z]", name)))
    + r")\b|(?<!-)\bnotions?\b"
)
#: Parts of a report that are code: how to make it again.
REPEAT = re.compile(r'<section id="repeat".*?</section>|<script.*?</script>|<style.*?</style>', re.S)


def leaks(text: str) -> list[str]:
    """The lines that name something of the code."""
    return [line[:200] for line in text.splitlines() if CODE.search(line)]


def texts(app) -> str:
    """Everything a page says: prose, heads, labels, options, hovers and tables."""
    said = []
    for element in app.main:
        for field in ("value", "label", "help", "options", "body"):
            found = getattr(element, field, None)
            if isinstance(found, pd.DataFrame):
                found = found.head(50).to_csv()
            said.append("" if found is None else str(found))
    return "\n".join(said)


def event_file() -> bytes:
    random = np.random.default_rng(1)
    score = random.random(400).round(3)
    frame = pd.DataFrame({"p_event": score, "died": (random.random(400) < score**2).astype(int)})
    return frame.assign(hospital=random.choice(list("ABCDEF"), 400)).to_csv(index=False).encode()


@pytest.mark.parametrize("data", ["digits", "event", pytest.param("networks", marks=pytest.mark.thorough)])
def test_pages(data):
    app = open_page("pages/views/data.py", **({} if data == "event" else {"example": data}))
    if data == "event":
        app.file_uploader(key="up").upload("risk.csv", event_file(), "text/csv").run()
    for room, tab in [place for place in PLACES if place != ("learn", "Glossary")]:  # which explains notions
        assert leaks(texts(turn_to(app, room, tab))) == [], (room, tab)


def test_every_catalogued_calibrator():
    example = load_example("digits")
    rows = example.calibration.take(slice(0, 300))
    for name, method in {**named_methods(), "intercept": calib.PlattScaling(fixed_slope=True)}.items():
        said = [name, full_name(method), name_of(method), short_name(method)]
        if isinstance(method, MulticlassToBinary):
            card = guarantee_card(method.fit(rows))
            said += [card.words(), card.why_not, *card.assumptions]
        assert leaks("\n".join(said)) == [], name


def test_reports(tmp_path):
    example = load_example("digits")
    fitted = {
        name: method.fit(example.calibration) for name, method in named_methods().items() if "Platt" in name
    }
    html = report_html(ReportInput(example.evaluation, fitted, example.calibration, n_resamples=20))
    assert leaks(re.sub(r"<[^>]+>", "\n", REPEAT.sub("", html))) == []


def test_commands(tmp_path, capsys):
    example = load_example("digits")
    for name, rows in (("rows", example.evaluation), ("fit", example.calibration)):
        frame = pd.DataFrame(rows.proba, columns=[f"p_{each}" for each in rows.class_names])
        frame.assign(label=np.array(rows.class_names)[rows.labels]).to_csv(
            tmp_path / f"{name}.csv", index=False
        )
    (tmp_path / "risk.csv").write_bytes(event_file())
    rows, risk, calibrator = (str(tmp_path / name) for name in ("rows.csv", "risk.csv", "one.json"))
    fit = str(tmp_path / "fit.csv")
    commands = (
        ["metrics", rows],
        ["metrics", risk],
        ["fit", fit, "-o", calibrator, "--method", "platt"],
        ["apply", calibrator, rows, "-o", str(tmp_path / "out.csv")],
        ["apply", calibrator, risk, "-o", str(tmp_path / "out.csv")],
        ["fit", risk, "-o", calibrator, "--method", "platt"],
        ["apply", calibrator, rows, "-o", str(tmp_path / "out.csv")],
        ["fit", str(tmp_path), "-o", calibrator, "--method", "isotonic"],
        ["recommend", rows],
        ["decide", rows, "--accuracy", "0.9"],
        ["slices", risk, "--by", "hospital"],
        ["gate", rows, "--max", "tl_ece=0.2"],
        ["check", rows],
        ["metrics", str(tmp_path / "none.csv")],
    )
    for command in commands:
        main(command)
        printed = capsys.readouterr()
        assert printed.out + printed.err, command
        assert leaks(printed.out + printed.err) == [], command
