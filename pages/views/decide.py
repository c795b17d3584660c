"""Decide: which predictions may pass without a person, and what that promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from calib import InputError, decision_curve, diagrams, risk_coverage
from calib.answers import DecisionRule
from calib.answers.costly_actions import choose_actions
from calib.answers.decision_curves import RiskCoverage, action_counts
from calib.answers.decision_rules import ACCURACIES, RuleEffect
from calib.base.interval_words import interval_words
from calib.data.kinds import lacks
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.needs import need_kind, weights_refused
from pages.shared.panels.recommendation import is_awaited, open_on, recommended
from pages.shared.panels.take_away import show_take_away
from pages.shared.session import BASE, dataset, scored

TARGETS = {
    "accuracy": ("Accuracy", "How accurate accepted predictions are"),
    "reviews": ("Reviews", "How many predictions a person can review"),
    "cost": ("Cost", "What a wrong prediction costs"),
    "costs": ("Cost matrix", "What each action costs"),
}
#: Costs in a matrix until they are changed: of a wrong class, and of a person who looks.
WRONG, LOOK = 5.0, 1.0
#: Classes in the matrix.
MAX_CLASSES = 50
#: Scopes of a promised accuracy, with a threshold for each class.
PROMISES = {"overall": "all that is accepted", "each": "each class on its own"}
#: Models in one picture.
MOST_COMPARED = 4


def rules_for(value: float) -> dict[str, tuple[DecisionRule, RuleEffect]]:
    choices = n_models * (len(ACCURACIES) if target == "accuracy" and value in ACCURACIES else 1)
    return {
        name: results.decision(
            model, choices=choices, recall=recall, by=by, promise=promise, alpha=alpha, **{target: value}
        )
        for name, model in models.items()
    }


def target_value() -> float:
    """Ask for the value of the chosen target; an accuracy opens on the highest that can be promised."""
    if target == "accuracy":
        if "right" not in st.session_state:
            found = {value: rules_for(value) for value in ACCURACIES}
            wanted = [proposed] if proposed else list(models)
            promised = (
                value for value in ACCURACIES if any(found[value][name][0].coverage for name in wanted)
            )
            open_on("right", 100 * next(promised, ACCURACIES[-1]))
        words = "Accuracy of accepted predictions, %"
        share = st.number_input(words, 1.0, 99.99, step=0.5, key="right", format="%.2f")
        return round(share / 100, 6)
    if target == "reviews":
        share = st.number_input("Left to a person, at most, %", 0.1, 99.0, 20.0, key="reviews")
        return round(share / 100, 6)
    return st.number_input("Cost of a wrong prediction, in reviews", 1.1, 1e6, 20.0, key="cost")


def simultaneous_words() -> str:
    found = {value: rules_for(value)[shown][0] for value in ACCURACIES}
    tried = {value: rule.coverage if rule.guarantee else 0.0 for value, rule in found.items()}
    first = next((value for value, share in tried.items() if share == 1.0), ACCURACIES[-1])
    passing = [
        f"{value:.0%} for {share:.1%} of the rows"
        for value, share in tried.items()
        if share and value >= first
    ]
    words = f"Promised together with probability {1 - alpha:.0%}: {', '.join(passing) or 'nothing'}. "
    if value in ACCURACIES:
        several = f" and {n_models} models" if n_models > 1 else ""
        return (
            words
            + f"\u03b1 is divided among {len(ACCURACIES)} accuracies{several}: you may choose after looking."
        )
    return words + "This accuracy has \u03b1 for itself: its promise holds if you chose it before looking."


def threshold_words(rule: DecisionRule) -> str:
    finite = rule.thresholds[np.isfinite(rule.thresholds)]
    if not len(finite):
        return "nothing"
    if rule.by is None:
        return f"{finite[0]:.4f}"
    words = f"{finite.min():.4f} to {finite.max():.4f}"
    return words if len(finite) == len(rule.thresholds) else f"{words} ({len(finite)} classes)"


def merit(name: str) -> float:
    """Return the value that ranks models: the lowest cost, or the most accepted right predictions.

    It uses the rows that chose the thresholds, so that the other rows can check the choice.
    """
    done = rules[name].effect
    return done.n_accepted - done.n_wrong if done.cost is None else -done.cost


def show_curves(
    names_shown: list[str], effects: dict[str, RuleEffect], risk: float | None, rows: str
) -> None:
    few = {name: risk_of(name) for name in names_shown}
    ui.chart(
        diagrams.draw_risk_coverage(few, effects=effects, risk=risk),
        "risk-coverage",
        table=lambda: ui.stacked(few, "model"),
        alt="Share of accepted predictions that are wrong, against the share accepted, for every threshold",
        height=330,  # it ends on a first screen of 1280 x 800
    )
    accepts = any(effect.n_accepted for effect in effects.values())
    areas = "; ".join(f"AURC of {ui.literal(name)}: {curve.aurc:.5f}" for name, curve in few.items())
    st.caption(f"{rows}. {'Diamonds: the thresholds above.' if accepts else areas}")


def risk_of(name: str) -> RiskCoverage:
    return results.ask(risk_coverage, results.half_of(models[name], checks=True))


def show_benefit(few: list[str]) -> None:
    st.header("Is it worth acting on the score?", anchor=False)
    curves = {name: results.ask(decision_curve, results.second(models[name])) for name in few}
    ui.chart(
        diagrams.draw_decision_curves(curves),
        "decision-curve",
        table=lambda: ui.stacked(curves, "model"),
        alt="Net benefit of acting if the score is above a threshold, always and never",
    )
    st.caption(
        f"Decision curve (Vickers & Elkin 2006) of P(Y = {ui.literal(names[1])}): at threshold t, a needless "
        "action costs t / (1 - t) of what a missed one costs. A model is worth acting on if its line is "
        "the highest."
    )

    st.header("Before and after, at the threshold of a cost", anchor=False)
    ratio = st.slider(
        "A missed event costs as much as this many needless actions",
        1,
        100,
        9,
        key="missed",
        bind="query-params",
    )
    threshold = 1.0 / (1.0 + ratio)
    counted = {name: results.ask(action_counts, results.second(models[name]), threshold) for name in few}
    st.markdown(
        f"A calibrated model acts if P(Y = {ui.literal(names[1])}) is at least **{threshold:.3f}**. On the "
        f"{data.evaluation.n_samples:,} evaluation rows that costs "
        + ", ".join(
            f"**{counts.cost(ratio):.4f}** with {ui.literal(name)}" for name, counts in counted.items()
        )
        + " needless actions per row."
    )
    for column, (name, counts) in zip(st.columns(len(counted)), counted.items(), strict=True):
        with column:
            st.markdown(f"**{ui.escaped(name)}**")
            table = counts.frame().set_axis([names[1], names[0]], axis=1).rename_axis("Action").reset_index()
            digits = dict.fromkeys((names[1], names[0]), "{:,.1f}" if data.evidence.is_weighted else "{:,}")
            st.dataframe(table.style.format(digits), hide_index=True, height="content")
    ui.download(
        ui.stacked(counted, "model").reset_index(),
        "confusion",
    )


def show_cost_matrix() -> None:
    scored_all = {
        name: model
        for name, model in models.items()
        if binary or not model.evidence.lacks("notion:class-wise")
    }
    if not scored_all or len(names) > MAX_CLASSES:
        st.info(
            f"A cost matrix needs a score for each class, and here at most {MAX_CLASSES} classes; "
            "`calib.answers.choose_actions` takes any number."
        )
        return
    words = st.text_input("Actions, separated by commas", f"{', '.join(names)}, ask a person", key="actions")
    actions = tuple(dict.fromkeys(part.strip() for part in words.split(",") if part.strip()))
    start = [
        [0.0 if action == name else WRONG if action in names else LOOK for action in actions]
        for name in names
    ]
    given = st.data_editor(
        pd.DataFrame(start, list(names), list(actions)),
        key=f"costs-{data.evaluation.fingerprint}-{words}",
        height="content",
        column_config={"_index": st.column_config.TextColumn("True class", pinned=True)},
    )
    costs = tuple(map(tuple, given.to_numpy(dtype=float).tolist()))
    try:
        found = {
            name: results.ask(choose_actions, model, costs=costs, actions=actions)
            for name, model in scored_all.items()
        }
    except InputError as error:
        st.info(f"Nothing to decide: {ui.escaped(error)}.")
        return
    best = found.get(proposed) or next(iter(found.values()))
    st.markdown(ui.escaped(best.sentence))
    table = pd.DataFrame(
        {
            "Model": list(found),
            "Cost per row": [costs.cost for costs in found.values()],
            "Lower": [costs.lower for costs in found.values()],
            "Upper": [costs.upper for costs in found.values()],
            "Saved per row": [costs.saved for costs in found.values()],
        }
    )
    st.dataframe(table.style.format(dict.fromkeys(table.columns[1:], "{:.4f}")), hide_index=True)
    ui.download(table, "action-costs")
    st.caption(
        f"All {data.evaluation.n_samples:,} evaluation rows, 95 % intervals. Each row gets the action "
        "with the smallest expected cost by its scores, which is best if these are calibrated. *Saved*: "
        "compared with the one action that would cost least for every row."
    )


ui.heading(
    "Decide",
    "Which predictions may pass without a person? Confident ones are accepted, the others go to a person.",
)
need_kind("Decide")
data, recommendation = dataset(), recommended()
#: The recommended calibrator if it helps, else "".
proposed = recommendation[1] if recommendation and recommendation[0].confirmed == "better" else ""
models = scored()
n_models = len(models) + is_awaited()
names = data.evaluation.class_names
binary = data.event is not None
classes = binary or lacks(data.kind, "notion:top-label") is None
if data.evidence.is_weighted:
    st.info(ui.escaped(weights_refused("A rule of acceptance")))
    compared = list(models)[:MOST_COMPARED]
    show_curves(compared, {}, None, "All evaluation rows")
    if classes and len(names) == 2:
        show_benefit(compared)
    st.stop()
left, middle, whose, right = st.columns([14, 8, 8, 5], vertical_alignment="bottom")
with left:
    target = st.segmented_control(
        "What is given",
        list(TARGETS),
        format_func=lambda target: TARGETS[target][0],
        default="accuracy",
        required=True,
        key="target",
        bind="query-params",
    )
if target == "costs":
    show_cost_matrix()
    ui.next_line("Decide")
    st.stop()
recall, promise, by_class = None, "overall", False
with right.popover("Options", width="stretch"):
    alpha = st.slider(
        "Failure probability \u03b1",
        0.01,
        0.5,
        0.1,
        0.01,
        key="alpha",
        bind="query-params",
        disabled=target == "cost",
    )
    if target != "reviews" and classes:
        by_class = st.toggle("One threshold for each predicted class", key="by-class", bind="query-params")
    if by_class and target == "accuracy":
        promise = st.segmented_control(
            "The accuracy holds for",
            list(PROMISES),
            format_func=PROMISES.__getitem__,
            default="overall",
            required=True,
            key="promise",
            bind="query-params",
            help="A promise for each class takes far more rows.",
        )
    if target == "accuracy":
        words = "Share of the right predictions that is accepted, at least, %"
        recall = st.number_input(words, 1.0, 99.0, None, key="recall", placeholder="not asked for")
        recall = None if recall is None else round(recall / 100, 6)
by = "class" if by_class else None

n_choose, n_check = (int(half.sum()) for half in results.halves(data.evidence))
try:
    with middle:
        value = target_value()
    found = rules_for(value)
except InputError as error:
    st.info(f"Nothing to decide: {ui.escaped(error)}.")
    st.stop()
rules = {name: rule for name, (rule, _) in found.items()}
checked = {name: done for name, (_, done) in found.items()}

open_on("decide-model", proposed or max(models, key=merit), models)
shown = whose.selectbox(
    "Scores",
    list(models),
    key="decide-model",
    help="At first the recommended calibrator. Without one, the best model on the rows that choose the "
    "thresholds.",
)
rule, effect = rules[shown], checked[shown]
if rule.guarantee is not None:
    st.success(ui.escaped(rule.guarantee), icon=":material/verified:")
elif target == "accuracy":
    st.warning(ui.escaped(rule.sentence), icon=":material/block:")
if target == "accuracy":
    st.caption(simultaneous_words())
if data.log:
    st.caption(ui.escaped(f"Fixed in these rows: {'; '.join(data.log)}."))
if effect.n_accepted:
    text = (
        f"Chosen on {n_choose:,} evaluation rows drawn at random. It accepts **{effect.coverage:.1%}** "
        f"({effect.n_accepted:,}) of the {n_check:,} rows left for checking; **{effect.accuracy:.2%}** of "
        "the accepted rows are right (95 % interval "
        f"{interval_words(100 * effect.lower, 100 * effect.upper, least=2)} %), {effect.n_wrong:,} are "
        f"wrong. A person looks at {effect.n_reviews:,}."
    )
    if effect.cost is not None:
        text += (
            f" That costs **{effect.cost:.3f}** reviews per row; leaving everything to a person costs 1. A "
            f"calibrated model has its best threshold at {1 - 1 / value:.4f}."
        )
    st.markdown(text)
pair = list(dict.fromkeys([BASE, shown])) if BASE in models else [shown]
show_curves(
    pair,
    {name: checked[name] for name in pair},
    1 - value if target == "accuracy" else None,
    "Rows left for checking",
)
ui.next_line("Decide")

table = pd.DataFrame(
    [
        {
            "model": name,
            "accepts from": threshold_words(rules[name]),
            "accepted": checked[name].coverage,
            "right": checked[name].accuracy,
            "right, lower": checked[name].lower if checked[name].n_accepted else np.nan,
            "right, upper": checked[name].upper if checked[name].n_accepted else np.nan,
            "reviews": checked[name].n_reviews,
            "AURC": risk_of(name).aurc,
        }
        | ({"cost per row": checked[name].cost} if target == "cost" else {})
        for name in models
    ]
)
st.dataframe(
    table.style.format(
        dict.fromkeys(("accepted",), "{:.1%}")
        | dict.fromkeys(("right", "right, lower", "right, upper"), "{:.2%}")
        | {"AURC": "{:.5f}", "cost per row": "{:.4f}", "reviews": "{:,}"},
        na_rep="\u2013",
    ),
    hide_index=True,
    placeholder="\u2013",
    column_config={name: name[0].upper() + name[1:] for name in table.columns},
)
ui.download(table, "decisions")
st.caption(
    "All on the rows left for checking, with 95 % intervals. AURC: mean share of wrong "
    "predictions over all coverages; smaller is better."
)
if len(models) == 1:
    st.page_link("pages/views/repair.py", label="Fit a calibrator and compare what it accepts", icon=ui.ARROW)

if by_class:
    st.header("Thresholds of the classes", anchor=False)
    listed = rule.frame().assign(label=list(names)).rename(columns={"label": "predicted class"})
    st.dataframe(
        listed.replace(np.inf, np.nan).style.format({"threshold": "{:.4f}"}),
        hide_index=True,
        placeholder="nothing accepted",
        height=min(420, 40 + 35 * len(listed)),
    )
    ui.download(listed, "thresholds")

if classes and len(names) == 2:
    show_benefit(pair)

if models[shown].calibrator is not None and np.isfinite(rule.thresholds).any():
    carrying = rule.carried_by(models[shown].calibrator)
    key = f"{models[shown].key}/{target}/{value}/{by}/{promise}/{alpha}"
    st.header("The calibrator with its rule", anchor=False)
    show_take_away(replace(models[shown], calibrator=carrying, key=key))
    st.caption(
        "The file holds the thresholds and what they promise. `calib.load(file).rule_.accept(scores)`, the "
        "scorer and the ONNX graph say of each row whether it may pass (`accept`); `calib gate` "
        "can limit `accepted` and `accepted_accuracy`."
    )
