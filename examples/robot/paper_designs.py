"""Axis 2 of the r3 robot with the three designs that Elmqvist and others print, side by side.

It needs the Modelica Standard Library on MODELICAPATH: python paper_designs.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import estimica as es

HERE = Path(__file__).resolve().parent
#: rad and s
OVERSHOOT, SETTLING = 0.003, 0.3
#: rad/s; not in the paper, found by trial
BAND = 0.01
#: s between the samples of a run; an angle may turn a quarter of a millisecond after rest
STEP = 1e-4
#: kp2, ks2, Ts2: overshoot and settling time over their demands, in the four cases, as printed
PRINTED = {
    (2.0, 1.0, 0.1): ((0.6854, 1.5106, 0.8332, 1.7887), (0.7588, 0.9855, 0.5579, 1.0468)),
    (3.0776, 2.5089, 0.08896): (
        (0.5929, 1.0315, 0.6510, 1.1956),
        (0.8998, 1.0902, 0.7157, 1.1955),
    ),
    (4.0722, 4.8897, 0.070565): (
        (0.7623, 0.8845, 0.6175, 0.9985),
        (0.8965, 1.1855, 0.7161, 1.2027),
    ),
}
SIGNALS = (
    "mechanics.r2.phi",
    "pathPlanning.path.q[2]",
    "mechanics.r2.w",
    "pathPlanning.path.qd[2]",
)


def criteria(
    study: es.Study, case: str, signals: tuple[str, ...], tuners: dict[str, float]
) -> tuple[float, float]:
    """Overshoot (the greatest deviation at which the angle turns) and settling time after rest."""
    (chosen,) = [c for c in study.cases if c.name == case]
    assert chosen.stop is not None
    time = np.arange(0.0, chosen.stop, STEP)
    run = study.model.simulate(
        time,
        parameters=dict(chosen.fix) | tuners,
        outputs=list(signals),
        options=es.Options(rtol=1e-8),
    )
    phi, phi_wanted, w, w_wanted = (run.value(s) for s in signals)
    rest = np.flatnonzero(np.abs(w_wanted) > 1e-9)[-1] + 1  # rad/s; rounding is far below
    error, speed = phi[rest:] - phi_wanted[rest:], w[rest:]
    turns = np.flatnonzero(speed[1:] * speed[:-1] <= 0)
    outside = np.flatnonzero(np.abs(speed) > BAND)
    return float(np.abs(error[turns]).max()), float(STEP * (outside[-1] + 1))


def main() -> None:
    """Print ours and theirs."""
    study = es.read_study(HERE / "robot.toml")
    for design, (overshoots, times) in PRINTED.items():
        print("kp2 = {}, ks2 = {}, Ts2 = {}".format(*design))
        tuners = dict(zip(("kp2", "ks2", "Ts2"), design, strict=True))
        for case, *printed in zip(study.cases, overshoots, times, strict=True):
            overshoot, settled = criteria(study, case.name, SIGNALS, tuners)
            shown = overshoot / OVERSHOOT, settled / SETTLING
            rows = [f"{own:.4f} ({paper:.4f})" for own, paper in zip(shown, printed, strict=True)]
            print(f"  {case.name}: overshoot {rows[0]}, settling time {rows[1]}")


if __name__ == "__main__":
    main()
