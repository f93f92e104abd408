"""Estimica: grey-box identification, calibration and assessment of Modelica models.

import estimica as es

model = es.load_model("Boiler.mo")
model.simulate(times, inputs={"uc": 0.7}).plot()
model.sensitivities(times, wrt=["T_D", "T_R"]).jacobian
fit = es.fit(es.read_study("boiler.toml"))
fit.report("boiler.html")
"""

import lazy_loader

# the public names stand in the stub beside this file; each is imported when it is first asked for
_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name in __all__:
        from types import FunctionType

        from estimica.base.process import let_idle_threads_sleep

        let_idle_threads_sleep()
        value = _public(name)
        if isinstance(value, FunctionType):
            from estimica.base.public.calls import public_call

            value = public_call(name, value)
        globals()[name] = value  # asked for once
        return value
    if name == "__version__":
        globals()[name] = _version()
        return globals()[name]
    from estimica.base.suggest import did_you_mean

    hint = did_you_mean(name, __all__)
    raise AttributeError(f"module 'estimica' has no attribute '{name}'{hint}")


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # slow to import

    try:
        return version("estimica")
    except PackageNotFoundError:  # a source tree that was not installed
        return "0"
