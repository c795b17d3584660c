"""Sections of a report, each a list of ready HTML: one sentence, a figure, the numbers behind it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import calib.figures as figures
from calib.assessment.summary import assessment, calibrated_scores, how_assessed, summarize, summary_frame
from calib.binning import BinStatistics, Notion, Strategy, bin_statistics
from calib.calibrators.multiclass import MulticlassToBinary
from calib.diagrams.classes import CLASS_COLUMNS, class_heat, class_table
from calib.diagrams.reliability import (
    ece_sweep,
    reliability_diagram,
    worst_cells_words,
)
from calib.diagrams.validity import validity_cells, validity_curve, validity_words
from calib.figures.classes import heat
from calib.figures.html import figure_html
from calib.figures.noise import DOTTED
from calib.figures.noise import validity as draw_validity
from calib.guarantees.card import GuaranteeCard, guarantee_card
from calib.metrics.catalogue import ECES
from calib.noise.bands import consistency_band
from calib.noise.floor import WITHIN_NOISE, noise_floor, verdict
from calib.predictions import Predictions
from calib.reductions import reduce_to_binary
from calib.report.html import bullets, paragraph, table, text
from calib.report.input import ReportInput

#: Classes a table lists, those that matter most first.
MOST_CLASSES = 1_000

#: Classes a figure shows.
MOST_DRAWN = 30

#: Scores (rows x classes) up to which the noise floor of CW-ECE is drawn: it needs all of them sorted.
MOST_SCORES = 20_000_000

#: Curves of a figure, and methods with a reliability diagram of their own.
MOST_CURVES, MOST_DIAGRAMS = 6, 4

_BASE = "Base model"


def data_section(evaluation: Predictions, calibration: Predictions | None) -> list[str]:
    """Sizes, accuracy and class shares of the rows."""
    labels = evaluation.labels
    assert labels is not None
    sizes = f"{evaluation.n_samples:,} evaluation rows of {evaluation.n_classes:,} classes"
    if calibration is not None:
        sizes += f", {calibration.n_samples:,} calibration rows"
    right = float((evaluation.label == labels).mean())
    count = partial(np.bincount, minlength=evaluation.n_classes)
    true, predicted = count(labels), count(evaluation.label)
    order = np.argsort(-true, kind="stable")[:MOST_CLASSES]
    frame = pd.DataFrame(
        {
            "Class": [evaluation.class_names[code] for code in order],
            "True rows": true[order],
            "Announced": predicted[order],
        }
    )
    if calibration is not None and calibration.labels is not None:
        frame["Calibration rows"] = count(calibration.labels)[order]
    silent = int((true == 0).sum())
    note = f" {silent:,} classes are never true." if silent else ""
    return [
        paragraph(f"{sizes}; the announced class is right in {right:.2%} of the evaluation rows.{note}"),
        table(frame, dict.fromkeys(["True rows", "Announced", "Calibration rows"], ",d")),
    ]


def verdict_section(about: ReportInput) -> list[str]:
    """Errors of the base model beside what noise alone shows, and the cells that add most."""
    rows = about.evaluation
    sentences = []
    for notion, one in ECES.items():
        if notion == "class-wise" and rows.proba.size > MOST_SCORES:
            continue
        floor = noise_floor(
            rows.labels,
            rows,
            **one.options,
            n_bins=about.n_bins,
            n_resamples=about.n_resamples,
            random_state=about.random_state,
        )
        sentences.append(text(verdict(floor, one.title)))
    cells = worst_cells_words(_cells(about), [text(name) for name in rows.class_names], 5)
    return [
        paragraph(f"The base model, in {about.n_bins} equal-width bins:"),
        bullets(sentences),
        paragraph("The (class, bin) cells of 20 rows or more that add most to TL-ECE:"),
        bullets(cells or ["none: no cell holds 20 rows"]),
    ]


def reliability_section(about: ReportInput) -> list[str]:
    """Reliability diagram of every method, and the classes inside the base model's worst bin."""
    rows = about.evaluation
    parts = [
        paragraph(
            f"All in {about.n_bins} equal-width bins, also methods that are assessed at each of their values."
        )
    ]
    methods: dict[str, Any] = {_BASE: rows}
    for name, calibrator in list(about.calibrators.items())[: MOST_DIAGRAMS - 1]:
        methods[name] = calibrated_scores(calibrator, rows)
    for place, (name, scores) in enumerate(methods.items()):
        diagram = reliability_diagram(rows.labels, scores, n_bins=about.n_bins)
        band = None
        if place == 0:
            problems = reduce_to_binary(rows.labels, rows, "confidence")
            found = consistency_band(
                problems,
                n_bins=about.n_bins,
                n_resamples=about.n_resamples,
                random_state=about.random_state,
            )
            band = (found.lower, found.upper)
        sentence = diagram.words()
        drawn = figures.reliability(diagram, band=band)
        parts += [
            f"<h3>{text(name)}</h3>",
            paragraph(text(sentence)),
            figure_html(drawn, f"reliability-{place}", sentence),
        ]
        if place == 0:
            zoomed = diagram.zoom(int(diagram.bin[diagram.adds_most]))
            parts += [
                paragraph(f"Inside that bin: {zoomed.words([text(name) for name in rows.class_names])}"),
                figure_html(
                    figures.zoom(zoomed, rows.class_names), "zoom", "The classes announced in that bin."
                ),
            ]
    return parts


def classes_section(about: ReportInput) -> list[str]:
    """Every predicted class with its error, noise floor and share, and class x bin cells."""
    rows = about.evaluation
    found = class_table(
        rows.labels,
        rows,
        n_bins=about.n_bins,
        n_resamples=about.n_resamples,
        random_state=about.random_state,
    )
    heads = {name: head for name, (head, _) in CLASS_COLUMNS.items()}
    shown = found.frame(rows.class_names).head(MOST_CLASSES)[list(heads)].rename(columns=heads)
    formats = dict.fromkeys(heads.values(), ".3f") | {"Predicted": ",d", "True": ",d", "Share": ".1%"}
    sentence = (
        f"{found.words()} The others are {WITHIN_NOISE}. Each class is assessed in {about.n_bins} "
        "equal-width bins."
    )
    top = found.ranked[:MOST_DRAWN]
    top = top[found.predicted[top] > 0]
    drawn = heat(class_heat(_cells(about), top), rows.class_names)
    alt = f"Accuracy minus confidence by class and bin, the {len(top)} classes that add most to TL-ECE."
    return [paragraph(sentence), figure_html(drawn, "heat", alt), table(shown, formats)]


def comparison_section(about: ReportInput) -> list[str]:
    """Leaderboard of the base model and the calibrators, and their errors against the number of bins."""
    rows = about.evaluation
    summaries = [summarize(rows.labels, rows, method=_BASE, n_bins=about.n_bins)]
    curves: dict[str, tuple[Any, Strategy]] = {_BASE: (rows, "uniform")}
    for name, calibrator in about.calibrators.items():
        scores, strategy = calibrated_scores(calibrator, rows), assessment(calibrator)
        summaries.append(summarize(rows.labels, scores, method=name, n_bins=about.n_bins, strategy=strategy))
        if strategy == "uniform":
            curves[name] = (scores, strategy)
    frame = summary_frame(summaries)
    frame["Distinct scores"] = [f"{one.n_distinct:,}" for one in summaries]
    turned = frame.set_index("Method").T.map(_printed)
    turned.insert(0, "", turned.index)
    sweeps = {
        name: {
            notion: ece_sweep(rows.labels, scores, notion=notion, n_bins=range(2, 51))
            for notion in ("top-label", "confidence")
        }
        for name, (scores, _) in list(curves.items())[:MOST_CURVES]
    }
    sentence = (
        "ECE against the number of equal-width bins, of the methods that are assessed in such bins; "
        "conf-ECE hides what TL-ECE shows."
    )
    return [
        *_nothing_fitted(about),
        paragraph(f"{how_assessed(about.n_bins)} A dash: the method gives no score per class."),
        table(turned, words=("",)),
        paragraph(sentence),
        figure_html(figures.ece_curves(sweeps), "sweep", sentence),
    ]


def guarantee_section(about: ReportInput) -> list[str]:
    """Promises of each histogram-binning calibrator, for any distribution."""
    parts: list[str] = []
    drawn: list[str] = []
    assumptions: dict[str, None] = {}
    for name, calibrator in about.calibrators.items():
        if not isinstance(calibrator, MulticlassToBinary):
            continue
        card = guarantee_card(calibrator)
        parts.append(paragraph(f"<b>{text(name)}</b>. {text(card.words())}"))
        if not card.applies:
            continue
        assumptions |= dict.fromkeys(card.assumptions)
        if not drawn and card.notion in ("confidence", "top-label"):
            drawn = _validity(about, name, calibrator, card)
    if assumptions:
        parts += [paragraph("This rests on:"), bullets(text(assumption) for assumption in assumptions)]
    return parts + drawn


def _validity(
    about: ReportInput, name: str, calibrator: MulticlassToBinary, card: GuaranteeCard
) -> list[str]:
    """Share of rows announced within epsilon of the truth, before and after, with what is promised."""
    rows = about.evaluation
    scores, strategy = calibrated_scores(calibrator, rows), assessment(calibrator)
    notion: Notion = card.notion  # type: ignore[assignment]
    cells = validity_cells(calibrator, rows, scores, notion=notion, strategy=strategy)
    curve = partial(
        validity_curve,
        rows.labels,
        notion=notion,
        label=cells.labels,
        n_bins=about.n_bins,
        strategy="discrete" if cells.own else "uniform",
        n_resamples=min(about.n_resamples, 200),
        random_state=about.random_state,
    )
    curves = {_BASE: curve(scores=rows, reference=scores if cells.own else None), name: curve(scores=scores)}
    promises = card.promises()
    epsilon = promises[0].epsilon if promises else 0.05
    sentence = f"{validity_words(curves, epsilon)} {DOTTED} {cells.words(about.n_bins)}"
    return [
        paragraph(text(sentence)),
        figure_html(draw_validity(curves, promises=promises), "validity", sentence),
    ]


def _nothing_fitted(about: ReportInput) -> list[str]:
    """Why only the base model is listed, and what to pass."""
    if about.calibrators:
        return []
    if about.calibration is not None:
        return [
            paragraph("No calibrator was given, so only the base model is listed and nothing is promised.")
        ]
    return [
        paragraph(
            "Without calibration rows only the base model is listed and nothing is promised: pass "
            "<code>--split 0.5</code> or a file with calibration rows, or split the rows on the Data page."
        )
    ]


def _printed(value: object) -> str:
    if isinstance(value, str):
        return value
    return f"{value:.4f}" if isinstance(value, float) and not np.isnan(value) else "\u2013"


def _cells(about: ReportInput) -> BinStatistics:
    problems = reduce_to_binary(about.evaluation.labels, about.evaluation, "top-label")
    return bin_statistics(problems, n_bins=about.n_bins)
