"""Kubernetes' quantities (`250m`, `128Mi`, `1e3`) as numbers, and what a ScaledJob asks for its pods. Pure; called by cli."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

POWERS = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
POWERS |= {f"{letter}i": 1024.0**n for n, letter in enumerate("KMGTPE", 1)}
QUANTITY = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]*)")
WORKER = "worker"


def quantity(text: object) -> float | None:
    """The number that a quantity is; None for what is none."""
    found = QUANTITY.fullmatch(str(text))
    if not found or found[2] not in POWERS:
        return None
    try:
        return float(found[1]) * POWERS[found[2]]
    except ValueError:
        return None


def resources(scaled_job_spec: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """`requests` and `limits` of the worker's container, as they are written."""
    spec: Any = scaled_job_spec
    for word in ("jobTargetRef", "template", "spec"):
        spec = spec.get(word) or {}
    containers = spec.get("containers") or [{}]
    own = next((one for one in containers if one.get("name") == WORKER), containers[0])
    asked = own.get("resources") or {}
    return {kind: {name: str(value) for name, value in (asked.get(kind) or {}).items()} for kind in ("requests", "limits")}
