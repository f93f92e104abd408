"""Fits the study, and shows what leaving the censored samples out, or keeping them, would do."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

import estimica as es

HERE = Path(__file__).parent
study = es.read_study(HERE / "elimination.toml")
fit = es.fit(study)
print(fit)
print(es.residuals(fit))

table = pd.read_csv(HERE / "blood.csv")
case = study.cases[0]
for name, kept in (("left out", table[table.concentration > 0.1]), ("as measured", table)):
    column = es.OutputColumn("concentration", sigma="floor + share*c")
    naive = replace(case, data=kept, outputs={"c": column})
    found = es.fit(study.with_(cases=[naive]))
    print(name, {n: round(float(v), 4) for n, v in zip(("V", "k"), found.values, strict=False)})
