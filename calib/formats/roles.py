"""Which column of a table plays which role, guessed from names and values, open to correction."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


LABEL_NAMES = words_of(
    "label labels y y_true ytrue true true_label true_labels true_class target targets class truth "
    "ground_truth groundtruth gt actual outcome class_label y_test labels_true"
)
ID_NAMES = words_of(
    "id ids row_id sample_id example_id image_id uuid guid key filename file file_name path image"
)
SPLIT_NAMES = words_of("split subset partition set part dataset_split")
WEIGHT_NAMES = words_of("weight weights sample_weight sample_weights")
GROUP_NAMES = words_of("group groups cohort site segment slice subgroup")
INDEX_NAMES = frozenset(["", "unnamed_0", "index", "__index_level_0", "index_level_0", "row", "row_number"])
PREDICTED_NAMES = words_of(
    "pred preds prediction predictions predicted predicted_label predicted_class y_pred y_hat yhat argmax "
    "confidence top_confidence max_prob correct is_correct"
)


@dataclass(frozen=True)
class Roles:
    """What each column is taken for; change fields with `dataclasses.replace` and build again.

    Attributes
    ----------
    probabilities : tuple of str
        Score columns in class order, or the name of one matrix.
    class_names : tuple of str or None
        One name per class; None when the file gives none.
    label : tuple of str
        No name, one column of true labels, or one-hot columns in class order.
    id, split, weight, group : str or None
        Columns with these roles.
    index : str or None
        A column of row numbers, left out.
    scale : str
        What the names say the scores are: "logits", "log_probabilities", "probabilities" or "unknown".
    ignored : tuple of str
        Columns without a role.
    """

    probabilities: tuple[str, ...]
    class_names: tuple[str, ...] | None = None
    label: tuple[str, ...] = ()
    id: str | None = None
    split: str | None = None
    weight: str | None = None
    group: str | None = None
    index: str | None = None
    scale: str = "unknown"
    ignored: tuple[str, ...] = ()


def plain(name: str) -> str:
    """Lower case with single underscores: what names are compared by."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[^0-9a-z]+", "_", spaced.lower()).strip("_")


def listed(names: Sequence[str]) -> str:
    """Return the first few names, quoted, for a message."""
    return ", ".join(repr(name[:40]) for name in names[:6]) + (", ..." if len(names) > 6 else "")
