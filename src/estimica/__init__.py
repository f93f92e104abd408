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
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

try:
    __version__ = version("estimica")
except PackageNotFoundError:  # a source tree that was not installed
    __version__ = "0"
