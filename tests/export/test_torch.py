"""PyTorch modules: as they are, scripted and exported."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tests.populations import rows
from tests.sample_calibrators import ALONE, MULTICLASS, fitted, fitted_binary, is_smooth

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from calib import InputError, MulticlassToBinary  # noqa: E402
from calib.export import torch_module, verify_torch  # noqa: E402

PROBA = np.concatenate([rows(5, 1_000)[0], np.eye(4), np.full((1, 4), 0.25)])


@pytest.mark.parametrize("name", MULTICLASS)
def test_module_gives_the_outputs_of_the_calibrator(name):
    calibrator = fitted(name)
    module = torch_module(calibrator)
    assert isinstance(module, torch.nn.Module)
    assert not list(module.parameters())
    assert verify_torch(module, calibrator, PROBA) <= (1e-9 if is_smooth(calibrator) else 1e-15)


@pytest.mark.parametrize("name", ALONE)
def test_binary_calibrators_are_modules(name):
    calibrator = fitted_binary(name)
    assert verify_torch(torch_module(calibrator), calibrator, np.linspace(0, 1, 1001)) < 1e-9


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")
@pytest.mark.parametrize(
    "name", ["top-label/bins", "top-k-label/isotonic", "class-wise/spline", "completed", "ETS", "grid"]
)
def test_modules_script_and_export(name, tmp_path):
    calibrator = fitted(name)
    tolerance = 1e-9 if is_smooth(calibrator) else 1e-15
    module = torch_module(calibrator)
    torch.jit.script(module).save(tmp_path / "module.pt")
    assert verify_torch(torch.jit.load(tmp_path / "module.pt"), calibrator, PROBA) <= tolerance
    example = (torch.rand(7, 4, dtype=torch.float32),)
    shapes = ({0: torch.export.Dim("rows", min=2)},)
    exported = torch.export.export(module, example, dynamic_shapes=shapes)
    assert verify_torch(exported.module(), calibrator, PROBA) <= tolerance


@pytest.mark.parametrize("name", ["top-label/bins", "TS", "class-wise/platt"])
def test_logits_go_through_the_softmax_first(name):
    calibrator = fitted(name)
    logits = 5 * np.random.default_rng(0).normal(size=(500, 4))
    module = torch_module(calibrator, logits=True)
    assert verify_torch(module, calibrator, logits, logits=True) <= 1e-9


def test_behind_a_network(tmp_path):
    """The network's logits, calibrated in one module, as calib calibrates their softmax."""
    calibrator = fitted("TS")
    network = torch.nn.Sequential(torch.nn.Linear(3, 4))
    both = torch.nn.Sequential(network, torch_module(calibrator, logits=True))
    x = torch.randn(50, 3)
    with torch.no_grad():
        proba = torch.softmax(network(x).double(), dim=1).numpy()
        found = both(x)["probabilities"].numpy()
    assert np.abs(found - calibrator.predict_proba(proba)).max() < 1e-9


def test_groups_are_a_second_input():
    proba, y = rows(1)
    groups = np.where(np.arange(len(y)) % 3 == 0, "north", "south")
    calibrator = MulticlassToBinary(by=("class", "group"), min_points=5).fit(proba, y, groups=groups)
    assert verify_torch(torch_module(calibrator), calibrator, proba, groups=groups) <= 1e-15


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(InputError, match=r'install "calib-diagnostics\[torch\]"'):
        torch_module(fitted("TS"))
