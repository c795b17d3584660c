"""What was noticed in an upload: findings with their fixes, and the roles of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from calib.doctor import Finding
from calib.doctor.findings import LABEL_CODES
from calib.formats.roles import Roles
from pages.shared.uploads import PENDING, Reading, examine_again, in_words

COLOURS = {"error": "red", "warning": "orange", "note": "blue"}
#: More columns than this are not listed one by one for correction.
LISTED_COLUMNS = 60
NOBODY = "(none)"


def show_roles(reading: Reading) -> None:
    """Show what each column was taken for, and let the user correct it."""
    roles, names = reading.roles, list(reading.table.columns)
    if roles is None:
        return
    classes = len(roles.probabilities)
    with st.expander(f"Columns: {classes:,} of {len(names):,} are taken for class scores"):
        others = [NOBODY, *names] if len(names) <= LISTED_COLUMNS else [NOBODY, *_not_scores(roles, names)]
        left, right = st.columns(2)
        given = roles.label[0] if len(roles.label) == 1 else NOBODY
        label = left.selectbox("True label", others, others.index(given), key="role-label")
        chosen_id = right.selectbox("Row id", others, others.index(roles.id or NOBODY), key="role-id")
        split = left.selectbox("Split", others, others.index(roles.split or NOBODY), key="role-split")
        scores = list(roles.probabilities)
        if len(names) <= LISTED_COLUMNS:
            scores = st.multiselect("Class scores, in class order", names, scores, key="role-scores")
        if st.button("Read again with these columns", disabled=len(scores) < 1):
            same = tuple(scores) == roles.probabilities
            changed = replace(
                roles,
                probabilities=tuple(scores),
                class_names=roles.class_names if same else tuple(scores),
                label=roles.label if label == given else () if label == NOBODY else (label,),
                id=None if chosen_id == NOBODY else chosen_id,
                split=None if split == NOBODY else split,
            )
            examine_again(replace(reading, roles=changed))


def show_findings(reading: Reading) -> None:
    """List what was noticed, each with what its fix would change; a fix is applied only when accepted."""
    total = sum(len(report.findings) for report in reading.reports.values())
    if not total:
        st.success("Nothing suspicious was found in this file.")
    st.caption("Not in use yet: the other pages show it once you press the button below.")
    for part in reading.reports:
        show_report(reading, part)
    undo_fixes(reading)


def show_faults(reading: Reading, *, labelled: bool) -> bool:
    """Show what is wrong with an upload of one set of rows, with fixes; return whether it can be used.

    Without need for labels (`labelled` false), their faults do not stand in the way.
    """
    report = reading.reports["evaluation"]
    faults = [
        finding
        for finding in report.findings
        if finding.severity == "error" or (finding.severity == "warning" and finding.fix is not None)
    ]
    show_report(reading, "evaluation", faults)
    undo_fixes(reading)
    return all(one.code in LABEL_CODES and not labelled for one in report.errors)


def show_report(reading: Reading, part: str, findings: Sequence[Finding] | None = None) -> None:
    """List fixes and findings (all, or those given) of one part of an upload."""
    report = reading.reports[part]
    of_part = f", {part} rows" if reading.place == PENDING else ""
    for fix in report.fixes:
        st.badge("Fixed", color="green")
        st.text((f"{part} rows: " if of_part else "") + in_words(fix))
    for finding in report.findings if findings is None else findings:
        with st.container(border=True):
            left, right = st.columns([5, 1], vertical_alignment="center")
            left.badge(finding.severity.capitalize() + of_part, color=COLOURS[finding.severity])
            left.text(finding.message[:1].upper() + finding.message[1:])
            if finding.fix is None:
                continue
            left.caption(f"The fix changes: {report.effect(finding.code)}")
            if right.button("Apply fix", key=f"fix-{reading.place}-{part}-{finding.code}"):
                reports = {**reading.reports, part: report.fix(finding.code)}
                st.session_state[reading.place] = replace(reading, reports=reports)
                st.rerun()


def undo_fixes(reading: Reading) -> None:
    """Offer to go back to the file as it was uploaded."""
    fixed = any(report.fixes for report in reading.reports.values())
    if fixed and st.button("Undo all fixes", key=f"undo-{reading.place}"):
        examine_again(reading)


def _not_scores(roles: Roles, names: list[str]) -> list[str]:
    scores = set(roles.probabilities)
    return [name for name in names if name not in scores]
