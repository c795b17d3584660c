"""Scorer files: NumPy only, data only, and the numbers of the calibrator."""

from __future__ import annotations

import ast
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from calib import HistogramBinning, InputError, MulticlassToBinary
from calib.export import scorer, verify_scorer
from calib.export.replay import largest_difference, outputs
from calib.files.saved import dumps, loads
from tests.populations import rows
from tests.sample_calibrators import ALONE, MULTICLASS, fitted, fitted_binary, is_smooth


@pytest.mark.parametrize("name", MULTICLASS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scorer_gives_the_outputs_of_the_calibrator(name, dtype):
    calibrator = fitted(name)
    proba = np.concatenate([rows(5, 3_000)[0], np.eye(4), np.full((1, 4), 0.25)]).astype(dtype)
    difference = verify_scorer(scorer(calibrator), calibrator, proba)
    assert difference <= (1e-12 if is_smooth(calibrator) else 0.0)


@pytest.mark.parametrize("name", ALONE)
def test_binary_calibrators_have_scorers(name):
    calibrator = fitted_binary(name)
    assert verify_scorer(scorer(calibrator), calibrator, np.linspace(0, 1, 1001)) < 1e-12


def test_calibrators_of_one_bin_each():
    calibrator = MulticlassToBinary(HistogramBinning(n_bins=1), notion="class-wise").fit(*rows(1))
    assert verify_scorer(scorer(calibrator), calibrator, rows(5, 100)[0]) == 0.0


def test_many_classes_and_many_rows():
    random = np.random.default_rng(0)
    proba = random.dirichlet(np.full(300, 0.05), 20_000).astype(np.float32)
    y = random.integers(0, 300, 20_000)
    for notion in ("top-label", "top-k-label"):
        calibrator = MulticlassToBinary(HistogramBinning(points_per_bin=10), notion=notion).fit(proba, y)
        assert verify_scorer(scorer(calibrator), calibrator, proba) == 0.0


def test_file_runs_where_calib_is_not_installed(tmp_path):
    """Run the file in isolated mode, with NumPy and without this project on the path."""
    calibrator, proba = fitted("completed"), rows(6, 50)[0]
    (tmp_path / "scorer.py").write_text(scorer(calibrator), encoding="utf-8")
    np.save(tmp_path / "proba.npy", proba)
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import numpy as np, scorer; "
        "outputs = scorer.calibrate(np.load(sys.argv[1] + '/proba.npy')); "
        "np.savez(sys.argv[1] + '/outputs.npz', **outputs); "
        "print(sorted(m for m in sys.modules if m in ('calib', 'scipy', 'sklearn', 'pandas')))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.strip(), done.stderr) == ("[]", "")
    with np.load(tmp_path / "outputs.npz") as written:
        assert largest_difference(dict(written), outputs(calibrator, proba)) == 0.0


@pytest.mark.parametrize("name", MULTICLASS)
def test_file_imports_numpy_only_and_holds_no_text_of_the_user(name):
    names = ['"); import os; os.abort() #', "'''", "\n\n\\", "{}%s"]
    code = scorer(loads(dumps(fitted(name), class_names=names)))
    imported = [node for node in ast.walk(ast.parse(code)) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert [alias.name for node in imported for alias in node.names] == ["numpy"]
    assert "abort" not in code
    assert code.isascii()
    assert code == scorer(fitted(name))


def test_only_scorers_are_run(tmp_path):
    calibrator, proba = fitted("pooled"), rows(1)[0]
    code = scorer(calibrator)
    witness = tmp_path / "ran"
    evil = f"open({str(witness)!r}, 'w')"
    for changed in (
        evil,
        evil + "\n" + code,
        code + evil,
        code.replace("import numpy as np", f"import numpy as np\n{evil}"),
        code.replace("'proba': 4", f"'proba': {evil}"),
        code.replace("'proba': 4", "'proba': 4, 'proba': 4"),
        code[: len(code) // 2],
        code[:-1],
        "",
    ):
        assert changed != code
        with pytest.raises(InputError, match="it was not run"):
            verify_scorer(changed, calibrator, proba)
    assert not witness.exists()


def test_changed_numbers_show_as_a_difference():
    calibrator = HistogramBinning(n_bins=2).fit([0.1, 0.2, 0.8, 0.9], [0, 1, 1, 1])
    code = scorer(calibrator)
    assert verify_scorer(code.replace("'0.5 1.0'", "'0.5 0.75'"), calibrator, [0.1, 0.9]) == 0.25


def test_wrong_input_is_refused_by_the_file():
    space: dict = {}
    exec(scorer(fitted("TS")), space)
    for wrong in ([[0.5, 0.5]], [0.5], [[np.nan, 0.5, 0.25, 0.25]], [[-0.1, 0.6, 0.25, 0.25]]):
        with pytest.raises(ValueError, match="expected a matrix with 4 columns|must be finite"):
            space["calibrate"](wrong)
    named = pd.DataFrame(
        [[0.1, 0.2, 0.3, 0.4]], columns=list("dcba")
    )  # perhaps in another order than in the fit
    with pytest.raises(ValueError, match="columns have names"):
        space["calibrate"](named)


def test_differences_of_labels():
    first = {"label": np.array([0, 1]), "confidence": np.array([0.5, 0.5])}
    second = {"label": np.array([0, 0]), "confidence": np.array([0.5, 0.5])}
    assert largest_difference(first, second) == np.inf
    assert largest_difference(first, {"label": first["label"]}) == np.inf
    matrix = np.array([[0.5, 0.5 - 1e-9]])
    actual = {"probabilities": matrix[:, ::-1], "label": np.array([1])}
    expected = {"probabilities": matrix, "label": np.array([0])}
    assert largest_difference(actual, expected) == pytest.approx(1e-9)


def test_other_objects_are_refused():
    class Homemade(HistogramBinning):
        pass

    with pytest.raises(InputError, match="Homemade cannot be written as a scorer"):
        scorer(Homemade().fit([0.5], [1]))
    with pytest.raises(InputError, match="Homemade"):
        scorer(MulticlassToBinary(Homemade()).fit(*rows(1)))
