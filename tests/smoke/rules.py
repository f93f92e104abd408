"""Which combinations are refused, each with the code that says why."""

from __future__ import annotations

from collections.abc import Mapping

from tests.smoke.checks import SHARING
from tests.smoke.studies import STATES, STATIC

#: what fits again and again
REFITTING = ("bootstrap", "profile", "region", "crossvalidation")
OWN = ("own, smooth", "own, with a kink")


def refusal(row: Mapping[str, str]) -> str:
    """The code of the error, or nothing where the row is a study that can be fitted."""
    kind, search, roles, inference = row["model"], row["search"], row["roles"], row["inference"]
    robust, own = row["loss"] != "squared", row["criterion"] in OWN
    if robust and own:
        return "Q148"  # it says itself how large residuals count
    if roles in ("apart", "disturbed") and kind == "frequency":
        return "C001"  # a response has no constant beside it
    if roles == "free start" and kind == "frequency":
        return "C045"  # it is taken in the steady state
    if search == "collocation" and kind not in ("modelica", "base modelica"):
        return "F041" if kind in STATIC else "F042"
    if search == "multiple-shooting" and kind not in ("modelica", "base modelica"):
        return "F048" if kind in STATIC else "F049"
    if roles == "free start" and kind not in STATES:
        return {"function": "M116", "formula": "M079", "points": "M003"}[kind]
    if inference == "likelihood ratio" and (robust or own):
        return "I001"
    cut = search in ("collocation", "multiple-shooting")
    if inference == "release" and (robust or own or cut):
        return "I100"
    if inference == "sample" and (robust or not row["criterion"].startswith("ml")):
        return "I703"
    if inference == "sample" and "bounded" in row["criterion"]:
        return "I706"
    return ""


def no_use(row: Mapping[str, str]) -> bool:
    """Whether workers are given that nobody shares; those of other work have tests of their own."""
    return row["workers"] == "2" and row["inference"] not in SHARING


def left_out(row: Mapping[str, str]) -> str:
    """Why a row that could be fitted is not among the pairs; nothing where it is."""
    if row["criterion"] == "own, with a kink":  # a search without derivatives after the first
        if row["search"] == "collocation":
            return "honest, but slow: 15 s until it says that it has not converged"
        quick = row["search"] == "levenberg-marquardt" and row["model"] in ("formula", "points")
        if row["inference"] in REFITTING and not quick:
            return "tens of refits of a second each"
    plain = row["loss"] == "squared" and row["criterion"] not in OWN
    if row["search"] == "collocation" and not plain and row["roles"] == "free start":
        return "honest, but slow: `iteration limit` after a thousand steps"
    flat = {"search": "multiple-shooting", "loss": "cauchy", "tuners": "log", "roles": "disturbed"}
    if all(row[name] == value for name, value in flat.items()):
        return "honest: `stalled`, far from the data, where this loss is flat"
    repeated = row["loss"] != "squared" or row["inference"] in REFITTING
    slow = row["search"] == "steepest-descent" and row["model"] in ("function", "points", "fmu")
    if slow and repeated:
        return "hundreds of steps of a slow model for each fit"
    if row["inference"] == "likelihood ratio" and row["tuners"] == "prior":
        return "a tuner that is held loses its prior, and I003 says that models are not nested"
    return ""
