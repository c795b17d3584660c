"""Judge: is the judge right? True rates, what may pass without a person, and which rows to label next."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from calib import InputError, diagrams
from calib.answers import Judgement
from calib.base.interval_words import with_interval
from calib.datasets import judged_answers
from calib.evidence.rows import Rows
from calib.files.readers.judged import JudgedColumns, read_judged
from calib.files.readers.reading import read_table
from calib.files.readers.tables import Table
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.isolation import reader
from pages.shared.panels.picture import show_rows_picture
from pages.shared.uploads import read_once

#: Name of the example's data.
EXAMPLE = "judge of 3,000 answers, 150 of them labelled by people at random"
#: How rows were chosen to be labelled: the default is tested.
CHOICES = {
    None: "At random, or by verdict or confidence",
    "otherwise": "By anything else, such as a suspicion",
}

#: Verdicts that the picture names.
MOST_NAMED = 4
#: Columns of the table of rates with their intervals, by head.
RATES = {
    "Truly, %": ["rate", "lower", "upper"],
    "People agree, %": ["agreement", "agreement_lower", "agreement_upper"],
}


def columns_of_roles(table: Table, source: str) -> JudgedColumns | None:
    """Ask which column is which; None until verdicts and labels are known."""
    try:
        found = read_judged(table, {})
    except InputError as error:
        st.info(ui.escaped(error))
        found = JudgedColumns(table.columns, (), (), np.arange(table.n_rows))
    names = list(found.columns)
    place = names.index(found.single["confidence"]) if "confidence" in found.single else None
    asked = {
        "verdict": ("The judge's verdict", list(found.verdict)),
        "human": ("People's labels", list(found.human)),
        "confidence": ("Its confidence", place),
        "cluster": ("Rows that belong together", None),
    }
    given = {}
    for column, (role, (title, default)) in zip(st.columns(4), asked.items(), strict=True):
        widget = column.multiselect if isinstance(default, list) else column.selectbox
        given[role] = widget(title, names, default, key=f"judge-{role}-{source}")
    return read_judged(table, given) if given["verdict"] and given["human"] else None


def show_agreement(found: Judgement) -> None:
    if found.n_labelled and found.rows.confidence is not None:
        verdicts = np.argsort(-found.rates.judge_rate, kind="stable")[:MOST_NAMED]
        if show_rows_picture("judge", Rows(found.rows.labelled_rows()), verdicts.tolist()):
            return
    show_cells(found)


def show_cells(found: Judgement) -> None:
    ui.chart(
        diagrams.draw_judgement(found),
        "judge-cells",
        table=found.cells.frame,
        alt="How often people agree with each verdict, by the judge's confidence, with 95 % intervals",
    )


def show_numbers(found: Judgement) -> None:
    show_cells(found)
    table = found.frame()
    shown = pd.DataFrame({"Verdict": table["verdict"]})
    shown["Judge says, %"] = (100.0 * table["judge_rate"]).map("{:.1f}".format)
    for title, names in RATES.items():
        numbers = 100.0 * table[names].to_numpy()
        shown[title] = ["\u2013" if np.isnan(of[0]) else with_interval(*of, least=1) for of in numbers]
    st.dataframe(shown, hide_index=True)
    ui.download(table, "judge-rates")
    scores = {"Cohen's kappa": found.kappa, "Gwet's AC1": found.ac1}
    known = {name: of for name, of in scores.items() if not np.isnan(of.value)}
    words = [f"{name} {of.value:.2f} ({of.lower:.2f} to {of.upper:.2f})." for name, of in known.items()]
    st.caption(" ".join(["In brackets: the 95 % interval.", *words]))


def show_passing(found: Judgement) -> None:
    share = st.slider("Accuracy of what passes, %", 50, 99, 85, key="judge-accuracy", bind="query-params")
    passing = found.passing(share / 100)
    st.progress(passing.share, f"{passing.share:.0%} pass, {1 - passing.share:.0%} go to a person")
    st.markdown(ui.escaped(passing.sentence))
    st.caption("The promise holds for an accuracy that was chosen before looking.")
    if passing.rule is not None:
        rule: dict[str, object] = {"accuracy": passing.accuracy, "thresholds": passing.thresholds}
        rule["promise"] = passing.rule.guarantee
        ui.offer("The rule (JSON)", json.dumps(rule, indent=1), "judge-rule.json", "application/json")


def show_next(found: Judgement, table: pd.DataFrame) -> None:
    left = found.n_rows - found.n_labelled
    if not left:
        st.caption("Every row is labelled.")
        return
    k = st.number_input("Rows to label", 1, left, min(50, left), key="judge-next")
    plan = found.next_rows(int(k))
    st.markdown(ui.escaped(plan.sentence))
    listed = plan.frame()[["cell", "n_labels", "n_next"]]
    names = {"cell": "Cell", "n_labels": "Labelled", "n_next": "Label next"}
    st.dataframe(listed, hide_index=True, column_config=names)
    rows = table.convert_dtypes().iloc[plan.rows]
    ui.download(rows, "label-these-next", label=f"{len(rows):,} rows to label (CSV)")
    st.caption("Fill in the labels, add them to your file, and upload it again: further labels divide cells.")


ui.heading(
    "Judge",
    "A language model, a test or a crowd judged every row, and people labelled some. Is it right?",
    own_example=True,
)
ui.show_dataset(None)
reader.pool.start()
answer = st.container()
with st.expander("Use your own judged rows", key="judge-own", icon=":material/upload_file:"):
    upload = st.file_uploader("Judged rows, some with labels of people", key="judge-file")
    try:
        if upload is None:
            held, source = read_table(judged_answers().to_csv(index=False).encode()), EXAMPLE
            about = f"Example: {EXAMPLE}. Simulated."
        else:
            held = read_once("table", upload)
            source, about = upload.file_id, f"{ui.literal(upload.name)}: {held.n_rows:,} rows."
        roles = columns_of_roles(held, source)
        cut = st.number_input("Verdicts that are scores pass from", value=None, key="judge-cut")
        words = "How were rows chosen to be labelled?"
        chosen_by = st.selectbox(words, list(CHOICES), format_func=CHOICES.__getitem__, key="judge-chosen")
        if roles is None:
            st.info("Choose the column of the verdicts, and people's labels, blank if nobody labelled.")
            st.stop()
        about += f" Read: {ui.escaped(roles.words)}."
        judgement = results.judgement((source, roles.words, cut, chosen_by), roles)
    except InputError as error:
        st.error(ui.escaped(error))
        st.stop()
with answer:
    st.caption(about)
    says, truly, *rest = judgement.sentence.split(". ")
    st.header(ui.escaped(f"{says}. {truly.removesuffix('.')}."), anchor=False)
    st.markdown(ui.escaped(". ".join(rest)))
    ui.show_tabs(
        {
            "How often people agree": partial(show_agreement, judgement),
            "What may pass": partial(show_passing, judgement),
            "Label these next": partial(show_next, judgement, pd.DataFrame(dict(roles.columns))),
            "Numbers": partial(show_numbers, judgement),
        },
        "judge_tab",
        in_address=True,
    )
