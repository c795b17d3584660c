"""Layouts of tools under other names, cells generated: read right, or refused with what works."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from calib import InputError, accuracy, ece, read
from calib.files.findings import check
from calib.files.readers.raw_predictions import RemedyError
from calib.files.readers.roles import ChoiceError
from tests.oracles import uniform_bin

N = 60
_random = np.random.default_rng(5)
ROWS = range(N)
Y = (np.arange(N) % 5 < 2).astype(int)
P = np.clip(0.31 + 0.4 * Y + _random.normal(0, 0.18, N), 0.02, 0.98).round(3)
Q, D = (0.5 + 0.6 * (P - 0.5)).round(3), (P > 0.5).astype(int)
BOTH, C = np.stack([1 - P, P], 1).round(3), np.maximum(P, 1 - P).round(3)
RARE = np.clip(0.05 + 0.25 * Y + _random.normal(0, 0.05, N), 0.01, 0.45).round(3)
T = np.arange(N) % 3
F, G = (
    (f := _random.dirichlet(np.ones(3), N) + a * np.eye(3)[T]) / f.sum(1, keepdims=True) for a in (0.7, 0.3)
)
F, G = F.round(4), G.round(4)
F[:, 2], G[:, 2] = (1 - F[:, 0] - F[:, 1]).round(4), (1 - G[:, 0] - G[:, 1]).round(4)
TOP, HIGH, AGE, X = F.argmax(1), F.max(1), _random.integers(18, 80, N), _random.random((N, 2)).round(3)
NAMES = ("alpha", "beta", "gamma")
TRUE, SAID = np.array(NAMES, dtype=object)[T], np.array(NAMES, dtype=object)[TOP]
YES, DECIDED = (np.array(["no", "yes"], dtype=object)[item] for item in (Y, D))
SEVERAL = _random.random((N, 3)).round(3)
EACH = (_random.random((N, 3)) < SEVERAL).astype(int)
ANSWERS = [f"{row * 37 % 1009}" for row in ROWS]
GIVEN = [item if hit else f"{item}9" for item, hit in zip(ANSWERS, D == Y, strict=True)]


#: Rows with a label, in files in which others hold "-" and the like.
KEPT = np.arange(N) % 9 != 4
KEPT_ROWS = TOP[KEPT], HIGH[KEPT], T[KEPT]


def literal(score, right, groups):
    sums = {}
    for value, hit, group in zip(score, right, groups, strict=True):
        key = (group, uniform_bin(float(value), 15))
        sums[key] = sums.get(key, 0.0) + float(hit) - float(value)
    return sum(map(abs, sums.values())) / len(score)


#: Sides of matches.
TEAMS = np.array(["Ajax", "Basel", "Celtic", "Dinamo"])


def event(p, y=Y):
    return "binary", np.mean((p > 0.5) == y), literal(p, y, [0] * len(p))


def named(said, score, true):
    right = np.asarray(said) == np.asarray(true)
    return "top-label", right.mean(), literal(score, right, said)


def vectors(scores, true=T):
    top = scores.argmax(1)
    return "vectors", (top == true).mean(), literal(scores.max(1), top == true, top)


def right(score):
    return "confidence", (D == Y).mean(), literal(score, D == Y, [0] * N)


def multilabel():
    return "multilabel", None, np.mean([literal(SEVERAL[:, j], EACH[:, j], [0] * N) for j in range(3)])


def csv(**columns):
    return pd.DataFrame(columns).to_csv(index=False).encode()


def records(**columns):
    return pd.DataFrame(columns).to_dict("records")


def lines(row):
    return "\n".join(json.dumps(row(at), default=lambda item: item.tolist()) for at in ROWS).encode()


def of_classes(name, scores=F, classes=NAMES):
    return {name.format(item): scores[:, j] for j, item in enumerate(classes)}


def printed(how):
    return [how.format(*map(float, row)) for row in F]


READ = {
    "three outcomes, and a score of a tie": (
        csv(prob1=F[:, 0], probtie=F[:, 1], prob2=F[:, 2], outcome=np.array(["1", "tie", "2"])[T]),
        vectors(F),
    ),
    "weights of two groups beside a score and its decision": (
        csv(
            label=Y,
            prob=P,
            pred=D,
            w_near=(0.6 - 0.3 * (Y + X[:, 0])).round(3),
            w_far=(0.4 + 0.3 * (Y + X[:, 0])).round(3),
        ),
        event(P),
    ),
    "a second model that answers few rows": (
        csv(
            label=Y,
            pred=D,
            prob_event=P,
            review_label=np.where(np.arange(N) % 4 == 0, Y.astype(str), ""),
            review_confidence=np.where(np.arange(N) % 4 == 0, C, np.nan),
        ),
        event(P),
    ),
    "a confidence that is written twice": (
        csv(gold=TRUE, predicted=SAID, conf=HIGH, confidence=HIGH),
        named(TOP, HIGH, T),
    ),
    "the winner of two sides": (
        csv(
            home=TEAMS[T],
            away=TEAMS[T - 1],
            predicted_winner=TEAMS[T - D],
            actual_winner=TEAMS[T - Y],
            confidence=C,
        ),
        named(TEAMS[T - D], C, TEAMS[T - Y]),
    ),
    "a confidence that is graded for another prediction": (
        csv(
            ground_truth=YES,
            predicted_label=DECIDED,
            layout_label=np.where(KEPT, YES, "maybe"),
            layout_confidence=(100 * C).round(),
            correct=D == Y,
        ),
        named(np.where(KEPT, YES, "maybe"), C.round(2), YES),
    ),
    "an event's probability beside its decision and right or wrong": (
        csv(Label=YES, label_numeric=Y, prediction=D, probability=(P**3).round(3), correct=D == Y),
        event((P**3).round(3)),
    ),
    "translations of texts": (
        csv(
            pair=[*ROWS] * 2,
            language=["en"] * N + ["bn"] * N,
            text=[f"{word} {row}" for word in ("sentence", "বাক্য") for row in ROWS],
            y_true=[*Y] * 2,
            y_prob=[*P, *Q],
        ),
        event(np.r_[P, Q], np.r_[Y, Y]),
    ),
    "two of three scores named after classes": (
        csv(side=TRUE, p_alpha=F[:, 0], p_beta_side=F[:, 1], p_gamma_side=F[:, 2]),
        vectors(F),
    ),
    "right or wrong of a constant prediction": (
        csv(actual=Y, predicted=0 * Y, correct=1 - Y, win_probability=P),
        event(P),
    ),
    "the side of a bet beside its outcome": (
        csv(side=np.array(["home", "away"])[D], p_win=P, bet=C, won=Y == 1, home_p=1 - P, away_p=P),
        event(P),
    ),
    "original beside predicted, always right": (
        csv(GOOD_predicted=D, **of_classes("{}_predicted_proba", BOTH, "01"), GOOD_orig=D, W=AGE),
        vectors(BOTH, D),
    ),
    "actual beside predicted": (
        csv(predicted_decision=DECIDED, confidence=100 * C, actual_decision=YES, hard=["a", "b"] * (N // 2)),
        named(D, C, Y),
    ),
    "counts beside a decision": (csv(visits=AGE % 4, left=Y, prob_left=P, pred=D), event(P)),
    "NannyML": (csv(tenure=AGE, y_pred_proba=P, y_pred=D, churned=Y, timestamp="2024-01-01"), event(P)),
    "NannyML, classes": (
        csv(**of_classes("y_pred_proba_{}"), y_pred=SAID, plan=AGE, y_true=TRUE),
        vectors(F),
    ),
    "H2O": (csv(predict=D, p0=BOTH[:, 0], p1=P, CAPSULE=Y), vectors(BOTH, Y)),
    "Azure": (csv(**{"Survived": Y, "Scored Labels": D, "Scored Probabilities": P}), event(P)),
    "PyCaret": (
        csv(Buys=YES, prediction_label=DECIDED, **of_classes("prediction_score_{}", BOTH, ("no", "yes"))),
        vectors(BOTH, Y),
    ),
    "DataRobot": (
        csv(x_no_PREDICTION=BOTH[:, 0], x_yes_PREDICTION=P, x_PREDICTION=DECIDED, THRESHOLD=0.5, x=YES),
        vectors(BOTH, Y),
    ),
    "KNIME": (
        csv(**{"c": YES, "P (c=no)": BOTH[:, 0], "P (c=yes)": P, "Prediction (c)": DECIDED}),
        vectors(BOTH, Y),
    ),
    "SAS": (
        csv(BAD=Y, LOAN=AGE, P_BAD1=P, P_BAD0=BOTH[:, 0], I_BAD=D, F_BAD=Y),
        vectors(BOTH[:, ::-1], 1 - Y),
    ),
    "SPSS": (csv(**{"drug": TRUE, "$C-drug": SAID, "$CC-drug": HIGH}), named(TOP, HIGH, T)),
    "tidymodels": (csv(**{".pred_class": SAID, **of_classes(".pred_{}"), "Species": TRUE}), vectors(F)),
    "all decisions 0": (csv(label=Y, prediction=0, probability=RARE), event(RARE)),
    "a class in the name": (csv(diagnosis=np.where(Y, "benign", "malignant"), benign_prob=P), event(P)),
    "score of class 0": (csv(target=1 - Y, proba_class_0=P), event(P)),
    "features": (csv(age=AGE, f=X[:, 0], Class=Y, predict=D, p0=BOTH[:, 0], p1=P), vectors(BOTH, Y)),
    "-1, 0, 1": (csv(**of_classes("p_{}", F, ("-1", "0", "1")), y=T - 1), vectors(F)),
    "beside the scores": (csv(entropy=X[:, 0], fold=T, **of_classes("p{}", F, "012"), label=T), vectors(F)),
    "0, 10, 2": (
        csv(**of_classes("prediction_{}", F, ("0", "10", "2")), label=np.array([0, 10, 2])[T]),
        vectors(F),
    ),
    "truth of each class": (
        csv(**of_classes("y_true_{}", EACH, "012"), **of_classes("y_prob_{}", SEVERAL, "012")),
        multilabel(),
    ),
    "tensor": (csv(label=T, vec=printed("tensor([{}, {}, {}], device='cuda:0')")), vectors(F)),
    "np.float64": (
        csv(label=T, probs=printed("[np.float64({}), np.float64({}), np.float64({})]")),
        vectors(F),
    ),
    "jax": (csv(label=T, probs=printed("Array([[{}, {}, {}]], dtype=float32)")), vectors(F)),
    "tensors in a dict": (
        csv(label=TRUE, probs=printed("{{'alpha': tensor({}), 'beta': tensor({}), 'gamma': {}}}")),
        vectors(F),
    ),
    "scalars": (csv(label=Y, prob=[f"np.float32({p})" for p in P]), event(P)),
    "Vertex AI": (
        lines(
            lambda i: {
                "instance": {"label": TRUE[i]},
                "prediction": {"ids": ["7", "8", "9"], "displayNames": NAMES, "confidences": F[i]},
            }
        ),
        vectors(F),
    ),
    "Comprehend": (
        lines(
            lambda i: {
                "label": TRUE[i],
                "Classes": [{"Name": n, "Score": s} for n, s in zip(NAMES, F[i], strict=True)],
            }
        ),
        vectors(F),
    ),
    "Spark": (
        lines(
            lambda i: {
                "label": Y[i],
                "rawPrediction": {"type": 1, "values": [-1.5, 1.5]},
                "probability": {"type": 1, "values": BOTH[i]},
                "prediction": D[i],
            }
        ),
        vectors(BOTH, Y),
    ),
    "Spark, sparse": (
        lines(
            lambda i: {
                "label": Y[i],
                "probability": {"type": 0, "size": 2, "indices": [1, 0], "values": BOTH[i][::-1]},
            }
        ),
        vectors(BOTH, Y),
    ),
    "Inspect": (
        json.dumps(
            {
                "status": "success",
                "samples": [
                    {
                        "target": "A",
                        "scores": {"s": {"value": "CI"[int(D[i] != Y[i])], "metadata": {"confidence": C[i]}}},
                    }
                    for i in ROWS
                ],
            }
        ).encode(),
        right(C),
    ),
    "Label Studio": (
        json.dumps(
            [
                {
                    "annotations": [{"result": [{"type": "choices", "value": {"choices": [TRUE[i]]}}]}],
                    "predictions": [{"score": HIGH[i], "result": [{"value": {"choices": [SAID[i]]}}]}],
                }
                for i in ROWS
            ]
        ).encode(),
        named(TOP, HIGH, T),
    ),
    "mljar": (csv(prediction_0_for_No_1_for_Yes=P, target=Y), event(P)),
    "JMP": (csv(**{"kind": TRUE, **of_classes("Prob[{}]"), "Most Likely kind": SAID}), vectors(F)),
    "Orange": (csv(iris=TRUE, Tree=SAID, **of_classes("Tree ({})"), Fold=T), vectors(F)),
    "SPSS, logistic": (csv(age=AGE, default=Y, PRE_1=P, PGR_1=D), event(P)),
    "Spark, as text": (
        csv(label=T, features="DenseVector([1.0, 2.0])", probability=printed("DenseVector([{}, {}, {}])")),
        vectors(F),
    ),
    "ultralytics": (csv(image=ROWS, gt=TRUE, top1=SAID, top1conf=HIGH), named(TOP, HIGH, T)),
    "ultralytics, top 5": (
        lines(lambda i: {"label": T[i], "top5": np.argsort(-F[i]), "top5conf": np.sort(F[i])[::-1]}),
        vectors(F),
    ),
    "Watson": (
        lines(lambda i: {"prediction": DECIDED[i], "probability": BOTH[i], "CHURN": YES[i], "AGE": AGE[i]}),
        vectors(BOTH, Y),
    ),
    "token and logprob": (
        lines(
            lambda i: {
                "target": TRUE[i],
                "top_logprobs": [
                    {"token": n, "logprob": p}
                    for n, p in zip(NAMES, np.log(np.maximum(F[i], 1e-9)), strict=True)
                ],
            }
        ),
        vectors(F),
    ),
    "Spanish": (csv(clase_real=YES, clase_predicha=DECIDED, probabilidad=C), named(D, C, Y)),
    "Japanese": (csv(**{"画像": ROWS, "正解": TRUE, "予測": SAID, "信頼度": HIGH}), named(TOP, HIGH, T)),
    "graded by a score": (csv(target="A", sampled=GIVEN, score=D == Y, confidence=C), right(C)),
    "lines of comment": (b"# run 7\n# a, b, c\n" + csv(y_true=Y, y_prob=P), event(P)),
    "indices": (csv(true_idx=T, pred_idx=TOP, conf=HIGH), named(TOP, HIGH, T)),
    "category ids": (csv(category_id=T, pred_category_id=TOP, score=HIGH), named(TOP, HIGH, T)),
    "the label is the event": (csv(urgent=D, readmit=Y, p_readmit=P), event(P)),
    "one-hot beside": (
        csv(**of_classes("{}", np.eye(3, dtype=int)[T]), **of_classes("{}_prob")),
        vectors(F),
    ),
    "one-hot in another order": (
        csv(
            **of_classes("{}_true", np.eye(3, dtype=int)[T]),
            **of_classes("p_{}", F[:, [2, 0, 1]], (NAMES[2], *NAMES[:2])),
        ),
        vectors(F),
    ),
    "one-hot numbers in another order": (
        csv(
            **of_classes("y_true_{}", np.eye(3, dtype=int)[T], "012"),
            **of_classes("y_prob_{}", F[:, ::-1], "210"),
        ),
        vectors(F),
    ),
    "one value is no label": (csv(version=1, propensity=P, repaid=YES), event(P)),
    "ranks of numbered classes": (
        csv(
            **{f"top{k + 1}_class": np.argsort(-F)[:, k] for k in range(3)},
            **{f"top{k + 1}_score": np.sort(F)[:, 2 - k] for k in range(3)},
            gt=T,
        ),
        ("top-k", *named(TOP, HIGH, T)[1:]),
    ),
    "texts of numbers": (lines(lambda i: {"y": Y[i], "p": str(P[i])}), event(P)),
    "answers of their own": (
        csv(question=ROWS, answer=GIVEN, confidence=C, **{"correct answer": ANSWERS}),
        right(C),
    ),
    "Weka, all classes": (
        b"inst#,actual,predicted,error,distribution\n"
        + "".join(
            f"{at},{Y[at] + 1}:{YES[at]},{D[at] + 1}:{DECIDED[at]},,{BOTH[at, 0]},*{P[at]}\n" for at in ROWS
        ).encode(),
        vectors(BOTH, Y),
    ),
    "CatBoost": (csv(SampleId=ROWS, Probability=P, Class=D, Label=Y), event(P)),
    "no header": (csv(p=P, y=Y).partition(b"\n")[2], event(P)),
    "whole percentages": (csv(pop_percent=(100 * P).round().astype(int), rain=Y), event(P.round(2))),
    "by id": (
        json.dumps(
            {f"q{i}": {"result": {"correct": bool(D[i] == Y[i]), "confidence": C[i]}} for i in ROWS}
        ).encode(),
        right(C),
    ),
    "odds of another vocabulary": (
        csv(home=2.0 + P, p_home=BOTH[:, 1], p_away=BOTH[:, 0], result=np.array(["A", "H"])[Y]),
        vectors(BOTH[:, ::-1], 1 - Y),
    ),
    "a score and its outcome each": (
        csv(prob1=P, prob1_outcome=Y, prob2=BOTH[:, 0], prob2_outcome=1 - Y),
        vectors(BOTH[:, ::-1], 1 - Y),
    ),
    "wrong is the complement of right": (
        csv(confidence=C, margin=(2 * C - 1).round(3), error=D != Y),
        right(C),
    ),
    "a threshold on the score": (csv(score=P, threshold=0.5, success=P >= 0.5, human=Y), event(P)),
    "a list of truths": (
        csv(**of_classes("{}", SEVERAL), tags=[str(row.tolist()) for row in EACH]),
        multilabel(),
    ),
    "features of sum 1": (
        csv(sand=G[:, 0], silt=G[:, 1], clay=G[:, 2], confidence=C, correct=D == Y),
        right(C),
    ),
    "case": (csv(**of_classes("{}", F, ("Alpha", "Beta", "Gamma")), label=TRUE), vectors(F)),
    "classes once": (
        json.dumps({"classes": NAMES, "probabilities": F.tolist(), "labels": TRUE.tolist()}).encode(),
        vectors(F),
    ),
    "chances of three outcomes among others of a match": (
        csv(
            **of_classes("p_{}", classes="hda"),
            p_over25=P,
            p_btts=Q,
            result=np.array(["H", "D", "A"])[T],
            league=np.where(Y, "E0", "SP1"),
        ),
        vectors(F),
    ),
}
#: Refused files, what the user says then, and the numbers that it gives.
ASKED = {
    "two words that name no event": (
        csv(P_2yr=P, status=np.where(Y, "slow", "censored"), Age=AGE),
        {"label": "status"},
        event(P),
    ),
    "a decision called label beside a truth of another name": (
        csv(prediction_0=1 - P, prediction_1=P, label=D, income=Y),
        {"label": "income"},
        vectors(BOTH, Y),
    ),
    "a part of an ensemble beside its decision": (
        csv(net_prediction=(1 + P) / 2, vote_score=P, vote_prediction=D, true_label=Y, correct=D == Y),
        {"score": "vote_score"},
        event(P),
    ),
    "a label of three values, one of which goes with the score": (
        csv(p_fill=P, label=np.where(Y, "number", np.where(AGE > 40, "open", "zero"))),
        {"positive": "number"},
        event(P),
    ),
    "decisions of several models, and a unit of three": (
        csv(
            unit=T,
            actual_failure=Y,
            forest_predicted_failure=D,
            forest_failure_probability=P,
            odd_predicted_failure=1 - Y,
            odd_score=(0.55 - 0.1 * Y + 0.01 * X[:, 0]).round(3),
            boost_predicted_failure=(Q > 0.5).astype(int),
            boost_failure_probability=Q,
        ),
        {"score": "forest_failure_probability"},
        event(P),
    ),
    "only the rows in which an event's decision is wrong": (
        csv(true_label=1 - D, pred_label=D, confidence=P, correct=False),
        {"positive": "1"},
        event(P, 1 - D),
    ),
    "bets not yet resolved, and ties": (
        csv(
            confidence=P,
            odds=-110.0 - AGE,
            result=np.where(KEPT, np.array(["loss", "win"])[Y], np.array(["pending", "push"])[Y]),
        ),
        {"drop_label": "pending,push"},
        event(P[KEPT], Y[KEPT]),
    ),
    "an outcome of another name that chances do not go with": (
        csv(match=ROWS, prob_A_wins=np.roll(P, 4), actual_A_won=Y),
        {"label": "actual_A_won"},
        event(np.roll(P, 4)),
    ),
    "points of a risk beside a flag": (
        csv(length=AGE, injected=Y == 1, prediction=(P > 0.3).astype(int), risk_score=(100 * P).round(2)),
        {"score": "risk_score", "label": "injected"},
        event(P),
    ),
    "four factors of two values": (
        csv(effort=YES, reward=DECIDED[::-1], partner=YES[::-1], rain=np.roll(YES, 3), p=P),
        {"label": "effort"},
        event(P),
    ),
    "a percentage of something else beside features": (
        csv(
            code=T,
            paid_pct=100 * P,
            age=AGE,
            approved=Y,
            male=1 - Y,
            predicted=D,
            prediction_probability=P,
        ),
        {"label": "approved"},
        event(P),
    ),
    "an event in the names of two scores, beside flags": (
        csv(p_home=P, p_away=1 - P, home_tired=1 - D, home_win=Y, m_home=Q, m_away=1 - Q),
        {"score": "p_*", "label": "home_win"},
        vectors(np.stack([P, 1 - P], 1), 1 - Y),
    ),
    "directions beside finer classes": (
        csv(
            label_true=np.char.add(np.array(["mild ", "strong "])[D], TRUE.astype(str)),
            true_side=TRUE,
            pred_side=SAID,
            p_alpha=F[:, 0],
            p_beta_side=F[:, 1],
            p_gamma_side=F[:, 2],
        ),
        {"label": "true_side"},
        vectors(F),
    ),
    "models": (csv(y=Y, rf=P, xgb=Q), {"score": "xgb"}, event(Q)),
    "numbered models": (csv(y=Y, m0_prob=P, m1_prob=Q), {"score": "m1_prob"}, event(Q)),
    "stages": (csv(y=Y, prob=P, cal_prob=Q), {"score": "cal_prob"}, event(Q)),
    "two models, one without its first rows": (
        csv(
            **of_classes("prob_{}_a", F),
            **of_classes("prob_{}_b", np.where(np.arange(N)[:, None] < 30, np.nan, G)),
            result=T,
        ),
        {"score": "prob_*_a"},
        vectors(F),
    ),
    "vectors of models": (
        csv(**of_classes("rf_p{}", F, "012"), **of_classes("svm_p{}", G, "012"), y=T),
        {"score": "svm_*"},
        vectors(G),
    ),
    "rows of models": (
        csv(id=[*ROWS] * 2, system=["a"] * N + ["b"] * N, y_true=[*Y, *Y], y_prob=[*P, *Q]),
        {"model": "b"},
        event(Q),
    ),
    "settings without ids": (
        csv(setup=["a"] * N + ["b"] * N, y=[*Y, *Y], p=[*P, *Q]),
        {"model": "b"},
        event(Q),
    ),
    "two columns of codes": (
        csv(**of_classes("p{}", F, "012"), kids=T[::-1], grade=T),
        {"label": "grade"},
        vectors(F),
    ),
    "rows of settings": (
        csv(rowIndex=[*ROWS] * 2, mtry=[2] * N + [7] * N, obs=[*YES] * 2, no=1 - (p := np.r_[P, Q]), yes=p),
        {"model": "7"},
        vectors(np.stack([1 - Q, Q], 1), Y),
    ),
    "ranks without classes": (
        lines(lambda i: {"label": T[i], "scores": np.sort(F[i])[::-1]}),
        {"score": "scores"},
        vectors(np.sort(F, axis=1)[:, ::-1]),
    ),
    "never below 1/2": (
        csv(geraten=DECIDED, smoker=YES[::-1], probability=C, label=YES),
        {"predicted": "geraten"},
        named(D, C, Y),
    ),
    "two labels": (csv(repaid=Y, defaulted=1 - Y, y_pred_proba=P, y_pred=D), {"label": "repaid"}, event(P)),
    "the label is the decision": (
        csv(prediction_0=BOTH[:, 0], prediction_1=P, label=D, income=Y),
        {"label": "income"},
        vectors(BOTH, Y),
    ),
    "right beyond chance": (
        csv(labels=D, **of_classes("{}", BOTH, "01")),
        {"label": "labels"},
        vectors(BOTH, D),
    ),
    "class or grade": (
        csv(repeat=0, **of_classes("confidence.{}", BOTH, ("no", "yes")), prediction=DECIDED, correct=YES),
        {"label": "correct"},
        vectors(BOTH, Y),
    ),
    "the wrong way round": (csv(y_true=1 - Y, y_prob=P), {"positive": "0"}, event(P)),
    "raw and calibrated vectors": (
        csv(**of_classes("p_{}", F, "012"), **of_classes("cal_p_{}", G, "012"), label=T),
        {"score": "cal_p_*"},
        vectors(G),
    ),
    "verdict and human": (
        csv(verdict=np.array(["bad", "good"])[D], confidence=C, human=np.array(["bad", "good"])[Y]),
        {"predicted": "verdict"},
        named(D, C, Y),
    ),
    "a third value": (
        csv(outcome=np.where(KEPT, np.array(["loss", "win"])[Y], "push"), p_win=P),
        {"drop_label": "push"},
        event(P[KEPT], Y[KEPT]),
    ),
    "words": (
        csv(answer=GIVEN, confidence=np.array(["high", "low"])[Y], is_correct=D == Y),
        {"words": "high=0.8,low=0.3"},
        right(np.array([0.8, 0.3])[Y]),
    ),
}
#: Refused files that a fix makes usable.
FIXED = {
    "a decision in rows without a score": (
        csv(label=Y, oof_prob=np.where(KEPT, P, np.nan), in_prediction_set=(~KEPT).astype(int)),
        "not_finite",
        event(P[KEPT], Y[KEPT]),
    ),
    "Weka, some rows without a class": (
        csv(
            **{
                "inst#": [row + 1 for row in ROWS],
                "actual": np.where(KEPT, [f"{y + 1}:{y}" for y in Y], "1:?"),
            },
            predicted=[f"{d + 1}:{d}" for d in D],
            prediction=C,
        ),
        "labels_missing",
        named(D[KEPT], C[KEPT], Y[KEPT]),
    ),
    "__label__": (
        csv(label=YES, pred=[f"__label__{item}" for item in DECIDED], conf=C),
        "label_names_unmatched",
        named(D, C, Y),
    ),
    "-": (csv(label=np.where(KEPT, TRUE, "-"), pred=SAID, conf=HIGH), "labels_missing", named(*KEPT_ROWS)),
    "?": (
        csv(**of_classes("p_{}"), label=np.where(KEPT, TRUE, "?")),
        "labels_missing",
        vectors(F[KEPT], T[KEPT]),
    ),
    "N.A.": (csv(y=np.where(KEPT, YES, "N.A."), prob=P), "labels_missing", event(P[KEPT], Y[KEPT])),
    "two spellings": (
        csv(true=np.where(T == 2, "Gamma", TRUE), pred=SAID, conf=HIGH),
        "label_names_unmatched",
        named(TOP, HIGH, T),
    ),
    "a word before": (
        csv(true=TRUE, pred=[f"class_{item}" for item in SAID], conf=HIGH),
        "label_names_unmatched",
        named(TOP, HIGH, T),
    ),
    "initials": (
        csv(true=np.array(["N", "P"])[Y], pred=np.array(["Neg.", "Pos."])[D], conf=C),
        "label_names_unmatched",
        named(D, C, Y),
    ),
    "from 0": (csv(true=T, pred=TOP + 1, conf=HIGH), "label_names_unmatched", named(TOP, HIGH, T)),
    "from 1": (csv(**of_classes("p_{}"), label=T + 1), "labels_one_based", vectors(F)),
}
#: Files without a true class: flags and classes about something else are no labels.
UNLABELLED = {
    "goals beside chances of an outcome": records(
        home_goals=np.where(T == 0, 3, 1) + Y, away_goals=np.where(T == 2, 3, 1) + D, **of_classes("prob_{}")
    ),
    "codes of features beside a prediction": records(
        sex=AGE % 2, stage=np.arange(N) * 7 % 11 % 2, Prediction=DECIDED, Confidence=C
    ),
    "chances of scores beside the weaker side, in few rows": records(
        **of_classes("score[{}]", F[:15], ("2-0", "2-1", "1-2")), underdog=TEAMS[AGE[:15] % 3]
    ),
    "quantities of which one is constant": records(
        pred_visibility=100 * T + 3000, actual_visibility=[4000] * N, pred_fog_prob=RARE
    ),
    "chances of sides beside a foot that is never the third": [
        {"p_left": row[0], "p_center": row[1], "p_right": row[2], "foot": ("left", "right")[at % 2]}
        for at, row in enumerate([*F.tolist(), *G.tolist()])
    ],
    "three classes, of which two are predicted": [
        {"text": f"text {at}", "predicted_mood": ("good", "bad")[at % 2], "confidence": c - 0.2}
        for at, c in enumerate(HIGH.tolist())
    ],
    "forecasts beside goals": [
        {
            "p_home": row[0],
            "p_draw": row[1],
            "p_away": row[2],
            "prob": row[0] / 9,
            "home_goals": at * 7 % 5 % 3,
        }
        for at, row in enumerate(F.tolist())
    ],
    "COCO results": [
        {"image_id": at // 2, "category_id": int(y), "bbox": [1.0, 2.0, 30.0, 40.5], "score": 0.7 + 0.25 * p}
        for at, (y, p) in enumerate(zip(Y, P.tolist(), strict=True))
    ],
    "forecasts not yet resolved": [
        {"id": at, "p": p, "rule": {"kind": ("at_least", "at_most", "at_least")[at]}}
        for at, p in enumerate((0.3, 0.95, 0.2))
    ],
    "a flag beside ranked classes": [
        {"Top 1 Class": said, "Top 1 Confidence": c, "Small": at % 2 == 0}
        for at, (said, c) in enumerate(zip(SAID, HIGH.tolist(), strict=True))
    ],
    "a flag of the confidence beside many predicted classes": [
        {"predicted": said, "confidence": c, "uncertain": int(c < 0.6)}
        for said, c in zip(SAID, HIGH.tolist(), strict=True)
    ],
    "a decision at 0.31": [
        {"user": 7 * at, "status": int(p >= 0.31), "probability": p} for at, p in enumerate(P.tolist())
    ],
    "three scores and a flag": [
        {"p_home": row[0], "p_draw": row[1], "p_away": row[2], "projected": at % 2 == 0}
        for at, row in enumerate(F.tolist())
    ],
}
#: Files without probabilities: no reading of them is offered.
NOTHING_OFFERED = {
    "one-against-rest scores of each class beside the highest": csv(
        true_label=(T + Y) % 3, pred_label=TOP, **of_classes("prob_{}", (0.35 + 0.3 * F).round(3))
    ),
    "an event's probability beside decisions of other scores": csv(
        kind=np.where(Y, "Harmful", "Harmless"),
        harm=P,
        effect=(X[:, 0] - 2).round(3),
        predicted_kind=np.where(np.roll(D, 1), "harmful", "harmless"),
    ),
    "few chances of an event beside its decision and right or wrong": csv(
        harm=P[:12], predicted_kind=np.where(P[:12] > 0.4, "harmful", "harmless"), correct=np.arange(12) != 3
    ),
    "similarities beside a score of faithfulness": csv(
        question=[f"q{row}" for row in ROWS],
        faithfulness_score=P,
        ret_mean_score=(Q / 3).round(4),
        max_similarity=X[:, 0],
        mean_similarity=X[:, 1],
        ground_truth=[f"answer {row % 14}" for row in ROWS],
    ),
    "the winner of two sides beside their chances": csv(
        home=TEAMS[T],
        visitor=TEAMS[(T + 1) % 4],
        home_win_prob=P,
        away_win_prob=1 - P,
        actual_winner=TEAMS[(T + Y) % 4],
    ),
    "sentences about short answers": lines(
        lambda at: {
            "question": f"q{at}",
            "ground_truth": f"town {at}",
            "answer": f"town {at}" if at % 40 == 0 else f"By the text, it is town {at}.",
            "faithfulness": 0.5 + 0.4 * P[at],
        }
    ),
    "shares of a county beside flags": csv(
        county=[f"c{row}" for row in ROWS],
        candidate=TRUE,
        share_a=F[:, 0],
        share_b=1 - F[:, 0],
        older=(F[:, 0] > F[::-1, 1]).astype(int),
        richer=Y,
        fraction=G[:, 0],
    ),
    "an event's probability beside right or wrong": csv(
        case=[f"c{row}" for row in range(3 * N)],
        prob=np.r_[P, 1 - P, (1 - P) / 2],
        correct=np.r_[D == Y, D == Y, D == Y].astype(int),
    ),
    "features of games beside a predicted outcome": csv(
        importance_score=np.where(D, 0.6, 0.3),
        rank_difference=AGE,
        goals_pred=10 * P + 3,
        form_5=X[:, 0],
        form_10=X[:, 1],
        outcome=T,
        outcome_pred=TOP,
    ),
    "a quantity beside two flags that sum to 1": csv(
        same=Y,
        cross=1 - Y,
        margin=AGE,
        y_true=np.arange(N) * 3 - 90,
        pred_ridge=AGE - 50.5,
        pred_xgb=AGE - 40.5,
    ),
    "the class with the highest score": csv(**of_classes("P({})"), label=TOP),
    "texts about a quantity that is never forecast": csv(
        target=np.arange(N) + 100,
        **{"prediction.point": np.arange(N) + 107, "prediction.probability": C},
        **{
            f"prediction.{name}": [f"{name} of row {row}" for row in ROWS] for name in ("reasoning", "advice")
        },
    ),
    "shares that sum to 100 beside a share that divides ages": csv(
        **{f"RHI{at}": 100 * F[:, at] for at in range(3)},
        **{"% Donations Under $200": np.where(Y, 0.56, 0.24), "Net Worth": np.where(Y, 2000000, 2500000)},
        Age=np.where(Y, 78, 77),
        candidate=DECIDED[np.where(Y, Y.argmax(), Y.argmin())],
        income=AGE * 1000.5,
    ),
    "features without a prediction": csv(
        person_age=AGE,
        loan_amount=AGE * 100,
        loan_percent_income=(0.1 + 0.6 * P).round(2),
        loan_status=Y,
        default_on_file=np.where(D, "Y", "N"),
    ),
    "means over months": csv(
        **{f"amount_{month}m_avg": 50 + month * AGE + X[:, 0] for month in (3, 4, 5)},
        plan_0_months=T + 3,
        plan_1_months=TOP + 3,
        churn=Y,
    ),
    "p values": csv(Kind=np.where(Y, "GTEX", "ENCODE"), Gene=TRUE, Statistic=10 * P, p_value=P, Count=AGE),
    "points beside the day of a prediction": csv(
        prediction_date=[f"2026-04-{1 + row % 28:02d}" for row in ROWS], home_score=AGE, team=TRUE
    ),
    "costs of answers": csv(gold_label=TRUE, system=SAID, cost_usd=P / 1000, seconds=AGE / 7),
    "means of bins of a reliability diagram": csv(
        outcome=np.repeat(["H", "D", "A"], 8),
        bucket=[f"{10 * row}%" for row in range(8)] * 3,
        n=AGE[:24],
        predicted=np.tile(np.linspace(0.05, 0.9, 8), 3),
        actual=np.tile(np.linspace(0.07, 0.88, 8), 3),
    ),
    "three chances that sum to less than 1 in some rows": csv(
        **of_classes("p_{}", F * np.where(Y, 0.95, 1)[:, None], ("home_win", "draw", "away_win")),
        outcome=np.array(["win", "draw", "lose"])[(T + Y) % 3],
    ),
    "a margin called the confidence in one side of a match": csv(
        home=TEAMS[T],
        visitor=TEAMS[(T + 1) % 4],
        predicted_winner=TEAMS[(T + D) % 4],
        actual_winner=TEAMS[(T + Y) % 4],
        confidence=2 * C - 1,
    ),
}
#: Refused files, and what the refusal names.
REFUSED = {
    "a quantity, its prediction and its kind": (
        csv(y_true=AGE * 1000.5, y_pred=AGE * 999.7, target=np.where(Y, "real", "nominal")),
        ("'y_true'", "the name of a true class"),
    ),
    "a regression on 0 and 1": (csv(score=(1.06 * P - 0.03).round(3), y=Y), ("lies in [0, 1]",)),
    "one-hot features beside codes": (
        csv(**of_classes("hobby_{}", np.eye(3, dtype=int)[T]), job=np.arange(N) * 7 % 11 % 3, predicted=D),
        ("'hobby_alpha'", "only 0 and 1"),
    ),
    "classes called a score": (
        csv(score=np.array(["3", "2A", "2B"])[T], confidence=TRUE, gemini=SAID),
        ("'score'", "'2A' in row 1"),
    ),
    "a count of votes": (csv(votes_k=2 + Y, p_unsure=P), ("'votes_k'", "no name of a label")),
    "features alone": (csv(f1=X[:, 0], f2=X[:, 1], f3=X.prod(1), label=Y), ("'f1'", "'f2'", "'f3'")),
    "labels against named classes": (csv(**of_classes("{}"), label=(T + 1) % 3), ("'label'",)),
    "a quantity": (csv(age=AGE, y=Y), ("'age'",)),
    "models in two columns": (
        csv(
            id=[*ROWS] * 4,
            y_true=[*Y] * 4,
            y_prob=[*P, *Q, *P, *Q],
            data=["raw"] * 3 * N + ["graph"] * N,
            variant=["a"] * N + ["b"] * N + ["c"] * N + ["a"] * N,
        ),
        ("'data'", "only='data=raw'"),
    ),
    "shares of reasons": (
        csv(**of_classes("reason_{}", np.hstack([F, G]) / 2, "abcdef"), kind=np.where(TOP > 0, "x", "y")),
        ("'kind'",),
    ),
    "points": (csv(confidence=(10 * C).round().astype(int), correct=D == Y), ("from 5 to 10", "[0, 1]")),
    "scaled features": (csv(x1=X[:, 0], x2=X[:, 1], y=Y, y_pred=D), ("'x1'",)),
    "decisions": (csv(gold=TRUE, predicted=SAID, n_tokens=AGE), ("'predicted'", "decisions", "'n_tokens'")),
    "one-hot decisions": (
        csv(**of_classes("pred_{}", np.eye(3, dtype=int)[TOP]), label=TRUE),
        ("decisions",),
    ),
    "a feature called score": (csv(score_home=X[:, 0], y_true=Y, y_pred=D), ("'y_pred'", "'score_home'")),
    "an HTML page": (b"<!DOCTYPE html>\n<html></html>\n", ("HTML",)),
    "an error of a sheet": (csv(y=Y, prob=["#DIV/0!", *map(str, P[1:])]), ("'prob'", "'#DIV/0!'", "row 0")),
    "digits with _": (csv(y=Y, p=[f"0_{int(1000 * p)}" for p in P]), ("'p'", "'0_")),
    "hexadecimal": (csv(y=Y, p=[float(p).hex() for p in P]), ("'p'", "'0x")),
    "lists with _": (csv(label=T, probs=printed("[{:.2e}, 0_2, {}]")), ("'probs'", "0_2")),
    "lists of Arabic digits": (csv(label=T, probs=printed("[{}, ٠.٥, {}]")), ("'probs'", "٠")),
    "a line of means": (csv(y_true=[*Y[1:], Y.mean()], prob=P), ("'y_true'", f"row {N - 1}")),
    "Arabic digits": (
        csv(y=Y, p=[str(p).translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")) for p in P]),
        ("'p'",),
    ),
}


def numbers(rows):
    if rows.kind == "multilabel":
        return rows.kind, None, ece(rows.labels, rows, notion="class-wise")
    notion = "confidence" if rows.kind == "confidence" else "top-label"
    return rows.kind, accuracy(rows.labels, rows), ece(rows.labels, rows, notion=notion)


def agree(rows, expected):
    found = numbers(rows)
    assert found[0] == expected[0]
    assert found[1:] == pytest.approx(expected[1:], abs=1e-6)


@pytest.mark.parametrize("name", READ)
def test_read_right(name):
    file, expected = READ[name]
    agree(read(file), expected)


@pytest.mark.parametrize("name", ASKED)
def test_asked_and_answered(name):
    file, said, expected = ASKED[name]
    with pytest.raises(InputError) as caught:
        read(file)
    assert next(iter(said.values())) in str(caught.value)
    agree(read(file, **said), expected)


@pytest.mark.parametrize("name", FIXED)
def test_fixed(name):
    file, code, expected = FIXED[name]
    with pytest.raises(InputError, match=code):
        read(file)
    agree(check(file, fix=[code])["evaluation"].rows(), expected)


def test_a_part_that_is_named_is_checked():
    file = csv(split=np.where(KEPT, "heldout", "other"), p=P, label=Y)
    with pytest.raises(RemedyError, match="'heldout'"):
        check(file)
    examined = check(file, split="heldout")
    assert {part: each.raw.n_samples for part, each in examined.items()} == {"heldout": KEPT.sum()}
    with pytest.raises(InputError, match="no part 'train'"):
        check(csv(p=P, label=Y), split="train")


@pytest.mark.parametrize("nothing", ["-", "--", "?", "n/a", "unknown"])
def test_predictions_that_name_no_class_are_no_answers(nothing):
    rows = read(csv(label=TRUE, pred=np.where(KEPT, SAID, nothing), conf=HIGH))
    agree(rows, named(*KEPT_ROWS))
    assert (rows.class_names, rows.coverage) == (NAMES, KEPT.mean())


def test_signs_and_words_that_are_predicted_are_classes():
    for no in ("-", "none"):
        rows = read(csv(label=np.where(Y, "+", no), pred=np.where(D, "+", no), conf=C))
        assert (set(rows.class_names), rows.coverage) == ({"+", no}, 1.0)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    file, parts = REFUSED[name]
    with pytest.raises(InputError) as caught:
        read(file)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize("name", UNLABELLED)
def test_no_column_is_taken_for_the_true_class(name):
    rows = read(json.dumps(UNLABELLED[name]).encode())
    assert (rows.labels, rows.n_samples) == (None, len(UNLABELLED[name]))


@pytest.mark.parametrize("scale", ["probability", "logprob"])
def test_the_token_that_a_model_writes_is_no_label(scale):
    chances = np.c_[0.99 * BOTH, np.full(N, 0.01)]
    written = of_classes(
        "{}_" + scale, 100 * chances if scale == "probability" else np.log(chances), ("no", "yes", "other")
    )
    content = np.array(["no", "yes"])[chances[:, :2].argmax(1)]
    said = np.array(["No", "Yes"])[D]
    file = csv(
        question=[f"q{row}" for row in ROWS],
        self_answer=said,
        self_confidence=AGE,
        **written,
        content=content,
    )
    assert check(file)["evaluation"].raw.labels is None


def test_the_vote_of_three_answers_is_not_offered_as_the_label():
    file = csv(
        **of_classes("p_{}", np.where(KEPT[:, None], np.eye(3)[T], (np.eye(3)[T] + 0.5) / 2.5).round(4)),
        majority=TRUE,
        planned=np.where(Y, TRUE, TRUE[::-1]),
        clusters=2 - KEPT,
    )
    with pytest.raises(ChoiceError) as asked:
        read(file)
    assert [choice.given for choice in asked.value.choices] == [{"label": "planned"}]


@pytest.mark.parametrize("name", NOTHING_OFFERED)
def test_no_reading_is_offered(name):
    with pytest.raises(InputError) as caught:
        read(NOTHING_OFFERED[name])
    assert getattr(caught.value, "choices", ()) == ()
