"""Heat rod: one hundred states, and ten temperatures by twenty conductivities."""

from pathlib import Path
from time import perf_counter

import numpy as np

import estimica as es

model = es.load_model(Path(__file__).with_name("HeatRod.mo"))
times = np.linspace(0.0, 4.0, 201)
left = (np.array([0.0, 1.0, 2.5]), np.array([1.0, 2.0, 0.5]))
wrt = [f"k[{i}]" for i in range(1, 21)]
outputs = [f"y[{j}]" for j in range(1, 11)]

model.sensitivities(times, {"u": left}, wrt=wrt, outputs=outputs)  # compiles
begin = perf_counter()
result = model.sensitivities(times, {"u": left}, wrt=wrt, outputs=outputs)
milliseconds = 1000 * (perf_counter() - begin)

print(f"{result.jacobian.shape} derivatives in {milliseconds:.0f} ms")
strongest = np.abs(result.jacobian).max(axis=(0, 1))
print("the stretch that matters most:", wrt[int(strongest.argmax())])
