"""Roles of named arrays (NPY, NPZ, list columns), and the parts that their names divide a file into."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from calib.exceptions import InputError
from calib.formats.roles import (
    GROUP_NAMES,
    ID_NAMES,
    LABEL_NAMES,
    PREDICTED_NAMES,
    SPLIT_NAMES,
    WEIGHT_NAMES,
    Roles,
    listed,
    plain,
    words_of,
)
from calib.formats.tables import Table

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


def roles_of_arrays(table: Table) -> Roles:
    """Roles of named arrays (NPY, NPZ, list columns): the matrix of scores, then vectors by name."""
    scale, chosen = "unknown", None
    for kind in ("probabilities", "log_probabilities", "logits"):
        for name in table.matrices:
            if chosen is None and plain(name) in SCORE_NAMES[kind]:
                scale, chosen = kind if plain(name) != "array" else "unknown", name
    labelled = [name for name in table.matrices if plain(name) in LABEL_NAMES]
    if chosen is None:
        rest = [name for name in table.matrices if name not in labelled]
        if len(rest) != 1:
            raise InputError(
                f"which array holds the probabilities? There are {listed(rest) or 'none'}; call it 'proba' "
                "or 'logits', and the true labels 'labels'"
            )
        chosen = rest[0]
        scale = next((kind for kind in ("logits", "log_probabilities") if kind[:-1] in plain(chosen)), scale)
    found: dict[str, str] = {}
    for role, words in (
        ("label", LABEL_NAMES),
        ("id", ID_NAMES | {"index", "indices"}),
        ("split", SPLIT_NAMES),
        ("weight", WEIGHT_NAMES),
        ("group", GROUP_NAMES),
        ("names", CLASS_NAMES),
    ):
        for name in (*table.columns, *labelled):
            if plain(name) in words:
                found.setdefault(role, name)
    n_rows = len(table.matrices[chosen])
    free = [
        name for name in table.columns if name not in found.values() and len(table.columns[name]) == n_rows
    ]
    if "label" not in found and len(free) == 1 and plain(free[0]) not in PREDICTED_NAMES:
        found["label"] = free[0]
    names = table.columns.get(found.get("names", ""))
    used = {chosen, *found.values()}
    return Roles(
        probabilities=(chosen,),
        class_names=None if names is None else tuple(str(name) for name in names),
        label=(found["label"],) if "label" in found else (),
        id=found.get("id"),
        split=found.get("split"),
        weight=found.get("weight"),
        group=found.get("group"),
        scale=scale,
        ignored=tuple(name for name in (*table.columns, *table.matrices) if name not in used) + table.ignored,
    )


def part_of(value: str) -> str | None:
    """Return "calibration" or "evaluation" if a name or split value says so, else None."""
    words = set(plain(value).split("_"))
    if words & CALIBRATION:
        return "calibration"
    return "evaluation" if words & EVALUATION else None


def part_tables(table: Table) -> Mapping[str, Table]:
    """Divide named arrays by their names: {"calibration": ..., "evaluation": ...}, empty if undivided.

    `calibration_logits` becomes `logits` of the calibration part; arrays that name no part, such as
    `class_names`, belong to both.
    """
    parts: dict[str, dict[str, np.ndarray]] = {"calibration": {}, "evaluation": {}}
    shared: dict[str, np.ndarray] = {}
    for name, values in (*table.columns.items(), *table.matrices.items()):
        part = part_of(name)
        words = [word for word in plain(name).split("_") if word not in CALIBRATION | EVALUATION]
        if part is None:
            if "train" not in words and "training" not in words:
                shared[name] = values
        else:
            parts[part]["_".join(words) or name] = values
    made = {}
    for part, arrays in parts.items():
        if any(values.ndim == 2 for values in arrays.values()):
            n_rows = next(len(values) for values in arrays.values() if values.ndim == 2)
            both = {
                n: v
                for n, v in shared.items()
                if v.ndim == 1 and (plain(n) in CLASS_NAMES or len(v) == n_rows)
            }
            content = both | arrays
            made[part] = Table(
                table.format,
                {name: values for name, values in content.items() if values.ndim == 1},
                {name: values for name, values in content.items() if values.ndim == 2},
            )
    return made
