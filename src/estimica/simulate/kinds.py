"""Whether a model is of a kind, without loading the code of that kind."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from estimica.simulate.linear.model import LinearModel


def is_linear(model: object) -> TypeGuard[LinearModel]:
    """Whether it is a linear model; where their module is not loaded, none was ever made."""
    module = sys.modules.get("estimica.simulate.linear.model")
    return module is not None and isinstance(model, module.LinearModel)
