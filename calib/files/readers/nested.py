"""Lists and objects inside cells to flat columns: scores by class, ranked classes, logs of evaluations.

What comes out are columns of single values, and matrices: lists of equally many numbers.
"""

from __future__ import annotations

import ast
import contextlib
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from calib.base.exceptions import InputError
from calib.files.readers.conventions import (
    CONFIDENCE_NAMES,
    CORRECT_NAMES,
    LABEL_NAMES,
    LIST_NAMES,
    PREDICTED_CLASS_NAMES,
    PREFIX,
    SCORE_NAMES,
    TRUE_NAMES,
    normalised,
    words_of,
)
from calib.files.readers.source import Limits
from calib.files.readers.tables import repeated

#: Keys of a class and of its score in objects such as {"label": "cat", "score": 0.9}.
CLASS_KEYS = ("label", "class", "class_name", "name", "category", "answer", "token_str", "prediction", "id")
SCORE_KEYS = ("score", "probability", "prob", "confidence", "p", "proba", "value")
#: Columns of objects or lists that hold scores, whatever these sum to.
SCORED = frozenset().union(*SCORE_NAMES.values(), CONFIDENCE_NAMES) | words_of(
    "distribution class_probabilities class_probs label_probs label_scores class_scores result results "
    "classification classifications all_scores top_scores top_probs values "
    "top_logprobs choice_probs choice_logprobs option_probs option_logprobs answer_probs answer_logprobs "
    "token_probs token_logprobs"
)
#: Last words of names of columns of scores: model_probs.
SCORED_LAST = words_of("probs probabilities proba logits scores softmax logprobs")
#: What Python prints of arrays and of their numbers.
ARRAY = re.compile(r"(?:torch\.|np\.|numpy\.)?(?:tensor|array)\(\s*(\[.*\])\s*(?:,.*)?\)", re.DOTALL)
SCALAR = re.compile(r"(?:np|numpy)\.\w+\(([^()]*)\)")
#: Scores of a row that sum to 1 up to this are those of all classes that are not 0.
SUM_TOLERANCE = 5e-3
#: Logits this far below the highest have a probability of 0.
NO_CHANCE = 1000.0
#: Keys of an object that become columns of their own; objects with more stay text.
MOST_KEYS = 100
#: Characters of a text that is read as a list.
LONGEST_LIST = 100_000

Cells = Sequence[Any]
Ranked = tuple[list[list[str]], list[list[float]]]


def flattened(lists: Mapping[str, Cells], limits: Limits) -> dict[str, Cells]:
    """Return columns without lists and objects in their cells, but for lists of equally many numbers.

    Scores of all classes become the columns ``name[class]``, the highest classes ``label_1``, ``score_1``,
    ..., a list of true classes ``true[class]``. An object of other values becomes the columns ``name.key``,
    those without the name that say what the model announced, and everything else its text.

    Raises
    ------
    InputError
        If a row names a class twice, or scores differ in number from their classes.
    """
    columns = _opened(_of_harness(dict(lists)))
    if not any(_is_nested(cells) for cells in columns.values()):
        return columns
    flat: dict[str, Cells] = {}
    classes: list[str] = []
    unfolded: dict[str, str] = {}
    taken, ranked = _ranked_lists(columns)
    for name, (names, scores) in ranked.items():
        found, listed = _by_class(name, names, scores, limits)
        classes = classes or listed
        if listed or "label_1" not in flat:
            flat |= found
    for name, cells in columns.items():
        if name in taken:
            continue
        if not _is_nested(cells):
            flat[name] = cells
        elif (single := _single_values(cells)) is not None:
            flat[name] = single
        elif (normalised(name) in LABEL_NAMES or name == _tags(columns, classes, taken)) and (
            sets := _true_sets(name, cells, columns, classes, limits)
        ) is not None:
            flat |= sets
        elif _numbers_alike(cells) or (_are_scores(name) and _all_numbers(cells)):
            flat[name] = cells
        else:
            inner = _unfolded(name, cells)
            flat |= inner
            unfolded |= {one: one.removeprefix(f"{name}.") for one in inner}
    return _with_known_keys(flat, unfolded)


def _opened(columns: dict[str, Cells]) -> dict[str, Cells]:
    """Return columns with the lists of scores inside objects, as Vertex AI and Spark write them."""
    opened: dict[str, Cells] = {}
    for name, cells in columns.items():
        present = [cell for cell in cells if cell is not None]
        if not present or not all(type(cell) is dict for cell in present):
            opened[name] = cells
        elif all({"type", "values"} <= cell.keys() and type(cell["values"]) is list for cell in present):
            opened[name] = [None if cell is None else _vector_of(cell) for cell in cells]
        elif inside := [key for key in present[0] if _are_scores(key) and type(present[0][key]) is list]:
            keys = inside + [key for key in present[0] if key not in inside]
            opened |= {f"{name}.{key}": [(cell or {}).get(key) for cell in cells] for key in keys}
        else:
            opened[name] = cells
    return opened


def _vector_of(cell: Mapping[str, Any]) -> list[Any]:
    """Return the numbers of a vector of Spark, dense or sparse."""
    if cell.get("indices") is None or type(cell.get("size")) is not int:
        return list(cell["values"])
    numbers = dict(zip(cell["indices"], cell["values"], strict=False))
    return [numbers.get(at, 0.0) for at in range(min(cell["size"], LONGEST_LIST))]


def _tags(columns: Mapping[str, Cells], classes: Sequence[str], taken: Collection[str]) -> str | None:
    """Return the only column of lists of classes, where no column has the name of a label; else None."""
    known = set(classes)
    if not known or any(normalised(name) in LABEL_NAMES for name in columns):
        return None
    free = [name for name in columns if name not in taken and normalised(name) not in PREDICTED_CLASS_NAMES]
    lists = [name for name in free if _is_nested(columns[name]) and _are_lists(columns[name], (str,))]
    found = [name for name in lists if {one for cell in columns[name] for one in cell or ()} <= known]
    return found[0] if len(found) == 1 else None


def _with_known_keys(columns: dict[str, Cells], unfolded: Mapping[str, str]) -> dict[str, Cells]:
    """Return columns with the keys of objects for names, where only these say what the model announced.

    That is a confidence, whether it was right, the predicted class and the true one, each where no column
    outside of objects has such a name, and one inside has.
    """
    bare = {}
    for names in (CONFIDENCE_NAMES, CORRECT_NAMES, PREDICTED_CLASS_NAMES, TRUE_NAMES):
        inside = [one for one, key in unfolded.items() if normalised(key) in names]
        outside = any(normalised(name) in names for name in columns)
        if len(inside) == 1 and not outside and unfolded[inside[0]] not in columns:
            bare[inside[0]] = unfolded[inside[0]]
    return {bare.get(name, name): cells for name, cells in columns.items()}


def writes_lists(name: str, cells: Iterable[str]) -> bool:
    """Whether a column of text writes lists or objects of scores, as in CSV files, by its first cell."""
    first = _unwrapped(str(next((cell for cell in cells if cell), "")))
    return _are_scores(name) and (first[:1], first[-1:]) in (("[", "]"), ("{", "}"))


def _are_scores(name: str) -> bool:
    """Whether a column of lists or objects is called scores: probs, model_probs, prediction.scores."""
    word = _last_word(name)
    return word in SCORED or word.rpartition("_")[2] in SCORED_LAST


def _last_word(name: str) -> str:
    return normalised(name.rpartition(".")[2])


def _unwrapped(text: str) -> str:
    """Return the list in what Python prints of arrays: tensor([...]), [np.float64(0.1), ...]."""
    text = SCALAR.sub(r"\1", text.strip())
    match = ARRAY.fullmatch(text)
    return text if match is None else match[1]


def lists_in_texts(columns: Mapping[str, Cells]) -> dict[str, Cells]:
    """Return columns with the lists that texts write: of scores, of their classes and of true classes.

    Lists are written as JSON, as Python or as NumPy prints them: ["a", "b"], ['a', 'b'], [0.7 0.3]. A column
    with a cell that writes none stays text.
    """
    named = LIST_NAMES | LABEL_NAMES
    return {
        name: _lists_of(cells) if _are_scores(name) or normalised(name) in named else cells
        for name, cells in columns.items()
    }


def _lists_of(cells: Cells) -> Cells:
    read: dict[Any, Any] = {}
    for text in set(cells):
        read[text] = _list_of(text) if type(text) is str and text else None
        if text and type(read[text]) not in (list, dict):
            return cells
    return [read[text] for text in cells]


def _list_of(text: str) -> Any:
    """Return the list or object that a text writes; None if it writes none."""
    if len(text) > LONGEST_LIST:
        return None
    text = _unwrapped(text)
    with contextlib.suppress(ValueError, RecursionError):
        return _single(json.loads(text))
    with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        return _single(_plain(ast.literal_eval(text)))
    if "..." not in text:
        with contextlib.suppress(ValueError):
            return [float(one) for one in text[1:-1].replace(",", " ").split()]
    return None


def _single(value: Any) -> Any:
    """Return the only list in a list of one, as tensors of one row have it."""
    return value[0] if type(value) is list and len(value) == 1 and type(value[0]) is list else value


def _plain(value: Any) -> Any:
    """Return a value of Python with lists for tuples."""
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return value if value is None or isinstance(value, (str, int, float)) else str(value)


def ranked_matrices(
    columns: dict[str, np.ndarray], matrices: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return columns and matrices with the columns label_1, score_1, ... in place of two matrices of ranks.

    These are the matrix of classes (whole numbers or text) and the one of their scores.
    """
    labelled = any(normalised(name) in LABEL_NAMES for name in columns)
    for classes, names in matrices.items():
        if normalised(classes) not in LIST_NAMES or not _whole(names):
            continue
        if not labelled and names.dtype.kind != "O" and np.isin(names, (0, 1)).all():
            continue  # whether each class is true
        for scores, values in matrices.items():
            if normalised(scores) in SCORED and values.shape == names.shape and not _whole(values):
                cells = names if names.dtype == object else names.astype(np.int64)
                ranks = ranked_columns(cells.tolist(), values.tolist())
                made = {
                    name: np.array(one, object if isinstance(one[0], str) else None)
                    for name, one in ranks.items()
                }
                left = {name: one for name, one in matrices.items() if name not in (classes, scores)}
                return columns | made, left
    return columns, matrices


def _whole(matrix: np.ndarray) -> bool:
    with np.errstate(invalid="ignore"):  # a signalling NaN is not whole
        return matrix.dtype == object or bool((matrix == np.floor(matrix)).all())


def _is_nested(cells: Cells) -> bool:
    return any(type(cell) in (list, dict) for cell in cells)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _all_numbers(cells: Cells) -> bool:
    return all(type(cell) is list and all(_is_number(one) or one is None for one in cell) for cell in cells)


def _numbers_alike(cells: Cells) -> bool:
    """Whether all cells are lists of equally many numbers, which make a matrix."""
    return _all_numbers(cells) and len({len(cell) for cell in cells}) == 1 and bool(cells[0])


def _single_values(cells: Cells) -> Cells | None:
    """Return the only value of every list; None where a list holds several, or an object."""
    if not all(cell is None or (type(cell) is list and len(cell) == 1) for cell in cells):
        return None
    single = [None if cell is None else cell[0] for cell in cells]
    return None if _is_nested(single) else single


def _ranked_lists(columns: Mapping[str, Cells]) -> tuple[set[str], dict[str, Ranked]]:
    """Return the names of columns that hold classes with scores, and these by the name of the scores."""
    taken: set[str] = set()
    found: dict[str, Ranked] = {}
    for name, cells in columns.items():
        if not _is_nested(cells):
            continue
        pairs = _of_objects(name, cells)
        if pairs is not None:
            found[name] = pairs
            taken.add(name)
    of_classes = [
        name
        for name, cells in columns.items()
        if name not in taken and _last_word(name) in LIST_NAMES and _are_lists(cells, (str, int))
    ]
    of_scores = [
        name
        for name, cells in columns.items()
        if name not in taken and _are_scores(name) and _are_lists(cells, (int, float))
    ]
    of_scores = [name for name in of_scores if _hold_fractions(columns[name])]
    for scores in of_scores:
        for classes in of_classes:
            if classes in taken or not _parallel(columns[classes], columns[scores]):
                continue
            rows = columns[classes]
            others = [name for name in columns if name != classes and normalised(name) in LABEL_NAMES]
            if _several_true(rows) and not others:
                continue  # zeros and ones: whether each class is true
            names = [[] if row is None else [str(one) for one in row] for row in rows]
            found[scores] = names, [list(row or []) for row in columns[scores]]
            taken |= {classes, scores}
            break
    return taken, found


def _several_true(cells: Cells) -> bool:
    return all(cell is not None and len(cell) > 1 and set(cell) <= {0, 1} for cell in cells)


def _are_lists(cells: Cells, kinds: tuple[type, ...]) -> bool:
    lists = [cell for cell in cells if cell is not None]
    return bool(lists) and all(
        type(cell) is list and all(type(one) in kinds for one in cell) for cell in lists
    )


def _hold_fractions(cells: Cells) -> bool:
    return any(type(one) is float and not one.is_integer() for cell in cells for one in cell or ())


def _parallel(a: Cells, b: Cells) -> bool:
    return len(a) == len(b) and all(len(x or ()) == len(y or ()) for x, y in zip(a, b, strict=True))


def _of_objects(name: str, cells: Cells) -> Ranked | None:
    """Return classes and scores of {class: score} or [{"label": class, "score": score}, ...]; else None."""
    present = [cell for cell in cells if cell is not None]
    if not present:
        return None
    if all(type(cell) is dict for cell in present):
        cells = [None if cell is None else _filled(cell) for cell in cells]
        present = [cell for cell in cells if cell is not None]
        keys = next((_keys_of(cell) for cell in present), None)
        if keys is not None and all(set(keys) <= cell.keys() for cell in present):
            cells = [None if cell is None else [cell] for cell in cells]
            return _of_pairs(cells, keys)
        if all(cell and all(map(_is_number, cell.values())) for cell in present):
            known = _are_scores(name)
            if known or all(abs(math.fsum(cell.values()) - 1.0) <= SUM_TOLERANCE for cell in present):
                return (
                    [list(cell or ()) for cell in cells],
                    [[float(one) for one in (cell or {}).values()] for cell in cells],
                )
        return None
    if all(type(cell) is list and all(map(_is_pair, cell)) for cell in present) and any(present):
        keys = ("class", "score")
        return _of_pairs([[dict(zip(keys, one, strict=True)) for one in cell or ()] for cell in cells], keys)
    if not all(type(cell) is list and all(type(one) is dict for one in cell) for cell in present):
        return None
    first = next((one for cell in present for one in cell), None)
    keys = None if first is None else _keys_of(first)
    return None if keys is None else _of_pairs(cells, keys)


def _is_pair(value: Any) -> bool:
    """Whether a value is a class and its score, such as ["cat", 0.7]."""
    return type(value) is list and len(value) == 2 and type(value[0]) is str and type(value[1]) is float


def _filled(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without keys that have no value, which tables of objects give to every row."""
    return {key: value for key, value in one.items() if value is not None}


def _keys_of(one: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the keys of the class and of its score."""
    by_word = {normalised(key): key for key in one}
    score = next((by_word[w] for w in SCORE_KEYS if w in by_word and _is_number(one[by_word[w]])), None)
    named = (by_word[word] for word in CLASS_KEYS if word in by_word)
    kind = next((key for key in named if type(one[key]) in (str, int)), None)
    return None if score is None or kind is None else (kind, score)


def _of_pairs(cells: Cells, keys: tuple[str, str]) -> Ranked | None:
    kind, score = keys
    if not all(kind in one and _is_number(one.get(score)) for cell in cells for one in cell or ()):
        return None
    return (
        [[str(one[kind]) for one in cell or ()] for cell in cells],
        [[float(one[score]) for one in cell or ()] for cell in cells],
    )


def _by_class(
    name: str, names: list[list[str]], scores: list[list[float]], limits: Limits
) -> tuple[dict[str, Cells], list[str]]:
    """Return columns of scores by class, and the classes; or of ranks, and no classes.

    Scores are those of all classes if every row lists every class, or if every row sums to 1: classes that a
    row leaves out are 0 then.
    """
    for row, listed in enumerate(names):
        if (twice := repeated(listed)) is not None:
            raise InputError(f"row {row} of {name[:60]!r} names the class {twice[:60]!r} twice; give it once")
    classes = list(dict.fromkeys(one for listed in names for one in listed))
    complete = all(len(listed) == len(classes) for listed in names)
    sums = all(not row or (abs(math.fsum(row) - 1.0) <= SUM_TOLERANCE and min(row) >= 0.0) for row in scores)
    if len(classes) > 1 and (complete or sums):
        limits.check_columns(len(classes))
        limits.check_filled(len(classes) * len(names), sum(map(len, names)))
        column_of = {one: place for place, one in enumerate(classes)}
        table = np.zeros((len(classes), len(names)))
        for row, (listed, values) in enumerate(zip(names, scores, strict=True)):
            table[[column_of[one] for one in listed] or slice(None), row] = values or np.nan
        match = PREFIX.fullmatch(f"{name}[x]")
        of_logarithms = "logprob" in normalised(name).replace("_", "")
        word = name if match is not None and match["word"] == name else "score"
        word = "logprob" if of_logarithms else word
        return {f"{word}[{one}]": table[place] for one, place in column_of.items()}, classes
    return ranked_columns(names, scores), []


def ranked_columns(names: Sequence[Sequence[str]], scores: Sequence[Sequence[float]]) -> dict[str, Cells]:
    """Return the columns label_1, score_1, ... of listed classes, the highest first.

    There are as many ranks as every row has that lists any.
    """
    sizes = [len(row) for row in scores if len(row)]
    n_ranks = min(sizes, default=1)
    orders = [sorted(range(len(row)), key=lambda at, row=row: -row[at]) for row in scores]  # type: ignore[misc]
    if n_ranks == 1:
        heads = ("predicted", "confidence")
    columns: dict[str, Cells] = {}
    for rank in range(n_ranks):
        label, score = heads if n_ranks == 1 else (f"label_{rank + 1}", f"score_{rank + 1}")
        columns[label] = [
            row[at[rank]] if len(at) > rank else None for row, at in zip(names, orders, strict=True)
        ]
        columns[score] = [
            row[at[rank]] if len(at) > rank else None for row, at in zip(scores, orders, strict=True)
        ]
    return columns


def _true_sets(
    name: str, cells: Cells, columns: Mapping[str, Cells], classes: Sequence[str], limits: Limits
) -> dict[str, Cells] | None:
    """Return whether each class is true, of lists of true classes; None if these are something else."""
    if not _are_lists(cells, (str, int)) or _several_true(cells):
        return None
    if not classes:
        width = next(
            (len(rows[0]) for other, rows in columns.items() if other != name and _numbers_alike(rows)), 0
        )
        codes = {one for cell in cells for one in cell or ()}
        if not width or not all(type(one) is int and 0 <= one < width for one in codes):
            return None
        return {
            name: [[int(code in true) for code in range(width)] for true in (set(c or ()) for c in cells)]
        }
    sets = [{str(one) for one in cell or ()} for cell in cells]
    every = list(dict.fromkeys([*classes, *(one for each in sets for one in sorted(each))]))
    limits.check_columns(len(every))
    limits.check_filled(len(every) * len(sets), len(classes) + sum(map(len, sets)))
    column_of = {one: place for place, one in enumerate(every)}
    table = np.zeros((len(every), len(sets)), dtype=np.int64)
    for row, each in enumerate(sets):
        table[[column_of[one] for one in each], row] = 1
    return {f"true[{one}]": table[place] for one, place in column_of.items()}


def _unfolded(name: str, cells: Cells) -> dict[str, Cells]:
    """Return the values of objects as columns of their own, one level deep, and everything else as text."""
    if all(cell is None or type(cell) is dict for cell in cells):
        keys = list(dict.fromkeys(key for cell in cells for key in cell or ()))
        if 0 < len(keys) <= MOST_KEYS:
            inner = {key: [(cell or {}).get(key) for cell in cells] for key in keys}
            return {f"{name}.{key}": _as_texts(values) for key, values in inner.items()}
    return {name: _as_texts(cells)}


def _as_texts(cells: Cells) -> Cells:
    if not _is_nested(cells):
        return cells
    return [
        json.dumps(cell, ensure_ascii=False, default=str) if type(cell) in (list, dict) else cell
        for cell in cells
    ]


def _of_harness(columns: dict[str, Cells]) -> dict[str, Cells]:
    """Return the columns of a log of lm-evaluation-harness (`--log_samples`), a line for each question.

    `filtered_resps` holds for every choice its log-likelihood and whether it is the greedy answer, as numbers
    or as text: these become `logits`, whose softmax over the choices of a question are probabilities. Of text
    that was generated it holds the answer, which becomes `predicted_answer`. Choices that a question does
    not have get no chance.
    """
    source = next((name for name in ("filtered_resps", "resps") if name in columns), None)
    if source is None:
        return columns
    answers = [_log_likelihoods(cell) for cell in columns[source]]
    kept = {n: c for n, c in columns.items() if n not in ("filtered_resps", "resps", "arguments", "target")}
    if "arguments" in columns:
        kept["prompt"] = [_first_text(cell) for cell in columns["arguments"]]
    targets = columns.get("target", [None] * len(answers))
    if any(answer is None for answer in answers):
        kept["predicted_answer"] = [_first_text(cell) for cell in columns[source]]
        return kept | ({"target": targets} if "target" in columns else {})
    rows: list[list[float]] = [answer for answer in answers if answer is not None]
    docs = columns.get("doc", [None] * len(rows))
    gold = [_gold(*each) for each in zip(targets, docs, rows, strict=True)]
    if None in gold and "acc" in columns:
        best = [max(range(len(row)), key=row.__getitem__) for row in rows]
        kept["predicted"] = best
        kept["confidence"] = [
            1.0 / math.fsum(math.exp(one - row[at]) for one in row)
            for row, at in zip(rows, best, strict=True)
        ]
        kept["correct"] = kept.pop("acc")
        return kept
    width = max(map(len, rows))
    kept["logits"] = [row + [max(row) - NO_CHANCE] * (width - len(row)) for row in rows]
    return kept | ({"target": gold} if "target" in columns else {})


def _log_likelihoods(cell: Any) -> list[float] | None:
    """Return the log-likelihood of each of two or more choices; None for anything else."""
    if type(cell) is not list or len(cell) < 2:
        return None
    values: list[float] = []
    for choice in cell:
        while type(choice) is list and len(choice) == 1 and type(choice[0]) is list:
            choice = choice[0]
        if type(choice) is not list or not choice:
            return None
        try:
            values.append(float(choice[0]))
        except (TypeError, ValueError):
            return None
    return values if all(map(math.isfinite, values)) else None


def _gold(target: Any, doc: Any, row: Sequence[float]) -> int | None:
    """Return the place of the true choice, given by number, by letter, or by the text of the choice."""
    if type(target) is list and len(target) == 1:
        target = target[0]
    text = str(target).strip()
    if text.isascii() and text.isdigit() and int(text) < len(row):
        return int(text)
    if len(text) == 1 and "A" <= text.upper() <= "Z" and ord(text.upper()) - ord("A") < len(row):
        return ord(text.upper()) - ord("A")
    choices = doc.get("choices", doc.get("options")) if type(doc) is dict else None
    for listed in choices.values() if type(choices) is dict else [choices]:
        if type(listed) is list and len(listed) == len(row):
            stripped = [str(one).strip() for one in listed]
            if stripped.count(text) == 1:
                return stripped.index(text)
    return None


def _first_text(cell: Any) -> str | None:
    """Return the first text in a cell of lists and objects."""
    if type(cell) is str:
        return cell
    inner: Iterable[Any] = cell.values() if type(cell) is dict else cell if type(cell) is list else ()
    return next((text for text in map(_first_text, inner) if text is not None), None)
