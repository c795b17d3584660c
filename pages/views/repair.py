"""Repair: what a calibrator changes on rows it was not fitted on, its candidates, and new predictions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from sklearn.base import clone

from calib import InputError, compare_models, diagrams
from calib.answers.advice import confirm_choice
from calib.answers.conclusion import class_gaps
from calib.answers.metric_tables import Assessment
from calib.calibrators.catalogue import full_name, methods_of_kind, name_of
from calib.calibrators.effort import fit_seconds
from calib.calibrators.multiclass import FALLBACK_WORDS, fallback_records
from calib.data.defaults import FDR, N_BINS
from calib.data.kinds import lacks
from calib.evidence.reductions import top_label
from calib.stats.measures import MEASURES
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.isolation import reader
from pages.shared.needs import missing_for
from pages.shared.panels.new_predictions import show_new_predictions
from pages.shared.panels.picture import show_chosen_rows, show_picture
from pages.shared.panels.recommendation import (
    effect_words,
    is_awaited,
    open_on,
    recommendation_words,
    recommended,
    show_candidates,
)
from pages.shared.panels.take_away import offer_file, offer_scorer
from pages.shared.session import BASE, Method, dataset, fit, fitted, methods, remove

#: Most classes that all get an arrow, and the arrows of more classes.
ALL_ARROWS, FEW_ARROWS = 10, 8
#: Estimated seconds of a fit that is not begun before the user presses a button.
LONG = 60.0


def chosen_method() -> Method | None:
    """Ask for a calibrator, at first the recommended one; return it fitted, or None."""
    in_full = {name: full_name(each) for name, each in candidates.items()}
    in_full |= {name: full_name(method.calibrator) for name, method in fitted().items()}
    names = list(dict.fromkeys(filter(None, [proposed, *fitted(), *candidates])))
    if proposed or fitted():
        open_on("chosen", proposed or next(iter(fitted())), names)
    name = menu.selectbox(
        "Calibrator",
        names,
        index=None,
        key="chosen",
        format_func=lambda name: f"{in_full.get(name, name)} ({name})",
        placeholder="Try another one",
    )
    if name is None or name in fitted():
        return None if name is None else fitted()[name]
    rows, begins = data.calibration, True
    minutes = fit_seconds(candidates[name], rows.n_samples, rows.n_scores // rows.n_samples) / 60.0
    if 60.0 * minutes > LONG:
        begins = st.button(f"Fit {in_full[name]}: about {minutes:,.0f} minutes", key="fit-long")
    try:
        return fit(name, clone(candidates[name])) if begins else None
    except InputError as error:
        st.error(f"Not fitted: {ui.escaped(error)}")
        return None


def drop(name: str) -> None:
    remove(name)
    st.session_state.pop("chosen", None)


def show_effect() -> None:
    """Show how far each class is off before and after, and the picture of all rows."""
    if after is not None and lacks(data.kind, "notion:top-label") is None:
        gaps = results.ask(class_gaps, base, fdr=FDR), results.ask(class_gaps, after, fdr=FDR)
        n_classes = len(gaps[0].label)
        drawn = n_classes if n_classes <= ALL_ARROWS else FEW_ARROWS
        ui.chart(
            diagrams.draw_class_changes(*gaps, data.evaluation.class_names, most=drawn),
            "class-changes",
            table=lambda: ui.stacked(dict(zip(("before", "after"), gaps, strict=True)), "when"),
            alt="Accuracy minus confidence of each predicted class, before and after the calibrator",
        )
        few = "" if drawn == n_classes else f"The {drawn} of {n_classes:,} classes with the clearest gaps. "
        st.caption(
            f"{few}Open circle: before. Full: after, with its {100 * gaps[1].level:.3g} % interval. Grey: "
            "not known to be off."
        )
    show_picture("repair", after=after)
    show_chosen_rows("repair-rows")


def show_numbers() -> None:
    if after is None:
        st.info("Choose a calibrator.")
        return
    numbers = [results.metrics(method, n_bins) for method in (base, after)]
    if numbers[0].accuracy is not None and not data.kind.scored:
        moved = np.not_equal(*(top_label(method.rows.predictions)[0] for method in (base, after)))
        if moved.any():
            st.markdown(
                f"The predicted class changes in **{moved.sum():,}** of {len(moved):,} rows; accuracy goes "
                f"from {numbers[0].accuracy:.4f} to **{numbers[1].accuracy:.4f}**."
            )
    assessed = [
        Assessment(method.name, each, results.intervals(method, n_bins))
        for method, each in zip((base, after), numbers, strict=True)
    ]
    ui.download(ui.before_and_after(assessed), "before-after", label="Before and after (CSV)")
    fallbacks = pd.DataFrame(fallback_records(after.calibrator, data.evaluation.class_names))
    for used, short in fallbacks.groupby("used") if len(fallbacks) else ():
        st.warning(
            f"{len(short):,} of {len(after.calibrator.calibrators_):,} classes have fewer than "
            f"{fallbacks['needed'][0]} calibration rows each and were {FALLBACK_WORDS[used]}."
        )
    st.page_link("pages/views/validity.py", label="What it promises", icon=ui.ARROW)
    if after.name != proposed:
        st.button("Remove this calibrator", on_click=drop, args=(after.name,), icon=":material/delete:")


def show_tried() -> None:
    if recommendation:
        names = {name: name_of(each) for name, each in methods_of_kind(data.kind, None).items()}
        in_full = {name: f"{full_name(each)} ({name})" for name, each in candidates.items()}
        show_candidates(recommendation[0], names, in_full)
    elif not is_awaited():
        st.info("No candidates were tried on these rows.")
    if data.models:
        show_models()


def show_models() -> None:
    few = [name for name in ("TS", "TL-HB") if name in methods_of_kind(data.kind)]
    calibrators = few or list(methods_of_kind(data.kind))[:2]
    found = results.ask(compare_models, data.models, calibrators, n_bins=n_bins)
    st.header("Which model is better", anchor=False)
    st.markdown(found.words(ui.literal))
    st.dataframe(found.texts(), hide_index=True, height="content")
    with st.container(horizontal=True):
        ui.download(found.wide(), "models")
        ui.download(found.frame(), "models-all-numbers", label="All numbers (CSV)")
        ui.offer("Markdown", found.markdown(), "models.md", "text/markdown")
        ui.offer("LaTeX", found.latex(), "models.tex", "text/x-tex")
    st.caption("\\*: better than the base model; !: worse. " + " ".join(map(ui.escaped, found.notes())))
    measure = st.selectbox(
        "Number", found.measures, format_func=lambda key: MEASURES[key].title, key="models-number"
    )
    ui.chart(
        diagrams.draw_model_comparison(found, measure),
        "models-figure",
        table=lambda: found.frame().loc[lambda frame: frame["measure"] == measure],
        alt=f"{MEASURES[measure].title} of every model, before and after each calibrator",
    )
    with st.expander("All models and calibrators, ranked by the Brier score"):
        ranking = found.ranking()
        st.dataframe(ranking, hide_index=True)
        ui.download(ranking, "models-ranking")


def show_application() -> None:
    """Calibrate new predictions, and offer what calibrates them in production."""
    show_new_predictions(after)
    if after is not None:
        offer_scorer(after)


ui.heading(
    "Repair", "Which calibrator repairs the confidence, by how much, and what does it make of new rows?"
)
reader.pool.start()
data, base, after = dataset(), methods()[BASE], None
n_bins = int(st.session_state.get("bins", N_BINS))
answer, menu = st.columns([3, 2])
missing, recommendation, proposed = missing_for("Repair"), None, ""
#: What can be fitted, by the names that methods have.
candidates = {name_of(each): each for each in methods_of_kind(data.kind, None).values()}
if missing is not None:
    answer.info(ui.escaped(missing))
elif data.calibration is None:
    answer.info("To fit a calibrator, upload labelled rows that the model was not trained on (page Data).")
else:
    with answer:
        recommendation = recommended()
        proposed = recommendation[1] if recommendation else ""
        after = chosen_method()
        if recommendation and proposed == (after.name if after else ""):
            st.markdown(recommendation_words(*recommendation))
        elif after is not None:
            st.markdown(effect_words(after.name, results.ask(confirm_choice, base, after)))
        if data.is_divided and recommendation:
            st.caption(
                f"Chosen on {data.calibration.n_samples:,} of your rows, drawn at random; tested on each "
                f"fifth of them without it, and on the other {data.evaluation.n_samples:,}, which are "
                "shown here before and after. The calibrator file is fitted on all."
            )
        if after is not None:
            helps = bool(recommendation) and after.name == proposed
            offer_file(after, "primary" if helps else "secondary")
tabs = {"Before and after": show_effect, "Numbers": show_numbers, "Candidates": show_tried}
tabs = {} if data.calibration is None or missing is not None else tabs
ui.show_tabs({**tabs, "Apply": show_application}, "repair_tab", in_address=True)
ui.next_line("Repair")
