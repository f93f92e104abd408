"""StagedModel: a Modelica model in an experiment with a steady start, doses and switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from estimica.base.errors import ModelError
from estimica.base.quantities import Quantity
from estimica.base.suggest import did_you_mean
from estimica.compiled.experiment import Experiment
from estimica.compiled.model.interface import Model
from estimica.compiled.model.observations import Observations
from estimica.flat.modelica_text import write_expression
from estimica.simulate.modelica.model import ModelicaModel
from estimica.simulate.staged.plan import StagePlan
from estimica.simulate.staged.response import FIXED, StagedResponse

Numbers = Mapping[str, float]


def with_stages(model: Model, staging: StagePlan) -> Model:
    """The model in such an experiment; itself where it is a plain one."""
    if not staging:
        return model
    if not isinstance(model, ModelicaModel):
        raise ModelError(
            "M233",
            f"case '{staging.name}' begins at rest or has changes, and '{model.name}' does not "
            "show its states; write the model in Modelica",
        )
    return StagedModel(model, staging)


class StagedModel(Model):
    """A Modelica model whose runs begin at rest or are changed from outside at given times."""

    def __init__(self, model: ModelicaModel, staging: StagePlan) -> None:
        self.model = model
        self.staging = staging
        self.name = model.name
        self.description = model.description
        known = [q.name for q in model.quantities()]
        self.own = staging.own(known)
        self._require_names(known)
        if model.system.delays:
            text = write_expression(model.system.delays[0].expression, spell=str)
            raise ModelError(
                "M234",
                f"case '{staging.name}': '{text}' of '{model.name}' is delayed, and what a delay "
                "remembers is not a state that could be set; give no steady start and no changes",
            )

    def quantities(self) -> list[Quantity]:
        """Those of the model, and parameters that only the expressions of the case have."""
        own = [Quantity(n, role="parameter", tunable=True) for n in self.own]
        return [*self.model.quantities(), *own]

    def output_names(self) -> tuple[str, ...]:
        """As the model."""
        return self.model.output_names()

    def driven_by(self, names: Sequence[str]) -> Model:
        """The same of the model whose inputs a case names."""
        return with_stages(self.model.driven_by(names), self.staging)

    def observed(self, observations: Observations) -> Model:
        """The same of the model with further outputs."""
        return with_stages(self.model.observed(observations), self.staging)

    def respond(self, experiment: Experiment) -> StagedResponse:
        """An experiment set up once, to be evaluated at many values of its tuners."""
        return StagedResponse(self.model, self.staging, experiment)

    def _require_names(self, known: Sequence[str]) -> None:
        """What is changed must be something of the model that can be."""
        roles = {q.name: q.role for q in self.model.quantities()}
        rest = () if self.staging.rest is None else self.staging.rest.parameters
        changed: list[tuple[str, tuple[str, ...]]] = [(n, FIXED) for n, _ in rest]
        for stage in self.staging.stages:
            changed += [(n, ("state", "memory")) for n, _ in stage.added]
            changed += [
                (n, ("state", "memory", "parameter", "constant", "input")) for n, _ in stage.set
            ]
        for name, allowed in changed:
            if roles.get(name) not in allowed:
                what = f"is a {roles[name]}" if name in roles else "is not in the model"
                hint = did_you_mean(name, [n for n in known if roles[n] in allowed])
                raise ModelError(
                    "M235",
                    f"case '{self.staging.name}': '{name}' {what}, and only "
                    f"{_listed(allowed)} can be changed so{hint}",
                )

    def __reduce__(self) -> tuple[object, ...]:
        return StagedModel, (self.model, self.staging)

    def __repr__(self) -> str:
        return f"<{self.model!r} with {len(self.staging.stages)} changes>"


def _listed(roles: Sequence[str]) -> str:
    words = {"state": "states", "parameter": "parameters", "input": "inputs"}
    return " and ".join(words[r] for r in roles if r in words)
