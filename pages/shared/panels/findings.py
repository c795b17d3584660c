"""The findings of an upload with their fixes, and the roles of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from calib.data.kinds import KINDS
from calib.files.findings import Finding
from calib.files.findings.codes import LABEL_CODES
from calib.files.readers.roles import Roles
from calib.files.readers.tables import words_in
from pages.shared.panels.preview import show_label_column
from pages.shared.uploads import PENDING, Reading, examine_again, in_words
from pages.shared.widgets import escaped

COLOURS = {"error": "red", "warning": "orange", "note": "blue"}
#: More columns than this are not listed one by one for correction.
LISTED_COLUMNS = 60
NOBODY = "(none)"
#: Most values of a column that are offered as abstentions.
LISTED_VALUES = 1_000


#: Notes whose fix reads the file in another way; other notes need no action, and have no button.
ALTERNATIVES = ("binary_input", "class_wise_scores")


def show_roles(reading: Reading) -> None:
    """Show what each column was taken for, and let the user correct it."""
    roles, names = reading.roles, list(reading.table.columns)
    if roles is None:
        return
    if roles.kind != "vectors":
        _show_one_score(reading, roles, names)
        return
    classes = len(roles.probabilities)
    head = f"Columns: {classes:,} of {len(names):,} are taken for class scores"
    with st.expander(head, expanded=_blocked(reading), key="columns-panel"):
        show_label_column(reading)
        few, taken = len(names) <= LISTED_COLUMNS, set(roles.probabilities)
        others = [NOBODY, *(name for name in names if few or name not in taken)]
        left, right = st.columns(2)
        guess = roles.label[0] if len(roles.label) == 1 else NOBODY
        label = left.selectbox("True label", others, others.index(guess), key="role-label")
        chosen_id = right.selectbox("Row id", others, others.index(roles.id or NOBODY), key="role-id")
        split = left.selectbox("Split", others, others.index(roles.split or NOBODY), key="role-split")
        scores = list(roles.probabilities)
        if few:
            scores = st.multiselect("Class scores, in class order", names, scores, key="role-scores")
        if st.button("Read again with these columns", disabled=len(scores) < 1):
            same = tuple(scores) == roles.probabilities
            changed = replace(
                roles,
                probabilities=tuple(scores),
                class_names=roles.class_names if same else tuple(scores),
                label=roles.label if label == guess else () if label == NOBODY else (label,),
                id=None if chosen_id == NOBODY else chosen_id,
                split=None if split == NOBODY else split,
            )
            examine_again(replace(reading, roles=changed))


def _blocked(reading: Reading) -> bool:
    """Whether something stands against using an upload that other columns could mend."""
    return any(report.errors for report in reading.reports.values())


def _show_one_score(reading: Reading, roles: Roles, names: list[str]) -> None:
    """Show the columns of a file with one score per row, and let the user correct them."""
    if len(roles.probabilities) > 1 or roles.probabilities[0] not in names:
        st.markdown(f"Read as **{KINDS[roles.kind].title}**.")
        with st.expander("Columns"):
            listed = {"Scores": roles.probabilities, "Classes": roles.ranked, "Labels": roles.label}
            st.text("\n".join(f"{head}: {', '.join(of)}" for head, of in listed.items() if of))
        return
    st.markdown(f"Read as **{KINDS[roles.kind].title}**, one score per row.")
    others = [NOBODY, *names]
    head = f"Columns: {escaped(roles.probabilities[0])} is taken for the score"
    with st.expander(head, expanded=_blocked(reading), key="columns-panel"):
        show_label_column(reading)
        left, right = st.columns(2)
        score = left.selectbox("Score", names, names.index(roles.probabilities[0]), key="role-score")
        given = {
            "predicted": roles.predicted,
            "label": roles.label[0] if roles.label else None,
            "correct": roles.correct,
            "id": roles.id,
        }
        heads = {
            "predicted": "Predicted class",
            "label": "True label",
            "correct": "Right or wrong",
            "id": "Row id",
        }
        chosen: dict[str, str | None] = {}
        for position, (key, head) in enumerate(heads.items()):
            place = (right, left)[position % 2]
            picked = place.selectbox(head, others, others.index(given[key] or NOBODY), key=f"role-{key}")
            chosen[key] = None if picked == NOBODY else picked
        abstentions = roles.abstentions
        if roles.kind == "top-label" and roles.predicted is not None:
            seen = [word for word in words_in(reading.table.columns[roles.predicted])[1] if word]
            found = [] if abstentions is None else [word for word in seen if word in abstentions]
            picked_words = st.multiselect(
                "Predictions that are no answer",
                seen[:LISTED_VALUES],
                found,
                key="role-abstentions",
                help="Left empty: IDK, an empty cell and the like, where they are never the true class.",
            )
            abstentions = tuple(picked_words) or None
        if st.button("Read again with these columns"):
            kind = "top-label" if chosen["predicted"] else "confidence" if chosen["correct"] else "binary"
            changed = replace(
                roles,
                kind=kind,
                probabilities=(score,),
                predicted=chosen["predicted"],
                label=() if chosen["label"] is None else (chosen["label"],),
                correct=chosen["correct"],
                id=chosen["id"],
                abstentions=abstentions,
            )
            examine_again(replace(reading, roles=changed))


def show_findings(reading: Reading, *, used: bool = False) -> None:
    """List the findings, each with what its fix would change; a fix is applied only when accepted."""
    total = sum(len(report.findings) for report in reading.reports.values())
    if not total:
        st.success("Nothing suspicious was found in this file.")
    if not used:
        st.caption("Not in use yet: the other pages show it once you press the button below.")
    for part in reading.reports:
        _show_examination(reading, part)
    undo_fixes(reading)


def show_faults(reading: Reading, *, labelled: bool) -> bool:
    """Show the faults of an upload of evaluation rows, with fixes; return whether it can be used.

    Faults of labels do not count if no labels are needed (`labelled` false).
    """
    report = reading.reports["evaluation"]
    faults = [
        finding
        for finding in report.findings
        if finding.severity == "error" or (finding.severity == "warning" and finding.fix is not None)
    ]
    _show_examination(reading, "evaluation", faults)
    undo_fixes(reading)
    return all(finding.code in LABEL_CODES and not labelled for finding in report.errors)


def _show_examination(reading: Reading, part: str, findings: Sequence[Finding] | None = None) -> None:
    """List the accepted fixes and `findings` (all by default) of calibration or evaluation rows."""
    report = reading.reports[part]
    of_part = f", {part} rows" if reading.slot == PENDING else ""
    for fix in report.fixes:
        st.badge("Fixed", color="green")
        st.text((f"{part} rows: " if of_part else "") + in_words(fix))
    for finding in report.findings if findings is None else findings:
        with st.container(border=True):
            left, right = st.columns([5, 1], vertical_alignment="center")
            left.badge(finding.severity.capitalize() + of_part, color=COLOURS[finding.severity])
            left.text(finding.message[:1].upper() + finding.message[1:])
            if finding.fix is None or (finding.severity == "note" and finding.code not in ALTERNATIVES):
                continue
            left.caption(f"The fix changes: {report.effect(finding.code)}")
            if right.button("Apply fix", key=f"fix-{reading.slot}-{part}-{finding.code}"):
                reports = {**reading.reports, part: report.fix(finding.code)}
                st.session_state[reading.slot] = replace(reading, reports=reports)
                st.rerun()


def undo_fixes(reading: Reading) -> None:
    """Offer to go back to the file as it was uploaded."""
    fixed = any(report.fixes for report in reading.reports.values())
    if fixed and st.button("Undo all fixes", key=f"undo-{reading.slot}"):
        examine_again(reading)
