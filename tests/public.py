"""The public face of the library: what calib and `__all__` of each of its packages name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from types import FunctionType, ModuleType
from typing import Any

import calib

#: calib and its packages that name what they hold; others hold modules only.
FACES = [
    calib,
    *(
        face
        for found in pkgutil.walk_packages(calib.__path__, "calib.")
        if found.ispkg
        for face in [importlib.import_module(found.name)]
        if hasattr(face, "__all__")
    ),
]


def public_objects() -> dict[str, Any]:
    """Every public function, class and constant by its name, names of `calib.scale` after "scale."."""
    found = {
        f"scale.{name}" if face is calib.scale else name: getattr(face, name)
        for face in FACES
        for name in face.__all__
    }
    return {name: each for name, each in found.items() if not isinstance(each, ModuleType)}


def public_functions() -> dict[str, FunctionType]:
    """Every public function by its name."""
    return {name: each for name, each in public_objects().items() if inspect.isfunction(each)}
