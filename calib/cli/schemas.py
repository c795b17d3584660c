"""The JSON Schema (draft 2020-12) of what a command prints with --json, from the types that it returns."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import Any, Union, get_args, get_type_hints

from calib.cli import commands, files_at_scale, judging, light, watching
from calib.cli.input import EachModelData, FailureData, Output
from calib.cli.json_data import schema_of


def schema(options: Namespace) -> Output[None]:
    """Print the schema of a command's --json: its result, the result of each model, or a failure."""
    modules = (commands, files_at_scale, judging, light, watching)
    found = [getattr(module, options.of) for module in modules if hasattr(module, options.of)]
    kinds = tuple(get_args(get_type_hints(command)["return"])[0] for command in found)
    printed: Any = Union[kinds]  # noqa: UP007
    whole: Any = Union[printed, FailureData]  # noqa: UP007
    if options.parser.commands[options.of].get_default("each_model") is not None:
        whole = Union[whole, EachModelData[printed]]  # noqa: UP007
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"calib {options.of} --json",
    }
    return Output(json.dumps(head | schema_of(whole), indent=1), None)
