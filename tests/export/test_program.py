"""Programs: formulas called with values become steps."""

from __future__ import annotations

import numpy as np

from calib.export.program import Program


def test_formulas_of_numpy_become_steps():
    program = Program()
    x = program.input("proba", 3)
    program.output("y", np.where(x[:, -1:] <= 1, 2 * np.log(x), 0), 3)
    assert program.steps == [
        ("columns", "v0", "proba", 2, 3),
        ("less_equal", "v1", "v0", "c0"),
        ("log", "v2", "proba"),
        ("multiply", "v3", "c1", "v2"),
        ("where", "v4", "v1", "v3", "c2"),
    ]
    assert program.outputs["y"][0].name == "v4"


def test_numbers_take_the_kind_of_the_value_beside_them_and_are_stored_once():
    program = Program()
    x = program.input("proba", 3)
    assert ((x + 1) * 1).kind == "f"
    assert (x.top() + 1).kind == "i"
    assert [(item.dtype, item.tolist()) for item in program.constants.values()] == [
        (float, 1.0),
        (np.int64, 1),
    ]


def test_what_no_output_needs_is_dropped():
    program = Program()
    x = program.input("scores_in", 0)
    x + 3.0
    program.output("y", x * 2.0)
    program.keep_used()
    assert [step[0] for step in program.steps] == ["multiply"]
    assert list(program.constants.values()) == [2.0]
