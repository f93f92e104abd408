"""Order: what is released together, and in which stages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from estimica.base.errors import InferError
from estimica.base.suggest import did_you_mean
from estimica.estimate.unknowns import Unknown
from estimica.infer.likelihood_ratio.partial_fit import FreeState, noise_label
from estimica.study.tables.inference import ReleaseTable

STARTS, DISTURBANCES, NOISE, TUNERS = "start values", "disturbances", "noise", "tuners"
STATES = "process noise"


@dataclass(frozen=True)
class Group:
    """Unknowns that are released together: their places, and outputs whose noise is."""

    unknowns: tuple[int, ...] = ()
    noise: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.unknowns or self.noise)

    def __len__(self) -> int:
        return len(self.unknowns) + len(self.noise)

    def labels(self, items: Sequence[Unknown]) -> tuple[str, ...]:
        """Their names."""
        return (*(items[k].label for k in self.unknowns), *map(noise_label, self.noise))


def stages_of(
    table: ReleaseTable,
    items: Sequence[Unknown],
    null: FreeState,
    of_states: Sequence[int] = (),
) -> list[list[Group]]:
    """The candidates of each stage; `null` says which noise variances can be released.

    Noise in the states (`of_states`) comes last: it explains whatever the equations could explain
    as well, if it is asked first.
    """
    names = _Names(items, tuple(null.held_noise), table.groups, null.free, of_states)
    if table.order:
        stages = [names.stage(s) for s in table.order]
        names.require_once(stages)
    else:
        stages = [
            [Group(names.kind("start"), names.noise)],
            [Group(names.kind("disturbance"))],
            names.tuners(),
            [Group((k,)) for k in of_states],
        ]
    kept = [[g for g in stage if g] for stage in stages]
    return [stage for stage in kept if stage]


class _Names:
    def __init__(
        self,
        items: Sequence[Unknown],
        noise: tuple[str, ...],
        groups: Sequence[Sequence[str]],
        free: Collection[int],
        of_states: Sequence[int],
    ) -> None:
        self.free, self.of_states = free, tuple(of_states)
        self.items = items
        self.noise = noise
        self.groups = [self.group(names) for names in groups]
        for group in self.groups:
            others = [k for k in group.unknowns if items[k].kind != "tuner"]
            if others or group.noise:
                raise InferError(
                    "I103",
                    f"groups: {', '.join(group.labels(items))}: only tuners are grouped there; "
                    "write other groups into order",
                )
        self.require_once([self.groups])

    def kind(self, kind: str) -> tuple[int, ...]:
        places = (k for k, u in enumerate(self.items) if u.kind == kind)
        return tuple(k for k in places if k not in self.free and k not in self.of_states)

    def tuners(self) -> list[Group]:
        """Each tuner alone, or with its group, in the study's order."""
        owner = {k: g for g in self.groups for k in g.unknowns}
        found = [owner.get(k, Group((k,))) for k in self.kind("tuner")]
        return list(dict.fromkeys(found))

    def stage(self, given: str | Sequence[str | Sequence[str]]) -> list[Group]:
        groups: list[Group] = []
        for one in [given] if isinstance(given, str) else given:
            if one == TUNERS:
                groups += self.tuners()
            else:
                groups.append(self.group([one] if isinstance(one, str) else one))
        return groups

    def group(self, names: Sequence[str]) -> Group:
        unknowns: list[int] = []
        noise: list[str] = []
        for name in names:
            own, outputs = self._named(name)
            unknowns += own
            noise += outputs
        return Group(tuple(dict.fromkeys(unknowns)), tuple(dict.fromkeys(noise)))

    def _named(self, name: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
        whole = {STARTS: "start", DISTURBANCES: "disturbance", TUNERS: "tuner"}
        if name in whole:
            return self.kind(whole[name]), ()
        if name == NOISE:
            return (), self.noise
        if name == STATES:
            return self.of_states, ()
        for output in self.noise:
            if name == noise_label(output):
                return (), (output,)
        labels = [(k, u) for k, u in enumerate(self.items) if k not in self.free]
        for match in (
            [k for k, u in labels if u.label == name],
            [k for k, u in labels if u.label == f"{name} in {u.case}"],
            [k for k, u in labels if u.kind == "start" and u.name == name],
        ):
            if match:
                return tuple(match), ()
        known = [u.label for u in self.items] + [noise_label(n) for n in self.noise]
        known += [STARTS, DISTURBANCES, NOISE, TUNERS, STATES]
        raise InferError(
            "I101",
            f"order: there is no unknown '{name}' to release"
            f"{did_you_mean(name, known) or ' (there are ' + ', '.join(known) + ')'}",
        )

    def require_once(self, stages: Sequence[Sequence[Group]]) -> None:
        seen: set[str] = set()
        for stage in stages:
            for group in stage:
                for label in group.labels(self.items):
                    if label in seen:
                        raise InferError(
                            "I102", f"order: '{label}' is released twice; name it once"
                        )
                    seen.add(label)
