"""What columns are called, in lower case with single underscores, by the role that a name gives them."""

from __future__ import annotations

import re
import unicodedata


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


def pairs_of(first: str, second: str) -> frozenset[str]:
    """Return every word of one text joined with every word of another, in either order."""
    pairs = {(a, b) for a in first.split() for b in second.split() if a != b}
    return frozenset(f"{a}_{b}" for a, b in pairs) | frozenset(f"{b}_{a}" for a, b in pairs)


#: What a class is called, in names such as predicted_class and true_answer.
_CLASS_WORDS = "label labels class classes category answer answers outcome choice option letter value"

#: Names that give a column its role.
ROLE_NAMES = {
    "label": words_of(
        "label labels y y_true ytrue true true_label true_labels true_class target targets class truth "
        "ground_truth groundtruth gt actual outcome class_label y_test labels_true klasse clase "
        "etikett etiqueta"
    )
    | pairs_of("answer gold correct target label true", "index idx"),
    "id": words_of(
        "id ids row_id sample_id example_id image_id uuid guid key filename file file_name path image doc_id "
        "question_id item_id prompt_id problem_id instance_id qid question_number"
    ),
    "split": words_of("split subset partition set part dataset_split"),
    "weight": words_of("weight weights")
    | pairs_of("sample sampling survey case row instance observation importance frequency", "weight weights"),
    "group": words_of("group groups cohort site segment slice subgroup gruppe groupe grupo"),
}
INDEX_NAMES = frozenset(["", "unnamed_0", "index", "__index_level_0", "index_level_0", "row", "row_number"])
#: Labels whose name says that they are true, where another column may be called "label" and be predicted.
TRUE_NAMES = words_of(
    "y_true ytrue true true_label true_labels true_class target targets truth ground_truth groundtruth "
    "gt actual y_test labels_true gold answer "
    "expected reference answer_key wahrheit wahre_klasse verite vraie_classe verdad clase_real"
) | pairs_of("true actual gold golden correct expected reference target ground_truth observed", _CLASS_WORDS)
#: Labels of either kind of name.
LABEL_NAMES = ROLE_NAMES["label"] | TRUE_NAMES
#: Classes that were predicted.
PREDICTED_CLASS_NAMES = words_of(
    "pred preds prediction predictions predicted y_pred y_hat yhat argmax announced model_prediction "
    "predicted_name model_answer model_response model_choice model_label vorhersage vorhergesagt prognose "
    "prediccion classe_predite"
) | pairs_of("pred predicted prediction top top1 chosen selected assigned announced", _CLASS_WORDS)
#: What may be predicted, where its cells are those of the true class.
WEAK_PREDICTED_NAMES = words_of(
    "response output guess choice answer completion decision selected label class"
)
#: Lists of classes that belong to lists of scores.
LIST_NAMES = PREDICTED_CLASS_NAMES | words_of(
    "labels label classes class names top_k topk top_labels top_classes candidates choices options ranked "
    "predicted_labels predicted_classes class_names categories tokens ids class_ids answers"
)
#: Confidences in the predicted class.
CONFIDENCE_NAMES = (
    words_of("calibrated confidence conf confidences certainty msp pred_prob pred_probability")
    | words_of("konfidenz sicherheit confiance certitude confianza confianca confidenza")
    | pairs_of("max top top1 highest", "prob probability p proba score")
    | pairs_of(
        "pred predicted prediction max top top1 model answer verbalized verbalised self reported stated "
        "score pct percent percentage",
        "confidence conf certainty",
    )
)
#: Whether the prediction is right.
CORRECT_NAMES = words_of(
    "correct iscorrect correctness right hit acc accuracy em exact_match success acc_norm grade graded "
    "verdict judgement judgment richtig korrekt correcto correct_or_not is_correct was_correct "
    "answer_correct answer_is_correct prediction_correct model_correct is_right was_right"
)
#: What scores are called that may be of one event, or of the predicted class.
WEAK_SCORE_NAMES = words_of(
    "score scores prob probs proba probability probabilities p p_hat y_score y_prob y_proba y_hat "
    "y_pred pred prediction predicted_probability predicted_prob predicted_proba output logit logits "
    "pred_score likelihood wahrscheinlichkeit probabilite probabilidad"
) | pairs_of("pct percent percentage", "prob proba probability p score")
PREDICTED_NAMES = PREDICTED_CLASS_NAMES | CONFIDENCE_NAMES | {"correct", "is_correct"}
#: Names by which a column is known, whether it is used or not.
KNOWN_NAMES = (LABEL_NAMES | PREDICTED_NAMES | CORRECT_NAMES).union(*ROLE_NAMES.values())
CLASS_NAMES = words_of("class_names classes names categories label_names target_names")
SCORE_NAMES = {
    "logits": words_of("logits logit"),
    "log_probabilities": words_of("log_probs log_prob log_proba log_probabilities logprobs logp"),
    "probabilities": words_of(
        "probabilities probability probs prob proba p softmax scores score outputs output y_prob y_proba "
        "y_score predictions preds pred y_pred array predict_proba predicted_probabilities p_hat"
    ),
}
CALIBRATION = words_of("cal calib calibration val valid validation dev holdout")
EVALUATION = words_of("test eval evaluation")
TRAINING = words_of("train training trn fit learn")


def normalised(name: str) -> str:
    """Return a name in lower case with single underscores, the form in which names are compared."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    if not spaced.isascii():  # letters without their accents
        spaced = "".join(c for c in unicodedata.normalize("NFKD", spaced) if not unicodedata.combining(c))
    return re.sub(r"[^0-9a-z]+", "_", spaced.lower()).strip("_")
