"""The shape of what each command prints with --json, as JSON Schema (draft 2020-12)."""

from __future__ import annotations

from typing import Any

from calib.stats.measures import MEASURES

#: A shape is the name of a type, with "?" if it may be null; a list of a shape, and "?" if it may be null; or
#: an object, whose keys with "?" may be missing, and "*" stands for further keys.
Shape = str | list[Any] | dict[str, Any]

TYPES = {"text": "string", "number": "number", "whole": "integer", "flag": "boolean"}

_TABLE = {"model": "text", "method": "text", "measure": "text", "title": "text", "value": "number?"}
_TABLE |= {"floor": "number?", "floor_upper": "number?", "failure": "text?"}
_METHOD = {
    "method": "text",
    "n_samples": "whole",
    "n_bins": "whole",
    "strategy": "text",
    "n_distinct": "whole?",
    "kind": "text",
    "weighted": "flag",
    **{key: "number?" for key, measure in MEASURES.items() if measure.listed},
    "intervals": {"*": ["number"]},
    "improvement": {"*": {"value": "number", "lower": "number", "upper": "number"}},
}
_SLOPE = dict.fromkeys(("slope", "intercept", "in_the_large"), "number?")
_SLOPE |= {f"{name}_{end}": "number?" for name in _SLOPE for end in ("lower", "upper")}
_FITTED = {"calibrator": "text", "method": "text", "n_calibration": "whole", "not_calibrated": [{"*": "any"}]}
_SUMMARY = {
    "output": "text",
    "kind": "text",
    "n_samples": "whole",
    "n_classes": "whole",
    "n_abstained": "whole",
    "n_faulty": "whole",
    "findings": ["text"],
    "parts": "whole",
    "fingerprint": "text",
    "groups": {"*": "whole"},
    "metrics": [{"metric": "text", "value": "number", "interval": ["number", "?"]}],
}

#: What each command prints; of some commands there are several shapes, by their options.
SHAPES: dict[str, dict[str, Any] | tuple[dict[str, Any], ...]] = {
    "metrics": {
        "file": "text",
        "kind": "text",
        "n_samples": "whole",
        "n_classes": "whole?",
        "coverage": "number",
        "fingerprint": "text",
        "methods": [
            {
                **_METHOD,
                "noise": {
                    "*": {
                        "observed": "number",
                        "perfect_mean": "number",
                        "perfect_q95": "number",
                        "p_value": "number",
                        "n_resamples": "whole",
                    }
                },
                "without_bins": {
                    "slope?": {
                        "n_samples": "whole",
                        **_SLOPE,
                        "p_value": "number?",
                        "level": "number",
                        "determined": "flag",
                        "n_left_out": "whole",
                    },
                    "together?": {"n_tests": "whole", "p_value": "number", "n_clusters": "whole?"},
                    "*": {"statistic": "number?", "p_value": "number?"},
                },
            }
        ],
        "folds": [
            {
                "fold": "text",
                "rows": "whole",
                "measure": "text",
                "title": "text",
                "value": "number?",
                "floor": "number?",
                "p_value": "number?",
            }
        ],
        "conclusion": {
            "words": "text",
            "direction": "text",
            "level": "number",
            "gaps": [
                {
                    "label": "whole",
                    "direction": "text",
                    "lower": "number",
                    "upper": "number",
                    "count": "whole",
                    "says": "number",
                    "right": "number",
                    "least": "number",
                    "most": "number",
                }
            ],
        },
    },
    "fit": (
        {**_FITTED, "weighted": "flag", "n_evaluation": "whole", "methods": [_METHOD]},
        _FITTED,  # to files of any size
    ),
    "recommend": {
        "file": "text",
        "name": "text",
        "reason": "text",
        "n_calibration": "whole",
        "weighted": "flag",
        "candidates": [
            {
                "method": "text",
                "brier": "number",
                "log_loss": "number",
                "improvement": "number",
                "lower": "number",
                "upper": "number",
                "numbers": "whole",
            }
        ],
        "left_out": {"*": "text"},
    },
    "apply": (
        {
            "output": "text",
            "n_samples": "whole",
            "n_class_changed": "whole",
            "class_shares?": [{"class": "text", "*": "number"}],
            "columns": ["text"],
        },
        {"output": "text", "n_samples": "whole", "files": ["text"], "n_resumed": "whole"},
    ),
    "check": {
        "file": "text",
        "parts": {
            "*": {
                "kind": "text",
                "n_samples": "whole",
                "n_columns": "whole",
                "roles": [{"column": "text", "role": "text"}],
                "ok": "flag",
                "fixed": ["text"],
                "findings": [
                    {
                        "code": "text",
                        "severity": "text",
                        "message": "text",
                        "fixable": "flag",
                        "n_rows": "whole",
                        "rows": ["whole"],
                        "columns": ["any"],
                    }
                ],
            }
        },
    },
    "gate": {
        "file": "text",
        "n_samples": "whole",
        "weighted": "flag",
        "passed": "flag",
        "answer": "text",
        "sentence": "text",
        "checks": [
            {
                "metric": "text",
                "value": "number",
                "lower": "number",
                "upper": "number",
                "level": "number",
                "limit": "number",
                "bound": "text",
                "answer": "text",
                "perfect_mean": "number?",
                "perfect_q95": "number?",
                "p_value": "number?",
                "sentence": "text",
                "group?": "text",
                "n_samples?": "whole",
                "baseline?": "number",
            }
        ],
    },
    "decide": (
        {
            "file": "text",
            "target": {"*": "number"},
            "by": "text?",
            "alpha": "number",
            "sentence": "text",
            "guarantee": "text?",
            "rows_needed": "whole?",
            "thresholds": {"*": "number?"},
            "n_samples": "whole",
            "n_accepted": "whole",
            "n_wrong": "whole",
            **dict.fromkeys(("accuracy", "lower", "upper", "cost"), "number?"),
        },
        {
            "file": "text",
            "sentence": "text",
            **dict.fromkeys(
                ("cost", "lower", "upper", "level", "saved", "saved_lower", "saved_upper"), "number"
            ),
            "alone": "text",
            "rows": {"*": {"*": "whole"}},
        },
    ),
    "open": {"file": "text", "holds": [{"what": "text", "holds": "text"}]},
    "slices": {
        "file": "text",
        "n_samples": "whole",
        "weighted": "flag",
        "notion": "text",
        "fdr": "number",
        "groups": [
            {
                "column": "text",
                "group": "text",
                "count": "whole",
                **dict.fromkeys(
                    ("share", "accuracy", "confidence", "error", "floor", "floor_upper", "p"), "number"
                ),
                "above_noise": "flag",
            }
        ],
        "gaps": {
            "*": [
                {
                    "group": "text",
                    "count": "whole",
                    "rest": "whole",
                    "bias": "number",
                    "bias_of_rest": "number",
                    "bias_lower": "number",
                    "bias_upper": "number",
                    "error": "number",
                    "error_of_rest": "number",
                    "error_lower": "number",
                    "error_upper": "number",
                    "direction": "text",
                    "verdict": "text",
                }
            ]
        },
    },
    "watch": {
        "state": "text",
        "alarm": "flag",
        "evidence": "number",
        "threshold": "number",
        "since": "text?",
        "n_rows": "whole",
        "n_unlabelled": "whole",
        "units": [
            {
                "level": "text",
                "name": "text",
                "rows": "whole",
                "log_evidence": "number",
                "named": "flag",
                "gap": "number",
                "lower": "number",
                "upper": "number",
            }
        ],
    },
    "report": {"output": "text", "bytes": "whole", "calibrators": ["text"]},
    "tables": (
        {
            "models": ["text"],
            "methods": ["text"],
            "n_calibration": "whole",
            "n_evaluation": "whole",
            "words": "text",
            "notes": ["text"],
            "numbers": [
                {
                    **_TABLE,
                    **dict.fromkeys(("p_value", "difference", "lower", "upper"), "number?"),
                    "mark": "text",
                    "bins": "text?",
                }
            ],
        },
        {
            "models": ["text"],
            "methods": ["text"],
            "numbers": [{**_TABLE, "floor_lower": "number?", "n_bins": "whole"}],
        },
    ),
    "summarize": _SUMMARY,
    "merge": _SUMMARY,
    "sql": ({"dialect": "text", "query": "text"}, _SUMMARY),
}

#: What every command prints that cannot do its work; its exit code is then 2 or more.
ERROR = {"error": {"kind": "text", "message": "text", "exit_code": "whole"}}


def schema(command: str) -> dict[str, Any]:
    """Return the JSON Schema of what a command of `SHAPES` prints with --json: its result, or an error."""
    found = SHAPES[command]
    shapes = found if isinstance(found, tuple) else (found,)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"calib {command} --json",
        "anyOf": [_expanded(shape) for shape in (*shapes, ERROR)],
    }


def _expanded(shape: Shape) -> dict[str, Any]:
    if isinstance(shape, list):
        return {"type": ["array", "null"] if "?" in shape else "array", "items": _expanded(shape[0])}
    if isinstance(shape, dict):
        further = shape.get("*")
        named = {name.removesuffix("?"): _expanded(of) for name, of in shape.items() if name != "*"}
        required = [name for name in shape if name in named]
        return {
            "type": "object",
            "properties": named,
            "required": required,
            "additionalProperties": False if further is None else _expanded(further),
        }
    if shape == "any":
        return {}
    name = TYPES[shape.removesuffix("?")]
    return {"type": [name, "null"] if shape.endswith("?") else name}
