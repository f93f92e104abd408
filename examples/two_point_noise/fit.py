"""Two-point noise: the estimates look as always, only the residuals tell of it."""

from pathlib import Path

import numpy as np
from make_data import SEED, TRUTH, clean, noisy

import estimica as es

study = es.read_study(Path(__file__).parent / "two_point_noise.toml")
fit = es.fit(study)
print(fit)

for output in fit.cases[0].outputs:
    sigma = np.sqrt(fit.noise[output.name].variance)
    counts, edges = np.histogram(output.residual / sigma, bins=np.arange(-2.25, 2.5, 0.5))
    print(f"residuals of {output.name} in standard deviations:")
    for count, low in zip(counts, edges, strict=False):
        print(f"  {low + 0.25:5.1f} {'#' * round(count / 5)}")
    kurtosis = np.mean((output.residual / output.rmse) ** 4)
    print(f"  kurtosis {kurtosis:.2f}: Gaussian noise has 3, two points have 1")

# a hundred experiments: their estimates scatter as the standard errors say, as if by Gaussian noise
random = np.random.default_rng(SEED)
exact = clean(500)
columns = ["time [s]", "u1", "u2", "y1", "y2"]
found = []
for _ in range(100):
    table = dict(zip(columns, noisy(exact, random).T, strict=True))
    case = es.Case(
        "again",
        table,
        inputs={"u1": "u1", "u2": "u2"},
        outputs={"y1": "y1", "y2": "y2"},
    )
    found.append(es.fit(study.with_(cases=[case])).values)
spread = np.std(found, axis=0, ddof=1)
print("tuner  truth  mean of 100  their spread  std. error of the fit above")
for k, (name, true) in enumerate(TRUTH.items()):
    mean = np.mean(found, axis=0)[k]
    print(f"{name:5}  {true:5.2f}  {mean:11.4f}  {spread[k]:12.4f}  {fit.accuracy.stderr[k]:.4f}")
