"""Lists and objects inside cells to columns and matrices: scores by class, ranked classes, logs."""

from __future__ import annotations

import ast
import contextlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np
import pandas as pd

from calib.base.exceptions import InputError
from calib.files.readers.columns import is_whole
from calib.files.readers.conventions import LABELS, SCALES, is_called, normalised, words_of
from calib.files.readers.long_format import SUM_TOLERANCE, ListedClasses
from calib.files.readers.source import Limits
from calib.files.readers.tables import repeated, words_in

#: Keys of a class and of its score in objects such as {"label": "cat", "score": 0.9}.
CLASS_KEYS = (
    "label", "class", "class_name", "name", "category", "answer", "token_str", "token", "prediction",
    "description", "id",
)  # fmt: skip
SCORE_KEYS = ("score", "probability", "prob", "confidence", "p", "proba", "logprob", "value")
#: Last words of names of columns of scores: model_probs.
SCORED_LAST = words_of("probs probabilities proba logits scores softmax logprobs")
#: Arrays and their numbers as Python prints them.
ARRAY = re.compile(
    r"\A(?:<tf\.Tensor:.*numpy=)?(?:\w+\.)*(?:tensor|[aA]rray|DenseVector)\(\s*(\[.*\])\s*(?:,.*)?\)>?\Z",
    re.DOTALL,
)
#: A list that says of each class whether it is true.
FLAGS = re.compile(r"\[\s*[01](?:[\s,]+[01])+\s*\]")
SCALAR = re.compile(
    r"(?:(?:np|numpy|torch)\.)?(?:tensor|array|float\d*|u?int\d+|str_)\(([^()\[\],]*)(?:,[^()\[\]]*)?\)"
)
#: Numbers that are refused: digits of other alphabets, with _ or in hexadecimal.
OTHER_NUMBER, QUOTED = re.compile(r"[^\x00-\x7f]|\d_\d|\b0[xX]"), re.compile(r"'[^']*'|\"[^\"]*\"")
#: Distance of logits from the highest at which the probability is 0.
NO_CHANCE = 1000.0
#: Most keys of an object that become columns, and deepest objects; others stay text.
MOST_KEYS, DEEPEST = 100, 5
#: Characters of a text that is read as a list.
LONGEST_LIST = 100_000

NUMBERS = {int, float}
Cells = Sequence[Any] | np.ndarray
#: The classes of each row with their scores; None if a cell is empty.
Spread = list[list[tuple[str, float]] | None]


def flattened(lists: Mapping[str, Cells], limits: Limits) -> dict[str, Cells]:
    """Return columns without lists and objects in their cells, except lists of numbers of one length.

    Scores of all classes become columns ``name[class]``, ranked classes ``label_1``, ``score_1``, ..., and
    lists of true classes ``true[class]``. Other objects become columns ``name.key``, or ``key`` if it is the
    name of a role. All else becomes text.
    """
    columns: dict[str, Cells] = {}
    spreads: dict[str, Spread] = {}
    for name, cells in _from_harness(dict(lists)).items():
        _unfold(name, cells, columns, spreads, 0)
    _pair_lists(columns, spreads)
    flat: dict[str, Cells] = {}
    classes: Sequence[str] = ()
    for name, spread in spreads.items():
        lines, values = _lines_of(name, spread)
        found, by_class = lines.scores(name, values, limits)
        if by_class or "label_1" not in flat:
            flat |= found
        classes = classes or lines.classes if by_class else classes
    tags = _tags(columns, classes)
    for name, cells in columns.items():
        nested, label = _is_nested(cells), is_called(name, *LABELS) or name == tags
        sets = _true_sets(name, cells, columns, classes, limits) if nested and label else None
        numbers = not nested or _numbers_alike(cells) or (_are_scores(name) and _all_numbers(cells))
        flat |= sets or {name: cells if numbers else _as_texts(cells)}
    return _with_known_keys(flat, [name for name in columns if name not in lists])


def _unfold(
    name: str, cells: Cells, columns: dict[str, Cells], spreads: dict[str, Spread], depth: int
) -> None:
    """Move objects of classes and scores into `spreads`, and other objects into a column for each key."""
    present, known = [cell for cell in cells if cell is not None], _are_scores(name)
    kinds = set(map(type, present))
    keys = dict.fromkeys(key for cell in present for key in cell) if kinds == {dict} else {}
    spread = [None if cell is None else _pairs_of(cell, known) for cell in cells]
    if any(spread) and spread.count(None) == len(cells) - len(present):
        spreads[name] = spread
    elif kinds == {list} and all(len(cell) == 1 for cell in present):
        _unfold(name, [None if cell is None else cell[0] for cell in cells], columns, spreads, depth)
    elif kinds == {dict} and all(type(cell.get("values")) is list and "type" in cell for cell in present):
        columns[name] = [None if cell is None else _spark_vector(cell) for cell in cells]
    elif depth < DEEPEST and 0 < len(keys) <= MOST_KEYS:
        for key in keys:
            _unfold(f"{name}.{key}", [(cell or {}).get(key) for cell in cells], columns, spreads, depth + 1)
    else:
        columns[name] = cells


def _spark_vector(cell: Mapping[str, Any]) -> list[Any]:
    if cell.get("indices") is None or type(cell.get("size")) is not int:
        return list(cell["values"])
    numbers = dict(zip(cell["indices"], cell["values"], strict=False))
    return [numbers.get(at, 0.0) for at in range(min(cell["size"], LONGEST_LIST))]


def _pairs_of(cell: Any, known: bool) -> list[tuple[str, float]] | None:
    """Return the classes and scores of {class: score} or [{"label": class, "score": score}]; else None."""
    if type(cell) is dict:
        filled = {key: value for key, value in cell.items() if value is not None}
        if (pair := _pair_of(filled)) is not None:
            return [pair]
        if not filled or not {*map(type, filled.values())} <= NUMBERS:
            return None
        whole = len(filled) > 1 and abs(math.fsum(filled.values()) - 1.0) <= SUM_TOLERANCE
        return [(key, float(value)) for key, value in filled.items()] if known or whole else None
    if type(cell) is not list:
        return None
    pairs = [_pair_of(entry) for entry in cell]
    return None if None in pairs else pairs  # type: ignore[return-value]


def _pair_of(entry: Any) -> tuple[str, float] | None:
    """Return the class and the score of {"label": "cat", "score": 0.7} or ["cat", 0.7]."""
    if type(entry) is list:
        return (entry[0], entry[1]) if [*map(type, entry)] == [str, float] else None
    if type(entry) is not dict:
        return None
    by_word = {normalised(key): value for key, value in entry.items()}
    score = next((by_word[w] for w in SCORE_KEYS if w in by_word and type(by_word[w]) in NUMBERS), None)
    named = (by_word[word] for word in CLASS_KEYS if word in by_word)
    kind = next((value for value in named if type(value) in (str, int)), None)
    return None if score is None or kind is None else (str(kind), float(score))


def _pair_lists(columns: dict[str, Cells], spreads: dict[str, Spread]) -> None:
    """Move lists of classes and the lists of their scores from columns to spreads."""
    scored = [n for n, cells in columns.items() if _are_scores(n) and _are_lists(cells, (int, float))]
    scored = [name for name in scored if any(entry % 1 for entry in _entries(columns[name]))]
    listed = [name for name in columns if is_called(_last_word(name), "list", "predicted")]
    listed = [name for name in listed if _are_lists(columns[name], (str, int))]
    listed.sort(key=lambda name: all(str(entry).isdigit() for entry in _entries(columns[name])))
    labels = {name for name in columns if is_called(name, *LABELS)}
    for scores, classes in product(scored, listed):
        if not {scores, classes} <= columns.keys() or _lengths(columns[classes]) != _lengths(columns[scores]):
            continue
        if labels - {classes} or not _several_true(columns[classes]):  # 0 and 1: which classes are true
            rows = zip(columns.pop(classes), columns.pop(scores), strict=True)
            spreads[scores] = [[*zip(map(str, names or ()), row or (), strict=True)] for names, row in rows]


def _tags(columns: Mapping[str, Cells], classes: Sequence[str]) -> str | None:
    """Return the only column of lists of classes, if no column has the name of a label; else None."""
    known = set(classes)
    if not known or any(is_called(name, *LABELS) for name in columns):
        return None
    free = [name for name in columns if not is_called(name, "predicted")]
    lists = [name for name in free if _are_lists(columns[name], (str,))]
    found = [name for name in lists if {*_entries(columns[name])} <= known]
    return found[0] if len(found) == 1 else None


def _with_known_keys(columns: dict[str, Cells], unfolded: Sequence[str]) -> dict[str, Cells]:
    """Name columns by the key of their objects alone, if it is the name of a role that no other column has.

    The roles are the confidence, whether it was right, the predicted class and the true class.
    """
    bare: dict[str, str] = {}
    for kind in ("confidence", "correct", "predicted", "true"):
        inside = [name for name in unfolded if is_called(_last_word(name), kind)]
        outside = any(is_called(name, kind) for name in columns)
        if len(inside) == 1 and not outside and (key := inside[0].rpartition(".")[2]) not in columns:
            bare[inside[0]] = key
    return {bare.get(name, name): cells for name, cells in columns.items()}


# --- lists written as text ---


def writes_lists(name: str, cells: Iterable[str]) -> bool:
    """Whether the first cell of a column of text is a list or an object of scores, as in CSV files."""
    first = str(next((cell for cell in cells if cell), "")).strip()
    bare = _unwrapped(first)
    brackets = bare[:1] + bare[-1:] in ("[]", "{}", "()")
    return bare != first or (brackets and (_are_scores(name) or FLAGS.fullmatch(bare) is not None))


def _are_scores(name: str) -> bool:
    """Whether a column of lists or objects is named as scores: probs, model_probs, prediction.scores."""
    word = _last_word(name)
    last = word.rpartition("_")[2]
    return last in SCORED_LAST or is_called(word, *SCALES, "confidence", "distribution")


def _last_word(name: str) -> str:
    return re.sub(r"top_?\d+_?", "top_k_", normalised(name.rpartition(".")[2])).rstrip("_")


def _unwrapped(text: str) -> str:
    """Return the list inside a printed array: tensor([...]), [np.float64(0.1), ...]."""
    return ARRAY.sub(r"\1", SCALAR.sub(r"\1", text.strip()))


def lists_in_texts(columns: Mapping[str, Cells]) -> dict[str, Cells]:
    """Read columns of lists that are written as text: scores, their classes, or true classes.

    JSON, Python and NumPy print them as ["a", "b"], ['a', 'b'] and [0.7 0.3]. A column with any other cell
    stays text.
    """
    read = dict(columns)
    for name, cells in columns.items():
        if is_called(name, "list", "predicted", *LABELS) or writes_lists(name, cells[:100]):
            read[name] = _lists_of(cells)
    return read


def _lists_of(cells: Cells) -> Cells:
    read: dict[Any, Any] = {}
    for text in set(cells):
        read[text] = _list_of(text) if type(text) is str and text else None
        if text and type(read[text]) not in (list, dict, float):
            return cells
    return [read[text] for text in cells]


def _list_of(text: str) -> Any:
    """Read a list, an object or a printed number from text; None if it is something else."""
    if len(text) > LONGEST_LIST:
        return None
    text, whole = _unwrapped(text), text
    with contextlib.suppress(ValueError, RecursionError):
        value = _single(json.loads(text))
        return value if type(value) in (list, dict) or whole != text else None
    if OTHER_NUMBER.search(QUOTED.sub("", text)):
        return None
    with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        return _single(as_json(ast.literal_eval(text)))
    if "..." not in text:
        with contextlib.suppress(ValueError):
            return [float(part) for part in text[1:-1].replace(",", " ").split()]
    return None


def _single(value: Any) -> Any:
    """Remove outer or inner lists of length 1, as printed tensors of one row or one column have them."""
    if type(value) is list and len(value) == 1 and type(value[0]) is list:
        return _single(value[0])
    if type(value) is list and value and all(type(entry) is list and len(entry) == 1 for entry in value):
        return [entry[0] for entry in value]
    return value


def as_json(cell: Any) -> Any:
    """Convert a Python or NumPy object to JSON types; objects of other types become text."""
    if isinstance(cell, (np.ndarray, np.generic)):
        cell = cell.tolist()
    if isinstance(cell, (list, tuple)):
        return [as_json(entry) for entry in cell]
    if isinstance(cell, dict):
        return {str(key): as_json(entry) for key, entry in cell.items()}
    if cell is None or cell is pd.NA or cell is pd.NaT:
        return None
    return cell if isinstance(cell, (str, int, float)) else str(cell)


def ranked_matrices(
    columns: dict[str, np.ndarray], matrices: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Replace a matrix of ranked classes and a matrix of their scores by columns label_1, score_1, ..."""
    labelled = any(is_called(name, *LABELS) for name in columns)
    listed = [name for name in matrices if is_called(_last_word(name), "list", "predicted")]
    for classes, scores in product(listed, filter(_are_scores, matrices)):
        names, values = matrices[classes], matrices[scores]
        of_classes = [matrix.dtype == object or is_whole(matrix) for matrix in (names, values)]
        if names.shape != values.shape or of_classes != [True, False]:
            continue
        if labelled or names.dtype == object or not np.isin(names, (0, 1)).all():  # else: which are true
            codes, words = words_in(names.ravel())
            rows = np.repeat(np.arange(len(names)), names.shape[1])
            ranks = ListedClasses(rows, codes, words, len(names)).ranks(values.ravel())
            left = {name: cells for name, cells in matrices.items() if name not in (classes, scores)}
            return columns | ranks, left
    return columns, matrices


# --- what cells hold ---


def _is_nested(cells: Cells) -> bool:
    return any(type(cell) in (list, dict) for cell in cells)


def _all_numbers(cells: Cells) -> bool:
    return None not in cells and _are_lists(cells, (int, float, type(None)))


def _numbers_alike(cells: Cells) -> bool:
    """Whether all cells are lists of numbers of one length, which make a matrix."""
    return _all_numbers(cells) and len(set(_lengths(cells))) == 1 and bool(cells[0])


def _several_true(cells: Cells) -> bool:
    return all(cell is not None and len(cell) > 1 and set(cell) <= {0, 1} for cell in cells)


def _are_lists(cells: Cells, kinds: tuple[type, ...]) -> bool:
    lists = [cell for cell in cells if cell is not None]
    return bool(lists) and all(
        type(cell) is list and all(type(entry) in kinds for entry in cell) for cell in lists
    )


def _entries(cells: Cells) -> Iterator[Any]:
    return chain.from_iterable(cell or () for cell in cells)


def _lengths(cells: Cells) -> list[int]:
    return [len(cell or ()) for cell in cells]


def _as_texts(cells: Cells) -> Cells:
    return [
        json.dumps(cell, ensure_ascii=False, default=str) if type(cell) in (list, dict) else cell
        for cell in cells
    ]


def _lines_of(name: str, spread: Spread, classes: Sequence[str] = ()) -> tuple[ListedClasses, np.ndarray]:
    """Return a line for each class that a row lists, and the scores of the lines."""
    pairs = [pair for row in spread for pair in row or ()]
    place = {word: code for code, word in enumerate(dict.fromkeys((*classes, *(word for word, _ in pairs))))}
    codes = np.array([place[word] for word, _ in pairs], dtype=np.int64)
    at = np.repeat(np.arange(len(spread)), [len(row or ()) for row in spread])
    if (twice := repeated((at * len(place) + codes).tolist())) is not None:
        row, code = divmod(twice, len(place))
        raise InputError(
            f"row {row} of {name[:60]!r} names the class {[*place][code][:60]!r} twice; give it once"
        )
    return ListedClasses(at, codes, [*place], len(spread)), np.array([float(score) for _, score in pairs])


def _true_sets(
    name: str, cells: Cells, columns: Mapping[str, Cells], classes: Sequence[str], limits: Limits
) -> dict[str, Cells] | None:
    """Turn lists of true classes into 0 and 1 for each class; None for other lists."""
    if not _are_lists(cells, (str, int)) or _several_true(cells):
        return None
    matrices = [rows for other, rows in columns.items() if other != name and _numbers_alike(rows)]
    codes = [str(code) for code in range(len(matrices[0][0]) if matrices else 0)]
    spread: Spread = [[(entry, 1.0) for entry in sorted(set(map(str, cell or ())))] for cell in cells]
    lines, ones = _lines_of(name, spread, classes or codes)
    if not classes and codes != lines.classes:
        return None
    table = lines.grid(ones.astype(np.int64), limits)
    if not classes:
        return {name: table.tolist()}
    return {f"true[{word}]": table[:, code] for code, word in enumerate(lines.classes)}


# --- logs of lm-evaluation-harness ---


def _from_harness(columns: dict[str, Cells]) -> dict[str, Cells]:
    """Return the columns of a log of lm-evaluation-harness (`--log_samples`), a line for each question.

    `filtered_resps` holds the log-likelihood of every choice, which become `logits`, or the generated answer,
    which becomes `predicted_answer`. Choices that a question does not have get probability 0.
    """
    source = next((name for name in ("filtered_resps", "resps") if name in columns), None)
    if source is None:
        return columns
    rows = [answer for cell in columns[source] if (answer := _log_likelihoods(cell)) is not None]
    kept = {n: c for n, c in columns.items() if n not in ("filtered_resps", "resps", "arguments", "target")}
    if "arguments" in columns:
        kept["prompt"] = [_first_text(cell) for cell in columns["arguments"]]
    target = {"target": columns["target"]} if "target" in columns else {}
    if len(rows) < len(columns[source]):
        return kept | target | {"predicted_answer": [_first_text(cell) for cell in columns[source]]}
    docs, targets = columns.get("doc", [None] * len(rows)), target.get("target", [None] * len(rows))
    gold = [_gold(*each) for each in zip(targets, docs, rows, strict=True)]
    if None in gold and "acc" in columns:
        kept["predicted"] = [max(range(len(row)), key=row.__getitem__) for row in rows]
        kept["confidence"] = [1.0 / math.fsum(math.exp(value - max(row)) for value in row) for row in rows]
        return kept | {"correct": kept.pop("acc")}
    width = max(map(len, rows))
    kept["logits"] = [row + [max(row) - NO_CHANCE] * (width - len(row)) for row in rows]
    return kept | ({"target": gold} if target else {})


def _log_likelihoods(cell: Any) -> list[float] | None:
    """Return the log-likelihood of each of two or more choices; None for anything else."""
    choices = cell if type(cell) is list else []
    try:
        values = [float(_single(choice)[0]) if type(choice) is list else math.nan for choice in choices]
    except (TypeError, ValueError, IndexError):
        return None
    return values if len(values) > 1 and all(map(math.isfinite, values)) else None


def _gold(target: Any, doc: Any, row: Sequence[float]) -> int | None:
    """Return the position of the true choice, which is given by its number, its letter or its text."""
    text = str(target[0] if type(target) is list and len(target) == 1 else target).strip()
    choices = doc.get("choices", doc.get("options")) if type(doc) is dict else None
    listed = [*choices.values()] if type(choices) is dict else [choices]
    texts = [each for each in listed if type(each) is list and len(each) == len(row)]
    for names in (range(len(row)), ascii_uppercase[: len(row)], ascii_lowercase[: len(row)], *texts):
        stripped = [str(name).strip() for name in names]
        if stripped.count(text) == 1:
            return stripped.index(text)
    return None


def _first_text(cell: Any) -> str | None:
    if type(cell) is str:
        return cell
    inner: Iterable[Any] = cell.values() if type(cell) is dict else cell if type(cell) is list else ()
    return next((text for text in map(_first_text, inner) if text is not None), None)
