"""The end of one start of a multistart as plain values, which a run keeps to the last bit."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from estimica.base.arrays import Vector
from estimica.estimate.criteria.roughness import Rough
from estimica.estimate.criteria.scoring import Noise
from estimica.estimate.objective.cost import BlockInformation, Point
from estimica.estimate.objective.predictor import Failure, Prediction
from estimica.estimate.objective.residuals import Evaluations
from estimica.estimate.search.run import Iteration, SearchResult, Status

StartCheckpoint = dict[str, Any]


def start_checkpoint(searched: SearchResult, evaluations: Evaluations) -> StartCheckpoint:
    """What there is to keep of a start that came to its end."""
    rough = searched.rough
    return {
        "point": None if searched.point is None else _point(searched.point),
        "status": str(searched.status),
        "message": searched.message,
        "iterations": [_iteration(i) for i in searched.iterations],
        "is_astray": searched.is_astray,
        "seconds": searched.seconds,
        "rough": rough and {"reason": rough.reason, "unknowns": [int(k) for k in rough.unknowns]},
        "evaluations": _counted(evaluations),
    }


def start_from_checkpoint(note: Mapping[str, Any]) -> tuple[SearchResult, Evaluations]:
    """The start that was noted; the same bits."""
    point, rough, counted = note["point"], note["rough"], note["evaluations"]
    searched = SearchResult(
        None if point is None else _noted_point(point),
        Status(note["status"]),
        note["message"],
        tuple(Iteration(**{**i, "values": _vector(i["values"])}) for i in note["iterations"]),
        note["is_astray"],
        note["seconds"],
        None if rough is None else Rough(rough["reason"], tuple(rough["unknowns"])),
    )
    failures = [Failure(**f) for f in counted["failures"]]
    return searched, Evaluations(**{**counted, "failures": failures})


def _counted(evaluations: Evaluations) -> StartCheckpoint:
    return {
        "simulations": evaluations.simulations,
        "sensitivities": evaluations.sensitivities,
        "failed": evaluations.failed,
        "failures": [
            {
                "case": f.case,
                "message": f.message,
                "values": {name: float(v) for name, v in f.values.items()},
            }
            for f in evaluations.failures
        ],
    }


def _point(point: Point) -> StartCheckpoint:
    known = point.predictions
    return {
        "q": _kept(point.q),
        "values": _kept(point.values),
        "cost": float(point.cost),
        "R": _kept(point.R),
        "b": _kept(point.b),
        "square": float(point.square),
        "noise": {name: _noise(n) for name, n in point.noise.items()},
        "predictions": known and [(_kept(p.value), _kept(p.slope)) for p in known],
        "parts": point.parts and [_part(p) for p in point.parts],
        "scales": {name: float(s) for name, s in point.scales.items()},
    }


def _noted_point(note: Mapping[str, Any]) -> Point:
    known, parts = note["predictions"], note["parts"]
    return Point(
        _vector(note["q"]),
        _vector(note["values"]),
        note["cost"],
        _vector(note["R"]),
        _vector(note["b"]),
        note["square"],
        {name: Noise(**n) for name, n in note["noise"].items()},
        known and tuple(Prediction(_vector(value), _vector(slope)) for value, slope in known),
        parts and tuple(_noted_part(p) for p in parts),
        dict(note["scales"]),
    )


def _part(part: BlockInformation) -> StartCheckpoint:
    return {
        "curvature": _kept(part.curvature),
        "scatter": _kept(part.scatter),
        "square": float(part.square),
        "count": float(part.count),
        "independent": float(part.independent),
    }


def _noted_part(note: Mapping[str, Any]) -> BlockInformation:
    factors = _vector(note["curvature"]), _vector(note["scatter"])
    return BlockInformation(*factors, note["square"], note["count"], note["independent"])


def _iteration(one: Iteration) -> StartCheckpoint:
    return {
        "number": int(one.number),
        "cost": float(one.cost),
        "values": _kept(one.values),
        "step": float(one.step),
        "rejected": int(one.rejected),
        "seconds": float(one.seconds),
    }


def _noise(noise: Noise) -> StartCheckpoint:
    return {
        "variance": float(noise.variance),
        "estimated": bool(noise.estimated),
        "at_bound": bool(noise.at_bound),
        "shared": noise.shared,
        "formula": noise.formula,
    }


def _kept(array: Vector) -> StartCheckpoint:
    """An array as it stands in memory: the order of a matrix decides how its sums are rounded."""
    order: Literal["F", "C"] = "F" if array.ndim > 1 and array.flags.f_contiguous else "C"
    raw = np.asarray(array, "<f8").tobytes(order)
    return {"f8": b64encode(raw).decode("ascii"), "shape": list(array.shape), "order": order}


def _vector(note: Mapping[str, Any]) -> Vector:
    flat = np.frombuffer(b64decode(note["f8"]), "<f8").astype(np.float64)
    return flat.reshape(note["shape"], order=note["order"])
