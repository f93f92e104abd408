"""How a region shows itself: a table, both curves, a page, JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from estimica.base import view as show
from estimica.base.result import plain_object
from estimica.estimate.page_frame import study_summary, with_reproduction
from estimica.infer.region.result import OTHERS, Region


def tables(region: Region) -> tuple[show.Table, ...]:
    """All there is to read."""
    return (extents(region),)


def extents(region: Region) -> show.Table:
    """The widest extent of both curves along each unknown."""
    rows: list[tuple[object, ...]] = []
    for k, name in enumerate(region.names):
        for what, curve in (("ellipse", region.ellipse), ("contour", region.contour)):
            ends = curve[:, k][np.isfinite(curve[:, k])]
            low, high = (float(ends.min()), float(ends.max())) if len(ends) else (None, None)
            rows.append((name, what, float(region.centre[k]), low, high))
    columns = ("unknown", "curve", "estimate", "from", "to")
    title = f"{region.fit.study.name}: {region.text}"
    return show.Table(columns, tuple(rows), title, _note(region))


def _note(region: Region) -> str:
    said = f"contour: cost {region.threshold:.4g} above the best, {OTHERS[region.others]}"
    if region.open:
        said += f"; open in {region.open} of {len(region.contour)} directions"
    if region.failed:
        said += f"; simulations failed in {region.failed} of {len(region.contour)} directions"
    return said


def picture(region: Region, kind: str = "", names: Sequence[str] = ()) -> show.Curves:
    """Both curves in the plane of the two unknowns."""
    closed = np.vstack([region.ellipse, region.ellipse[:1]])
    traced = np.vstack([region.contour, region.contour[:1]])
    curves = (
        show.Curve("ellipse", closed[:, 0], closed[:, 1], dashed=True, colour=7),
        show.Curve("contour of the cost", traced[:, 0], traced[:, 1], colour=1),
        show.Curve("estimate", region.centre[:1], region.centre[1:], dotted=True, colour=0),
    )
    units = [u.unit for n in region.names for u in region.fit.unknowns.items if u.label == n]
    panel = show.Panel(show.name_with_unit(region.names[1], units[1]), curves)
    label = show.name_with_unit(region.names[0], units[0])
    return show.Curves((panel,), extents(region).title, label, 420)


def page(region: Region) -> show.Page:
    """All of it as a page, for files, the store and the workbench."""
    shown = (replace(picture(region), title=""), replace(extents(region), title=""))
    text = (
        "The ellipse follows from the covariance, which is exact for linear models. The "
        f"contour is where the cost has risen by {region.threshold:.4g} while "
        f"{OTHERS[region.others]}. {_alone(region)}"
    )
    section = show.Section("Joint region", text, shown)
    one = show.Page(extents(region).title, (section,))
    study = region.fit.study
    return with_reproduction(one, "region", study, first=(study_summary(study, "region"),))


def _alone(region: Region) -> str:
    """What the widest extent of a joint region is not."""
    return (
        f"It holds both unknowns at once with {show.percent_text(region.level)} probability "
        "if the "
        "model is right; its widest extent along one of them is more than the "
        f"{show.percent_text(region.level)} interval of that one alone."
    )


def as_object(region: Region) -> dict[str, object]:
    """The region as plain values; what is not finite is None."""
    return plain_object(
        {
            "study": region.fit.study.name,
            "names": list(region.names),
            "level": region.level,
            "others": region.others,
            "centre": region.centre.tolist(),
            "ellipse": region.ellipse.tolist(),
            "contour": region.contour.tolist(),
            "threshold": region.threshold,
            "failed": region.failed,
            "open": region.open,
        }
    )
