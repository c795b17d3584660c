"""The shape of what each command prints with --json, as JSON Schema (draft 2020-12)."""

from __future__ import annotations

from typing import Any

from calib.stats.measures import MEASURES

#: The name of a type, a list of a shape, or an object; "?" after a type may be null, after a key may be
#: missing; "*" stands for further keys.
Shape = str | list[Any] | dict[str, Any]

TYPES = {"text": "string", "number": "number", "whole": "integer", "flag": "boolean"}


def _each(shape: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), shape)


_METHOD = {
    **_each("text", "method strategy kind"),
    **_each("whole", "n_samples n_bins"),
    **{key: "number?" for key, measure in MEASURES.items() if measure.listed},
    "n_distinct": "whole?",
    "weighted": "flag",
    "intervals": {"*": ["number"]},
    "improvement": {"*": _each("number", "value lower upper")},
}
_ASSESSED = {
    **_METHOD,
    "noise": {
        "*": _each("number", "observed perfect_mean perfect_q95 smallest p_value") | {"n_resamples": "whole"}
    },
    "without_bins": {
        "slope?": {
            **_each("number?", "slope slope_lower slope_upper intercept intercept_lower intercept_upper"),
            **_each("number?", "in_the_large in_the_large_lower in_the_large_upper p_value"),
            **_each("whole", "n_samples n_left_out"),
            "level": "number",
            "determined": "flag",
            "untold": "text?",
        },
        "together?": {"n_tests": "whole", "p_value": "number", "untold": "text?"},
        "*": _each("number?", "statistic p_value"),
    },
}
_GAP = {
    "label": "whole",
    "direction": "text",
    "count": "whole",
    **_each("number", "lower upper says right least most"),
}
_FITTED = {**_each("text", "calibrator method"), "n_calibration": "whole", "not_calibrated": [{"*": "any"}]}
_FINDING = {
    **_each("text", "code severity message"),
    "fixable": "flag",
    "n_rows": "whole",
    "rows": ["whole"],
    "columns": ["any"],
}
_CHECK = {
    **_each("text", "metric bound answer sentence"),
    **_each("number", "value lower upper level limit"),
    **_each("number?", "perfect_mean perfect_q95 p_value"),
    **{"group?": "text", "n_samples?": "whole", "baseline?": "number"},
}
_TABLE = {
    **_each("text", "model method measure title"),
    **_each("number?", "value floor floor_upper"),
    "failure": "text?",
}
_SUMMARY = {
    **_each("text", "output kind fingerprint"),
    **_each("whole", "n_samples n_classes n_abstained n_faulty parts"),
    "findings": ["text"],
    "groups": {"*": "whole"},
    "metrics": [{"metric": "text", "value": "number", "interval": ["number", "?"]}],
}

#: What each command prints; the options of some commands change its shape.
SHAPES: dict[str, dict[str, Any] | tuple[dict[str, Any], ...]] = {
    "metrics": {
        **_each("text", "file kind fingerprint"),
        **{"n_samples": "whole", "n_classes": "whole?", "coverage": "number"},
        "methods": [_ASSESSED],
        "folds": [
            {
                **_each("text", "fold measure title"),
                "rows": "whole",
                **_each("number?", "value floor p_value"),
            }
        ],
        "conclusion": {"words": "text", "direction": "text", "level": "number", "gaps": [_GAP]},
    },
    "fit": (
        {**_FITTED, "weighted": "flag", "n_evaluation": "whole", "methods": [_METHOD]},
        _FITTED,  # to files of any size
    ),
    "recommend": {
        **_each("text", "file name reason"),
        **{"n_calibration": "whole", "weighted": "flag"},
        "candidates": [
            {
                **{"method": "text", "numbers": "whole"},
                **_each("number", "brier log_loss improvement lower upper"),
            }
        ],
        "left_out": {"*": "text"},
    },
    "apply": (
        {
            "output": "text",
            **_each("whole", "n_samples n_class_changed"),
            "class_shares?": [{"class": "text", "*": "number"}],
            "columns": ["text"],
        },
        {"output": "text", "files": ["text"], **_each("whole", "n_samples n_resumed")},
    ),
    "check": {
        "file": "text",
        "parts": {
            "*": {
                **{"kind": "text", "ok": "flag", "fixed": ["text"]},
                **_each("whole", "n_samples n_columns"),
                "roles": [_each("text", "column role")],
                "findings": [_FINDING],
            }
        },
    },
    "gate": {
        **_each("text", "file answer sentence"),
        **{"n_samples": "whole", "weighted": "flag", "passed": "flag"},
        "checks": [_CHECK],
    },
    "decide": (
        {
            **_each("text", "file sentence"),
            **{"by": "text?", "guarantee": "text?", "alpha": "number", "rows_needed": "whole?"},
            **{"target": {"*": "number"}, "thresholds": {"*": "number?"}},
            **_each("whole", "n_samples n_accepted n_wrong"),
            **_each("number?", "accuracy lower upper cost"),
        },
        {
            **_each("text", "file sentence alone"),
            **_each("number", "cost lower upper level saved saved_lower saved_upper"),
            "rows": {"*": {"*": "whole"}},
        },
    ),
    "open": {"file": "text", "holds": [_each("text", "what holds")]},
    "slices": {
        **_each("text", "file notion"),
        **{"n_samples": "whole", "weighted": "flag", "fdr": "number"},
        "groups": [
            {
                **_each("text", "column group"),
                **{"count": "whole", "above_noise": "flag"},
                **_each("number", "share accuracy confidence error floor floor_upper smallest p"),
            }
        ],
        "gaps": {
            "*": [
                {
                    **_each("text", "group direction verdict"),
                    **_each("whole", "count rest"),
                    **_each("number", "bias bias_of_rest bias_lower bias_upper"),
                    **_each("number", "error error_of_rest error_lower error_upper smallest"),
                }
            ]
        },
    },
    "watch": {
        **{"state": "text", "since": "text?", "alarm": "flag"},
        **_each("number", "evidence threshold"),
        **_each("whole", "n_rows n_unlabelled"),
        "units": [
            {
                **_each("text", "level name"),
                **{"rows": "whole", "named": "flag"},
                **_each("number", "log_evidence gap lower upper"),
            }
        ],
    },
    "report": {"output": "text", "bytes": "whole", "calibrators": ["text"]},
    "tables": (
        {
            **{"models": ["text"], "methods": ["text"], "notes": ["text"], "words": "text"},
            **_each("whole", "n_calibration n_evaluation"),
            "numbers": [
                {
                    **_TABLE,
                    **_each("number?", "p_value difference lower upper"),
                    **{"mark": "text", "bins": "text?"},
                }
            ],
        },
        {
            **{"models": ["text"], "methods": ["text"]},
            "numbers": [{**_TABLE, "floor_lower": "number?", "n_bins": "whole"}],
        },
    ),
    **dict.fromkeys(("summarize", "merge"), _SUMMARY),
    "sql": (_each("text", "dialect query"), _SUMMARY),
}

#: What a command prints if it fails; its exit code is then 2 or more.
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
        named = {name.removesuffix("?"): _expanded(field) for name, field in shape.items() if name != "*"}
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
