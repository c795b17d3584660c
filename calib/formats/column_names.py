"""What columns are called, in lower case with single underscores, by the role that a name gives them."""

from __future__ import annotations

import re


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


#: Names that give a column its role.
ROLE_NAMES = {
    "label": words_of(
        "label labels y y_true ytrue true true_label true_labels true_class target targets class truth "
        "ground_truth groundtruth gt actual outcome class_label y_test labels_true"
    ),
    "id": words_of(
        "id ids row_id sample_id example_id image_id uuid guid key filename file file_name path image doc_id "
        "question_id item_id prompt_id problem_id instance_id"
    ),
    "split": words_of("split subset partition set part dataset_split"),
    "weight": words_of("weight weights sample_weight sample_weights"),
    "group": words_of("group groups cohort site segment slice subgroup"),
}
INDEX_NAMES = frozenset(["", "unnamed_0", "index", "__index_level_0", "index_level_0", "row", "row_number"])
#: Labels whose name says that they are true, where another column may be called "label" and be predicted.
TRUE_NAMES = words_of(
    "y_true ytrue true true_label true_labels true_class target targets truth ground_truth groundtruth "
    "gt actual y_test labels_true gold gold_label gold_answer answer correct_answer true_answer "
    "expected expected_answer expected_label reference reference_answer answer_key correct_label "
    "label_true"
)
#: Labels of either kind of name.
LABEL_NAMES = ROLE_NAMES["label"] | TRUE_NAMES
#: Classes that were predicted.
PREDICTED_CLASS_NAMES = words_of(
    "pred preds prediction predictions predicted predicted_label predicted_labels predicted_class "
    "y_pred y_hat yhat argmax predicted_answer model_answer pred_label pred_class pred_answer "
    "prediction_label top_class top_label label_pred model_prediction announced answer_predicted "
    "predicted_name chosen_answer"
)
#: Lists of classes that belong to lists of scores.
LIST_NAMES = PREDICTED_CLASS_NAMES | words_of(
    "labels label classes class names top_k topk top_labels top_classes candidates choices options ranked "
    "predicted_labels predicted_classes class_names categories tokens ids class_ids answers"
)
#: Confidences in the predicted class.
CONFIDENCE_NAMES = words_of(
    "calibrated confidence conf confidences top_confidence max_prob max_probability top_prob "
    "top_probability confidence_score pred_conf pred_confidence prediction_confidence "
    "predicted_confidence top_score max_score verbalized_confidence model_confidence answer_confidence "
    "certainty msp pred_prob pred_probability max_p top1_prob prob_max p_max score_top"
)
#: Whether the prediction is right.
CORRECT_NAMES = words_of(
    "correct is_correct iscorrect correctness was_correct right is_right hit acc accuracy em exact_match "
    "success acc_norm"
)
#: What scores are called that may be of one event, or of the predicted class.
WEAK_SCORE_NAMES = words_of(
    "score scores prob probs proba probability probabilities p p_hat y_score y_prob y_proba y_hat "
    "y_pred pred prediction predicted_probability predicted_prob predicted_proba output logit logits "
    "pred_score likelihood"
)
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
    return re.sub(r"[^0-9a-z]+", "_", spaced.lower()).strip("_")
