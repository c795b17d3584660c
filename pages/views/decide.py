"""Decide: which predictions may pass without a person, and what that promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from calib import InputError, decision_curve, diagrams, risk_coverage
from calib.answers import DecisionRule, EventRule
from calib.answers.decision_curves import choose_actions
from calib.answers.decision_rules import ACCURACIES
from calib.data.kinds import lacks
from pages.shared import page_results as results
from pages.shared import widgets as ui
from pages.shared.needs import need_kind, weights_refused
from pages.shared.panels.recommendation import is_awaited, open_on, recommended
from pages.shared.panels.take_away import offer_file, offer_scorer
from pages.shared.session import BASE, dataset, scored

TARGETS = {"accuracy": "Accuracy", "reviews": "Reviews", "cost": "Cost", "costs": "Cost matrix"}
#: Targets of an event, and their controls.
OF_EVENT = {
    "sensitivity": "Sensitivity, at least, %",
    "precision": "Precision, at least, %",
    "false_positive_rate": "False positive rate, at most, %",
}
#: Sensitivity that is asked for at first.
FIRST_SENSITIVITY = 90.0
#: Costs in a matrix until they are changed: of a wrong class, and of a person who looks.
WRONG, LOOK = 5.0, 1.0
#: Classes in the matrix.
MAX_CLASSES = 50


def rules_for(value: float) -> dict[str, DecisionRule]:
    """Choose a rule for each model; accuracies that are tried together share alpha."""
    choices = n_models * (len(ACCURACIES) if target == "accuracy" and value in ACCURACIES else 1)
    return {
        name: results.decision(model, choices=choices, by=by, alpha=alpha, **{target: value})
        for name, model in models.items()
    }


def target_value() -> float:
    """Ask for the value of the chosen target; an accuracy opens on the highest that can be promised."""
    if target == "accuracy":
        if "right" not in st.session_state:
            wanted = [proposed] if proposed else list(models)
            promised = (
                value for value in ACCURACIES if any(rules_for(value)[name].coverage for name in wanted)
            )
            open_on("right", 100 * next(promised, ACCURACIES[-1]))
        words = "Accuracy, %"
        return round(st.number_input(words, 1.0, 99.99, step=0.5, key="right", format="%.2f") / 100, 6)
    if target == "reviews":
        return round(st.number_input("To a person, at most, %", 0.1, 99.0, 20.0, key="reviews") / 100, 6)
    return st.number_input("A wrong one costs reviews", 1.1, 1e6, 20.0, key="cost")


def simultaneous_words() -> str:
    """Say which accuracies are promised together, if the chosen one is among them."""
    if value not in ACCURACIES:
        return "The promise holds if you chose this accuracy before looking."
    found = {value: rules_for(value)[shown] for value in ACCURACIES}
    tried = {value: rule.coverage for value, rule in found.items() if rule.guarantee is not None}
    first = next((value for value, share in tried.items() if share == 1.0), ACCURACIES[-1])
    passing = [f"{value:.0%} for {share:.1%}" for value, share in tried.items() if value >= first]
    if not passing:
        return "No accuracy can be promised."
    return (
        f"Accuracies promised at once, each for a share of the rows: {', '.join(passing)}. You may choose "
        "among these, and among the scores, after looking."
    )


def show_curves(names_shown: list[str], effects: dict[str, DecisionRule], risk: float | None) -> None:
    curves = {name: results.ask(risk_coverage, models[name]) for name in names_shown}
    ui.chart(
        diagrams.draw_risk_coverage(
            curves, effects={name: rule.effect for name, rule in effects.items()}, risk=risk
        ),
        "risk-coverage",
        table=lambda: ui.stacked(curves, "model"),
        alt="Share of accepted predictions that are wrong, against the share accepted, for every threshold",
        height=330,  # it ends on a first screen of 1280 x 800
    )
    accepts = any(np.isfinite(rule.thresholds).any() for rule in effects.values())
    st.caption("Diamonds: the rules." if accepts else "Every threshold, from few to all accepted.")


def show_benefit(few: list[str]) -> None:
    st.header("Is it worth acting on the score?", anchor=False)
    curves = {name: results.ask(decision_curve, results.second(models[name])) for name in few}
    ui.chart(
        diagrams.draw_decision_curves(curves),
        "decision-curve",
        table=lambda: ui.stacked(curves, "model"),
        alt="Net benefit of acting if the score is above a threshold, always and never",
        height=330,
    )
    st.caption(
        f"Decision curve (Vickers & Elkin 2006) of P(Y = {ui.literal(names[1])}): at threshold t, a needless "
        "action costs t / (1 - t) of a missed one. A model is worth acting on if its line is the highest."
    )


def show_event_rules() -> None:
    """Ask for targets of the event; show the threshold of each model, and what it promises."""
    asked = {}
    for place, (name, title) in zip(st.columns(len(OF_EVENT)), OF_EVENT.items(), strict=True):
        first = FIRST_SENSITIVITY if name == "sensitivity" else None
        asked[name] = place.number_input(title, 0.1, 99.9, first, key=name, placeholder="not asked for")
    targets = {name: round(value / 100, 6) for name, value in asked.items() if value is not None}
    if not targets:
        st.info("Give at least one target.")
        return
    try:
        found = {
            name: results.event_decision(model, choices=n_models, alpha=alpha, **targets)
            for name, model in models.items()
        }
    except InputError as error:
        st.info(f"Nothing to decide: {ui.escaped(error)}.")
        return
    rule = found[shown]
    (st.success if rule.guarantee else st.warning)(promised_words(rule))
    table = pd.DataFrame([{"Model": name, "Act from": each.threshold} for name, each in found.items()])
    for target, title in OF_EVENT.items():
        counts = [each.counts for each in found.values()]
        table[title.partition(",")[0]] = [None if each is None else each.share(target) for each in counts]
    digits = dict.fromkeys(table.columns[2:], "{:.1%}") | {"Act from": "{:.4f}"}
    st.dataframe(table.style.format(digits, na_rep="\u2013"), hide_index=True)
    ui.download(table, "event-rules")


def promised_words(rule: DecisionRule | EventRule) -> str:
    """Describe a rule; the promises of all accuracies and scores hold at once with probability 1 - alpha."""
    own, at_once = (f"probability {1 - level:.3g}" for level in (rule.alpha, alpha))
    return ui.escaped(rule.sentence.replace(own, at_once))


def show_cost_matrix() -> None:
    scored_all = {
        name: model
        for name, model in models.items()
        if data.event is not None or not model.evidence.lacks("notion:class-wise")
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
    fields = {"Cost per row": "cost", "Lower": "lower", "Upper": "upper", "Saved per row": "saved"}
    table = pd.DataFrame(
        [{head: getattr(costs, name) for head, name in fields.items()} for costs in found.values()]
    )
    table.insert(0, "Model", list(found))
    st.dataframe(table.style.format(dict.fromkeys(fields, "{:.4f}")), hide_index=True)
    ui.download(table, "action-costs")
    st.caption(
        f"On {data.evaluation.n_samples:,} rows, 95 % intervals. Each row gets the action with the smallest "
        "expected cost by its scores. *Saved*: compared with the one action that costs least for all rows."
    )


def threshold_words(rule: DecisionRule) -> str:
    finite = rule.thresholds[np.isfinite(rule.thresholds)]
    if not len(finite):
        return "nothing"
    return f"{finite.min():.4f}" + (f" to {finite.max():.4f}" if rule.by is not None else "")


def show_table() -> None:
    effects = {name: rule.effect for name, rule in rules.items()}
    table = pd.DataFrame(
        {
            "Model": list(rules),
            "Accepts from": list(map(threshold_words, rules.values())),
            "Accepted": [effect.coverage for effect in effects.values()],
            "Right": [effect.accuracy for effect in effects.values()],
            "Reviews": [effect.n_reviews for effect in effects.values()],
        }
    )
    if target == "cost":
        table["Cost per row"] = [effect.cost for effect in effects.values()]
    digits = {"Accepted": "{:.1%}", "Right": "{:.2%}", "Cost per row": "{:.4f}", "Reviews": "{:,}"}
    st.dataframe(table.style.format(digits), hide_index=True, placeholder="\u2013")
    ui.download(table, "decisions")
    if by is not None:
        st.header("Thresholds of the classes" if by == "class" else f"Thresholds by {by}", anchor=False)
        listed = rule.frame()
        first = "Predicted class" if by == "class" else by
        listed.columns = pd.Index([first, "Accepts from", "Rows", "Accepted", "Wrong"])
        if by == "class":
            listed[first] = list(names)
        st.dataframe(
            listed.replace(np.inf, np.nan).style.format({"Accepts from": "{:.4f}"}),
            hide_index=True,
            placeholder="nothing accepted",
            height=min(420, 40 + 35 * len(listed)),
        )
        ui.download(listed, "thresholds")


about, below = st.container(), st.container()
with below:  # with a calibrator, the page is about the rows that check it
    recommendation = recommended()
with about:
    ui.heading(
        "Decide",
        "Which predictions may pass without a person? Confident ones are accepted, others go to a person.",
    )
need_kind("Decide")
data = dataset()
#: The recommended calibrator if it helps, else "".
proposed = recommendation[1] if recommendation else ""
models = scored()
n_models = len(models) + is_awaited()
names = data.evaluation.class_names
classes = data.event is not None or lacks(data.kind, "notion:top-label") is None
two = classes and len(names) == 2
pair = [name for name in dict.fromkeys([BASE, proposed]) if name in models] or list(models)[:1]
if data.evidence.is_weighted:
    st.info(ui.escaped(weights_refused("A rule of acceptance")))
    show_curves(pair, {}, None)
    if two:
        show_benefit(pair)
    st.stop()
left, middle, whose, right = st.columns([17 if two else 14, 7, 8, 5], vertical_alignment="bottom")
with left:
    target = st.segmented_control(
        "What is given",
        [*TARGETS, "event"] if two else list(TARGETS),
        format_func=lambda name: TARGETS.get(name, "Event"),
        default="accuracy",
        required=True,
        key="target",
        bind="query-params",
    )
if target == "costs":
    show_cost_matrix()
    ui.next_line("Decide")
    st.stop()
by = None
with right.popover("Options", width="stretch"):
    alpha = st.slider("Failure probability \u03b1", 0.01, 0.5, 0.1, 0.01, key="alpha", bind="query-params")
    if target in ("accuracy", "cost"):
        table = data.evaluation.metadata
        held = pd.DataFrame() if table is None else table
        columns = [str(name) for name in held if 1 < held[name].nunique() <= MAX_CLASSES]
        ways: dict[str | None, str] = {None: "one for all"}
        ways |= {"class": "predicted class"} if classes else {}
        ways |= {name: f"value of {name}" for name in columns}
        by = st.selectbox("Thresholds by", list(ways), format_func=ways.__getitem__, key="by")
open_on("decide-model", proposed or BASE if BASE in models else next(iter(models)), models)
shown = whose.selectbox("Scores", list(models), key="decide-model")
if target == "event":
    show_event_rules()
    show_benefit([name for name in dict.fromkeys([BASE, shown]) if name in models])
    ui.next_line("Decide")
    st.stop()
try:
    with middle:
        value = target_value()
    rules = rules_for(value)
except InputError as error:
    st.info(f"Nothing to decide: {ui.escaped(error)}.")
    st.stop()
rule = rules[shown]
show = st.markdown if target != "accuracy" else st.warning if rule.guarantee is None else st.success
show(promised_words(rule))
if target == "accuracy":
    st.caption(simultaneous_words())
pair = [name for name in dict.fromkeys([BASE, shown]) if name in models]
show_curves(pair, {name: rules[name] for name in pair}, 1 - value if target == "accuracy" else None)
show_table()
if models[shown].calibrator is not None and np.isfinite(rule.thresholds).any():
    carrying = rule.carried_by(models[shown].calibrator)
    key = f"{models[shown].key}/{target}/{value}/{by}/{alpha}"
    st.header("The calibrator with its rule", anchor=False)
    offered = replace(models[shown], calibrator=carrying, key=key)
    offer_file(offered)
    offer_scorer(offered)
    st.caption("The file also says of each row whether it may pass.")
ui.next_line("Decide")
