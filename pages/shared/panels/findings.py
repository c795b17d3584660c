"""The findings of an upload with their fixes, its first rows, and the roles of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle

import pandas as pd
import streamlit as st

from calib import InputError
from calib.data.kinds import KINDS
from calib.data.times import BLOCKS, are_dates
from calib.files.findings import Finding
from calib.files.findings.codes import LABEL_CODES
from calib.files.readers.readings import guess_roles
from calib.files.readers.roles import Roles, chances_of, given_columns
from calib.files.readers.tables import words_in
from pages.shared.session import Dataset
from pages.shared.uploads import PENDING, Reading, examine_again, in_words, read_every_model, several_models
from pages.shared.widgets import escaped, literal

COLOURS = {"error": "red", "warning": "orange", "note": "blue"}
#: More columns than this are not listed one by one for correction.
LISTED_COLUMNS = 60
NOBODY = "(none)"
#: Most values of a column that are offered as abstentions.
LISTED_VALUES = 1_000


#: Notes whose fix reads the file in another way; other notes need no action, and have no button.
ALTERNATIVES = ("rows_together", "clusters_kept")

FIRST_ROWS, FIRST_COLUMNS = 5, 16
#: What a column can be, by the field of `Roles`; each is chosen by one menu.
ONE_EACH = {
    "predicted": "Predicted class",
    "correct": "Right or wrong",
    "id": "Row id",
    "split": "Split",
    "fold": "Fold of a cross-validation",
    "weight": "Weight",
    "group": "Group",
    "cluster": "Rows that belong together",
    "model": "Model",
}


def show_roles(reading: Reading, *, opened: bool) -> None:
    """Show how the columns are read, with menus to read them in another way."""
    roles, names = reading.roles, list(reading.table.columns)
    if roles is None:
        return
    scores = roles.probabilities
    if scores:
        st.markdown(f"Read as **{KINDS[roles.kind].title}**{', one score per row' * (len(scores) == 1)}.")
    if roles.ranked or (scores and scores[0] not in names):
        with st.expander("Columns"):
            listed = {"Scores": scores, "Classes": roles.ranked, "Labels": roles.label}
            st.text("\n".join(f"{head}: {', '.join(columns)}" for head, columns in listed.items() if columns))
        return
    head = f"Columns: {len(scores):,} of {len(names):,} are read as class scores"
    if len(scores) == 1:
        head = f"Columns: {escaped(scores[0])} is read as the score"
    with st.expander(head, expanded=opened, key="columns-panel"):
        if roles.choices:
            _show_choices(reading, roles)
        show_label_column(reading)
        changed = _menus(reading, roles, names)
        if st.button("Read again with these columns", disabled=changed is None) and changed is not None:
            examine_again(replace(reading, roles=changed))


def _show_choices(reading: Reading, roles: Roles) -> None:
    """Show each way to read the columns: what speaks for and against it, and rows; one click decides."""
    st.text(f"{roles.doubt}.")
    if several_models(reading) and st.button(f"Read all {len(roles.choices)} as models", type="primary"):
        try:
            read_every_model(reading)
            st.rerun()
        except InputError as error:
            st.error(f"Not read: {escaped(error)}")
    for number, choice in enumerate(roles.choices):
        with st.container(border=True):
            named = ", ".join(f"{option}: {value}" for option, value in choice.given.items())
            st.markdown(f"**{escaped(named)}**{', read as ' * bool(choice.title)}{escaped(choice.title)}")
            signs = [f"+ {each}" for each in choice.passed]
            signs += [f"− {each}" for each in choice.failed]
            st.text("\n".join([*signs, *(f"row {row}" for row in choice.rows)]))
            if choice.command:
                st.caption(f"On the page {choice.command.title()}, with these columns.")
            elif st.button("Choose this reading", key=f"role-choice-{number}"):
                examine_again(replace(reading, roles=guess_roles(reading.table, given_columns(choice.given))))


def _menus(reading: Reading, roles: Roles, names: list[str]) -> Roles | None:
    """Return the roles chosen in the menus; None if no column is a score."""
    scores = roles.probabilities
    few, taken = len(names) <= LISTED_COLUMNS, set(scores)
    others = [NOBODY, *(name for name in names if few or name not in taken)]
    left, right = st.columns(2)
    chosen_scores = list(scores)
    if few:
        chosen_scores = left.multiselect("Scores, in class order", names, list(scores), key="role-scores")
    guess = roles.label[0] if len(roles.label) == 1 else NOBODY
    label = right.selectbox("True label", others, others.index(guess), key="role-label")
    votes = roles.votes
    if few:
        votes = tuple(left.multiselect("Votes, in place of a label", names, list(votes), key="role-votes"))
    chosen: dict[str, str | None] = {}
    for position, (role, head) in enumerate(ONE_EACH.items()):
        place, given = (left, right)[position % 2], getattr(roles, role) or NOBODY
        offered = [*others, *_blocks(reading)] if role == "cluster" else others
        picked = place.selectbox(head, offered, offered.index(given), key=f"role-{role}")
        chosen[role] = None if picked == NOBODY else picked
    abstentions, words = _abstentions(reading, roles), _words(roles)
    if not chosen_scores:
        return None
    same = tuple(chosen_scores) == scores
    single = "top-label" if chosen["predicted"] else "confidence" if chosen["correct"] else "binary"
    several = roles.kind if len(scores) > 1 else "vectors"
    return replace(
        roles,
        kind=single if len(chosen_scores) == 1 else several,
        probabilities=tuple(chosen_scores),
        class_names=roles.class_names if same else tuple(chosen_scores) if len(chosen_scores) > 1 else None,
        label=() if votes or label == NOBODY else roles.label if label == guess else (label,),
        votes=votes,
        abstentions=abstentions,
        words=words,
        model_name=None if chosen["model"] != roles.model else roles.model_name,
        doubt=None,
        choices=(),
        **chosen,
    )


def _words(roles: Roles) -> tuple[str, ...]:
    """Return the probabilities that the user gives the words of a confidence."""
    if roles.words:
        st.markdown("Probability for each word of the confidence:")
    chances = []
    for place, (word, chance) in zip(cycle(st.columns(4)), chances_of(roles.words).items(), strict=False):
        value = place.number_input(escaped(word), 0.0, 1.0, chance, 0.05, key=f"role-word-{word}")
        chances.append(f"{word}={value}")
    return tuple(chances)


def _blocks(reading: Reading) -> list[str]:
    """Return the blocks of time that can be clusters, as `calib.read` takes them."""
    dates = [name for name, values in reading.table.columns.items() if are_dates(values)]
    return [f"{name}={block}" for name in dates for block in BLOCKS]


def _abstentions(reading: Reading, roles: Roles) -> tuple[str, ...] | None:
    """Return the values that mean "no answer" to the user; None for the usual values."""
    if roles.kind != "top-label" or roles.predicted is None:
        return roles.abstentions
    seen = [word for word in words_in(reading.table.columns[roles.predicted])[1] if word]
    found = [word for word in seen if word in (roles.abstentions or ())]
    picked = st.multiselect(
        "Predictions that are no answer",
        seen[:LISTED_VALUES],
        found,
        key="role-abstentions",
        help="Left empty: IDK, an empty cell and the like, if they are never the true class.",
    )
    return tuple(picked) or None


def show_findings(reading: Reading) -> None:
    if reading.refusal:
        return
    total = sum(len(report.findings) for report in reading.reports.values())
    if not total:
        st.success("Nothing suspicious was found in this file.")
    for part in reading.reports:
        _show_examination(reading, part)
    undo_fixes(reading)


def show_faults(reading: Reading, *, labelled: bool) -> bool:
    """Show the faults of an upload of evaluation rows, with fixes; return whether it can be used.

    Faults of labels are not mentioned if no labels are needed (`labelled` false).
    """
    report = reading.reports["evaluation"]
    faults = [
        finding
        for finding in report.findings
        if finding.severity == "error" or (finding.severity == "warning" and finding.fix is not None)
        if labelled or finding.code not in LABEL_CODES
    ]
    _show_examination(reading, "evaluation", faults)
    undo_fixes(reading)
    return all(finding.code in LABEL_CODES and not labelled for finding in report.errors)


def _show_examination(reading: Reading, part: str, findings: Sequence[Finding] | None = None) -> None:
    """List the accepted fixes and `findings` (all by default) of calibration or evaluation rows."""
    report = reading.reports[part]
    part_words = f", {part} rows" if reading.slot == PENDING else ""
    for fix in report.fixes:
        st.badge("Fixed", color="green")
        st.text((f"{part} rows: " if part_words else "") + in_words(fix))
    for finding in report.findings if findings is None else findings:
        with st.container(border=True):
            left, right = st.columns([5, 1], vertical_alignment="center")
            left.badge(finding.severity.capitalize() + part_words, color=COLOURS[finding.severity])
            left.text(finding.message[:1].upper() + finding.message[1:])
            if finding.fix is None or (finding.severity == "note" and finding.code not in ALTERNATIVES):
                continue
            verb = "Read it so" if finding.severity == "note" or finding.code in ALTERNATIVES else "Apply fix"
            verb = "Undo" if finding.code == "clusters_kept" else verb
            left.caption(f"*{verb}* changes: {report.effect(finding.code)}")
            if right.button(verb, key=f"fix-{reading.slot}-{part}-{finding.code}"):
                reports = {**reading.reports, part: report.fix(finding.code)}
                st.session_state[reading.slot] = replace(reading, reports=reports)
                st.rerun()


def undo_fixes(reading: Reading) -> None:
    """Offer to go back to the file as it was uploaded."""
    fixed = any(report.fixes for report in reading.reports.values())
    if fixed and st.button("Undo all fixes", key=f"undo-{reading.slot}"):
        examine_again(reading)


def show_file(reading: Reading, shown: Dataset) -> None:
    """Show the first rows of a file that was read, and what stays on screen until it is used."""
    table, roles = reading.table, reading.roles
    meant = {} if roles is None else taken_for(roles, labels_elsewhere=reading.tables[1] is not None)
    names = sorted(table.columns, key=lambda name: list(meant).index(name) if name in meant else len(meant))
    first = {
        f"{name} ({meant[name]})" if name in meant else name: table.columns[name][:FIRST_ROWS]
        for name in names[:FIRST_COLUMNS]
    }
    for name, matrix in table.matrices.items():
        first |= {
            f"{name}[{column}]": matrix[:FIRST_ROWS, column]
            for column in range(min(matrix.shape[1], FIRST_COLUMNS))
        }
    if table.tabular or len({len(values) for values in first.values()}) == 1:
        st.dataframe(
            pd.DataFrame(dict(list(first.items())[:FIRST_COLUMNS])), hide_index=True, height="content"
        )
    width = len(table.columns) + sum(matrix.shape[1] for matrix in table.matrices.values())
    earlier = "" if shown.name == reading.name else f" {literal(shown.name)} is on every page."
    st.caption(
        f"The first rows of {literal(reading.name)}: {table.n_rows:,} rows, {width:,} columns.{earlier}"
    )


def taken_for(roles: Roles, *, labels_elsewhere: bool = False) -> dict[str, str]:
    """Return the role of each column that is used, the most important first.

    A file of labels takes the place of a column of labels.
    """
    words = {"class": "class", "label": "true label"} | {
        role: head.lower() for role, head in ONE_EACH.items()
    }
    words |= {"class": "class", "score": "score", "votes": "votes", "index": "row number, left out"}
    unused = ("label", "votes") if labels_elsewhere else ()
    return {name: words[role] for name, role in roles.table() if role in words and role not in unused}


def show_label_column(reading: Reading) -> None:
    """Say which column is read as the true label; the finding label_column says why."""
    roles = reading.roles
    if roles is None or reading.table.matrices:
        return
    if reading.tables[1] is not None:
        st.caption("The true labels come from the file of labels.")
    elif roles.votes:
        return
    elif not roles.label and roles.correct is None:
        st.caption(
            "No column is read as the true label: none has the name of a label or holds names of the "
            "classes. No column, or more than one, holds whole numbers that could be codes."
        )
    elif len(roles.label) == 1:
        st.caption(f"{literal(roles.label[0])} is read as the true label.")
