"""Saturation: the fit of a model that switches, and what is lost without the second output."""

from pathlib import Path

import estimica as es

study = es.read_study(Path(__file__).parent / "saturation.toml")
both = es.fit(study)
print(both)
(case,) = study.cases
alone = es.Case("y alone", case.data, inputs={"u": "u"}, outputs={"y": "y"})
print(es.fit(study.with_(cases=[alone])))
