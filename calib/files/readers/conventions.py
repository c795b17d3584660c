"""Names of columns and their roles: common words, and a table of the names that tools write.

Words are in lower case with single underscores, the form of `normalised`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache


def words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


def pairs_of(first: str, second: str) -> frozenset[str]:
    """Return every word of one text joined with every word of another, in either order."""
    pairs = {(a, b) for a in first.split() for b in second.split() if a != b}
    return frozenset(f"{a}_{b}" for a, b in pairs) | frozenset(f"{b}_{a}" for a, b in pairs)


#: What a class is called, in names such as predicted_class and true_answer.
_CALLED = "label labels class classes answer outcome choice option value"
_CODES = "idx index class_id label_id category_id"
_TOPICS = (
    "patient subject participant person user customer client case session question prompt document doc image "
    "video scan site"
)

#: Names of columns, by what they hold.
NAMES = {
    "label": words_of("label labels y class outcome class_label won happened occurred")
    | pairs_of("answer gold correct target label true actual", _CODES),
    # labels whose name says that they are true: another column called "label" may then be predicted
    "true": words_of(
        "y_true true target targets truth ground_truth gt actual y_test gold answer obs observed expected "
        "reference answer_key wahrheit clase_real 正解"
    )
    | pairs_of("true actual gold correct expected reference target ground_truth observed", _CALLED),
    "id": words_of(
        "id ids row_id sample_id example_id image_id uuid key filename file path image doc_id question_id "
        "item_id prompt_id problem_id qid row_index"
    ),
    "split": words_of("split subset partition set part"),
    "weight": pairs_of("sample sampling survey case row", "weight weights"),
    "group": words_of("group groups cohort site segment slice"),
    "fold": words_of("fold folds cv_fold"),
    "cluster": words_of("cluster cluster_id patient")
    | pairs_of("patient subject person user customer session", "id"),
    "model": words_of(
        "model model_name model_id classifier run checkpoint seed estimator algorithm llm calibrator epoch"
    ),
    "index": {"", *words_of("unnamed_0 index row row_number")},
    # the row of a line, and its class, in long tables
    "row": words_of("sample example obs observation instance item case record"),
    "class": words_of("class class_name class_id category category_id candidate option choice label_name"),
    "flag": words_of("correct is_correct is_true hit"),
    # what several rows are about: clusters, if there are enough of them
    "together": words_of(f"qid {_TOPICS}") | pairs_of(_TOPICS, "id no nr number code key"),
    # when, or in which part of an experiment: never a label, a class or a score
    "aside": words_of(
        "period time timestamp date datetime day week month quarter year hour step batch iteration rank "
        "threshold fold folds cv_fold p_value pvalue p_val p_adj"
    ),
    "predicted": words_of(
        "pred preds prediction predictions predicted y_pred y_hat yhat announced model_answer vorhersage "
        "clase_predicha top1 予測"
    )
    | pairs_of("pred predicted prediction top top1 chosen selected model", f"{_CALLED} {_CODES}"),
    # predicted, if cells are true classes
    "answered": words_of("response output guess choice answer completion decision selected label class"),
    # lists of classes that belong to lists of scores
    "list": words_of(
        "labels label classes class names top_k topk top_labels candidates categories choices options ranked "
        "predicted_classes class_names display_names ids answers"
    ),
    "confidence": words_of(
        "calibrated uncalibrated confidences top1conf konfidenz confianza confianca 信頼度"
    )
    | words_of("confidence conf certainty")
    | pairs_of("max top top1", "prob probability p proba score")
    | pairs_of(
        "pred predicted prediction max top top1 model answer self_reported stated score pct percent",
        "confidence conf certainty",
    ),
    "correct": words_of(
        "correct correctness right hit acc accuracy em exact_match success grade graded verdict judgement "
        "richtig correcto is_correct was_correct is_right was_right passed tp"
    ),
    # the complement of right
    "wrong": words_of("error wrong incorrect is_wrong is_error is_incorrect falsch"),
    # zeros and ones that say whether a prediction is right, beside a confidence
    "grade": words_of("score reward points mark"),
    # scores of one event, or of the predicted class
    "score": words_of(
        "score scores prob probs proba probability probabilities p p_hat y_score y_prob y_proba y_pred pred "
        "prediction output logit logits risk risk_score predicted_risk pd likelihood probabilidad"
    )
    | pairs_of("pct percent predicted", "prob proba probability p"),
    # scores of all classes, by their scale
    "logits": words_of("logits logit"),
    "log_probabilities": words_of("log_probs log_prob log_proba log_probabilities logprobs"),
    "probabilities": words_of(
        "probabilities probability probs prob proba p softmax scores score outputs output y_prob y_proba "
        "y_score predictions pred y_pred array predict_proba"
    ),
    # scores in objects and lists, whatever they sum to
    "distribution": words_of("distribution result results classification values top_k_conf")
    | pairs_of("class label all top choice option answer token", "probabilities probs scores logprobs"),
    "classes": words_of("class_names classes names categories label_names target_names"),
    "calibration": words_of("cal calib calibration val valid validation dev holdout"),
    "evaluation": words_of("test eval evaluation"),
    "training": words_of("train training fit learn"),
}
#: Roles that one column each has beside scores and labels.
SIDE_ROLES = ("id", "split", "fold", "weight", "group", "cluster", "model")
LABELS, SCALES = ("label", "true"), ("probabilities", "log_probabilities", "logits")
#: Names by which a column is known, whether it is used or not.
KNOWN = (*LABELS, "predicted", "confidence", "correct", "wrong", *SIDE_ROLES)
#: Probabilities that are proposed for words of confidence; the user says what they stand for.
WORDS = {
    "none": 0.0, "very low": 0.1, "low": 0.3, "unlikely": 0.2, "medium": 0.5, "moderate": 0.5, "likely": 0.7,
    "high": 0.8, "very likely": 0.9, "very high": 0.9, "almost certain": 0.95, "certain": 1.0,
}  # fmt: skip
#: Words of names that say that a column was predicted.
PREDICTED_WORDS = words_of("pred preds prediction predictions predicted predict yhat decision decided scored")

_OF_SCORES = (
    r"(?:log_?prob(?:abilit(?:y|ies)|a|s)?|logits?|prob(?:abilit(?:y|ies)|a|s)?|softmax|scores?|sigmoid"
    r"|confidence|conf|predictions?|pred|p|class)"
)
_JOIN = r"(?:[_ .:/\[(]|-(?!\d))*"
#: Words before a class name in names of scores; a sign stays with its number.
PREFIX = re.compile(
    rf"\.?(?P<word>(?:y_|pred(?:icted)?_)*{_OF_SCORES})(?P<join>{_JOIN})(?P<name>.+?)[\])]?", re.IGNORECASE
)
#: Words after a class name: cat_prob, dog score.
SUFFIX = re.compile(
    r"(?P<name>.+?)[_ .:/\-](?P<word>(?:pred(?:icted)?_)?"
    r"(?:log_?prob(?:ability|s)?|logit|prob(?:a|ability)?|score|confidence|conf|pred|p))",
    re.IGNORECASE,
)
#: Words before and after a class name in columns that say whether it is true.
LABEL_PREFIX = re.compile(
    r"(?:y_true|y|true|label|target|actual|gt|onehot|is)(?:[_ .:/\[(]|-(?!\d))+(.+?)[\])]?", re.I
)
LABEL_SUFFIX = re.compile(r"(.+?)[_ .:/\-](?:y_true|true|label|target|actual|gt|is_true|outcome)", re.I)
#: Words in names of columns of people's labels, and of a judge's verdicts.
PEOPLE = re.compile(
    r"human|person|people|expert|annotat|manual|review|rater|gold|reference|ground.?truth|true.?label"
    r"|correct.?(option|answer|label|choice)",
    re.I,
)
JUDGES = re.compile(r"judge|judgment|verdict|llm|gpt|claude|model|auto|grader|predict|\beval", re.I)


#: Names that tools write around names of the user: a regular expression of the whole name, by what it holds.
TOOLS = {
    "predicted": re.compile(r"\$[A-Z]-.+"),  # SPSS
    "score": re.compile(r"PRE_\d+"),  # SPSS
    "correct": re.compile(r"scores?\.[^.]+\.value"),  # Inspect
}


@lru_cache(maxsize=10_000)
def normalised(name: str) -> str:
    """Return a name in lower case with single underscores, the form in which names are compared."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    if not spaced.isascii():  # letters without their accents
        spaced = "".join(c for c in unicodedata.normalize("NFKD", spaced) if not unicodedata.combining(c))
    return re.sub(r"[\W_]+", "_", spaced.lower()).strip("_")


@lru_cache(maxsize=10_000)
def is_called(name: str, *kinds: str) -> bool:
    """Whether a column has a name of one of the kinds."""
    word = normalised(name)
    return any(word in NAMES[kind] or kind in TOOLS and TOOLS[kind].fullmatch(name.strip()) for kind in kinds)


def scale_of(word: str) -> str:
    squeezed = normalised(word).replace("_", "")
    if "logit" in squeezed:
        return "logits"
    if "logprob" in squeezed:
        return "log_probabilities"
    return "probabilities" if any(part in squeezed for part in ("prob", "softmax")) else "unknown"
