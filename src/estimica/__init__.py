"""Estimica: grey-box identification, calibration and assessment of Modelica models.

import estimica as es

model = es.load_model("Boiler.mo")
model.simulate(times, inputs={"uc": 0.7}).plot()
model.sensitivities(times, wrt=["T_D", "T_R"]).jacobian
fit = es.fit(es.read_study("boiler.toml"))
fit.report("boiler.html")
"""

from importlib.metadata import PackageNotFoundError, version

import lazy_loader

# the public names stand in the stub beside this file; each is imported when it is first asked for
_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name in __all__:
        from types import FunctionType

        value = _public(name)
        if isinstance(value, FunctionType):
            from estimica.base.public.calls import public_call

            value = public_call(name, value)
        globals()[name] = value  # asked for once
        return value
    from estimica.base.suggest import did_you_mean

    hint = did_you_mean(name, __all__)
    raise AttributeError(f"module 'estimica' has no attribute '{name}'{hint}")


try:
    __version__ = version("estimica")
except PackageNotFoundError:  # a source tree that was not installed
    __version__ = "0"
