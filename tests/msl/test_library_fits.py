"""Library models with tuned physical parameters: their sensitivities, and fits that find them.

Sensitivities are compared with central differences of simulations; data for the fits come from
the classes as the library has them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

import estimica as es

pytestmark = [pytest.mark.msl, pytest.mark.slow]

#: of a tuner's value; the longer step has an error of its square times the third derivative, the
#: shorter one the noise of two simulations, rtol = 1e-10, divided by it: the better of the two counts
STEPS = (1e-3, 1e-4)
AGREE = 1e-4  # of the range of a sensitivity's curve
NOISE = 1e-5  # of the range of a signal: maximum likelihood needs residuals that are not zero
FOUND = 3e-3  # of a tuner's value: three standard errors of the one that is determined least
SAMPLES = 101


@dataclass(frozen=True)
class Example:
    """A class, its measured variables, its tuners and the time until which it runs.

    `starts` are states whose start values are found along with the tuners.
    """

    name: str
    outputs: tuple[str, ...]
    tuners: tuple[str, ...]
    stop: float
    starts: tuple[str, ...] = ()
    atol: float = 1e-12  # far below what the states are

    def __str__(self) -> str:
        return self.name

    @property
    def unknowns(self) -> tuple[str, ...]:
        return (*self.tuners, *self.starts)

    @property
    def tight(self) -> es.Options:
        return es.Options(rtol=1e-10, atol=self.atol)

    @property
    def times(self) -> np.ndarray:
        return np.linspace(0.0, self.stop, SAMPLES)


EXAMPLES = (
    # springs, dampers, inertias; `Jmotor` and `damping` reach components through their modifiers
    Example(
        "Mechanics.Rotational.Examples.First",
        ("inertia2.w", "inertia3.w"),
        ("Jmotor", "spring.c", "damping"),
        0.3,
    ),
    Example(
        "Mechanics.Rotational.Examples.EddyCurrentBrake",
        ("inertia.w", "heatCapacitor.T"),
        ("eddyCurrentTorque.tau_nominal", "eddyCurrentTorque.w_nominal", "heatCapacitor.C"),
        1.0,
        starts=("inertia.w",),
    ),
    Example(
        "Mechanics.Rotational.Examples.HeatLosses",
        ("inertia1.w", "inertia4.w"),
        ("damper.d", "springDamper.c", "bearingFriction.tau_pos[1,2]", "lossyGear.lossTable[1,2]"),
        0.5,
    ),
    Example(
        "Mechanics.Rotational.Examples.LossyGearDemo1",
        ("Inertia1.w", "Inertia2.w"),
        ("Inertia2.J", "gear.lossTable[1,2]"),
        0.5,
    ),
    Example(
        "Mechanics.Translational.Examples.Oscillator",
        ("mass1.s", "mass2.s"),
        ("mass1.m", "spring2.c", "damper1.d"),
        0.2,
    ),
    Example(
        "Mechanics.MultiBody.Examples.Elementary.DoublePendulum",
        ("revolute1.phi", "revolute2.phi"),
        ("damper.d", "boxBody1.density", "boxBody2.width"),
        1.5,
    ),
    Example(
        "Mechanics.MultiBody.Examples.Elementary.PendulumWithSpringDamper",
        ("revolute.phi", "prismatic.s"),
        ("body1.m", "spring1.c", "damper1.d"),
        5.0,
    ),
    # circuits: parameters of the top level that several components follow
    Example(
        "Electrical.Analog.Examples.CauerLowPassAnalog",
        ("C3.v", "C5.v", "L1.i"),
        ("l1", "l2", "c1", "R2.R"),
        20.0,
    ),
    Example(
        "Electrical.Analog.Examples.ShowSaturatingInductor",
        ("SaturatingInductance1.i",),
        ("Lzer", "Lnom", "Linf"),
        6.2832,
    ),
    Example(
        "Electrical.Analog.Examples.HeatingRectifier",
        ("Capacitor1.v", "HeatCapacitor1.T"),
        ("Capacitor1.C", "R.R", "ThermalConductor1.G"),
        5.0,
    ),
    Example(
        "Electrical.Analog.Examples.DifferenceAmplifier",
        ("C2.v", "C3.v"),
        ("R2.R", "C2.C", "Transistor1.Tr.Bf"),
        1e-8,
    ),
    Example(
        "Electrical.Analog.Examples.OpAmps.ControlCircuit",
        ("PIA.c.v", "firstOrder2A.c.v"),
        ("T1", "T2", "kp"),
        1.0,
    ),
    Example(
        "Electrical.Polyphase.Examples.TransformerYY",
        ("transformerL.i[1]", "transformerL.i[2]"),
        ("transformerL.L[1]", "loadR.R[2]", "RT"),
        1.0,
    ),
    # records: `dcpmData` reaches the machine's parts through final modifiers
    Example(
        "Electrical.Machines.Examples.DCMachines.DCPM_Start",
        ("dcpm.ia", "dcpm.wMechanical"),
        ("dcpmData.Ra", "dcpmData.La", "JLoad"),
        2.0,
    ),
    Example(
        "Electrical.Machines.Examples.DCMachines.DCSE_Start",
        ("dcse.ia", "dcse.wMechanical"),
        ("dcseData.Ra", "dcseData.La", "TLoad", "JLoad"),
        2.0,
    ),
    Example(
        "Electrical.Batteries.Examples.CCCV_CellRC",
        ("cell.v", "cell.i"),
        ("cellData.Qnom", "cellData.R0", "cellData.rcData[1].R", "cellData.rcData[2].C"),
        1200.0,
    ),
    Example(
        "Electrical.PowerConverters.Examples.DCDC.ChopperStepDown.ChopperStepDown_RL",
        ("capacitor.v", "inductor.i"),
        ("L", "C", "RLoad"),
        0.05,
    ),
    Example(
        "Electrical.Spice3.Examples.CoupledInductors",
        ("L1.i", "L2.i", "C2.v"),
        ("L1.L", "k1.k", "R4.R"),
        0.1,
    ),
    Example(
        "Magnetic.FluxTubes.Examples.BasicExamples.SaturatedInductor",
        ("coil.i",),
        ("r.R", "r_mLeak.R_m", "r_mAirPar.l"),
        0.1,
        atol=1e-14,  # its state is a flux below 1e-3, and the current rises steeply with it
    ),
    # heat
    Example(
        "Thermal.HeatTransfer.Examples.Motor",
        ("winding.T", "core.T"),
        ("winding.C", "core.C", "winding2core.G", "lossTable.table[2,2]"),
        7200.0,
    ),
    Example(
        "Thermal.HeatTransfer.Examples.ControlledTemperature",
        ("heatCapacitor.T",),
        ("heatCapacitor.C", "thermalConductor.G"),
        3.0,
    ),
    Example(
        "Thermal.FluidHeatFlow.Examples.IndirectCooling",
        ("heatCapacitor.T", "innerPipe.T", "outerPipe.T"),
        ("heatCapacitor.C", "thermalConductor.G", "innerMedium.cp"),
        1.5,
    ),
    Example(
        "Thermal.FluidHeatFlow.Examples.TwoTanks",
        ("openTank1.level", "openTank2.level"),
        ("openTank1.ATank", "pipe.V_flowLaminar"),
        1.5,
    ),
    # a medium, vessels and pipes; the first level is a parameter
    Example(
        "Fluid.Examples.Tanks.ThreeTanks",
        ("tank1.level", "tank2.level", "tank3.level"),
        ("tank1.crossArea", "pipe1.diameter", "tank2.level_start"),
        100.0,
    ),
    # a controller and its plant
    Example(
        "Blocks.Examples.PID_Controller",
        ("inertia1.w", "inertia2.w", "PI.y"),
        ("PI.k", "PI.Ti", "inertia2.J", "spring.c"),
        4.0,
    ),
)


@cache
def loaded(example: Example) -> es.ModelicaModel:
    return es.load_model("Modelica." + example.name)


def values(example: Example) -> np.ndarray:
    """What the library gives the tuners and start values."""
    model = loaded(example)
    given = pd.concat([model.parameters["value"], model.states["value"]])
    return np.array([float(given[n]) for n in example.unknowns])


def simulated(example: Example, theta: np.ndarray) -> np.ndarray:
    split = len(example.tuners)
    return (
        loaded(example)
        .simulate(
            example.times,
            parameters=dict(zip(example.tuners, theta[:split], strict=True)),
            start=dict(zip(example.starts, theta[split:], strict=True)),
            outputs=list(example.outputs),
            options=example.tight,
        )
        .values
    )


def differences(example: Example, theta: np.ndarray, j: int, share: float) -> np.ndarray:
    """Central differences of the outputs by tuner `j`, at each sample."""
    step = np.zeros(theta.size)
    step[j] = share * abs(theta[j])
    up, down = simulated(example, theta + step), simulated(example, theta - step)
    return (up - down) / (2 * step[j])


def test_there_are_enough_of_them():
    assert len(EXAMPLES) >= 20
    assert all(2 <= len(e.unknowns) <= 4 for e in EXAMPLES)


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_sensitivities_are_those_of_central_differences(example):
    theta = values(example)
    found = loaded(example).sensitivities(
        example.times,
        wrt=list(example.unknowns),
        outputs=list(example.outputs),
        options=replace(example.tight, tuner_scales=tuple(np.abs(theta))),
    )
    ranges = np.ptp(found.values, axis=0)
    for j, tuner in enumerate(example.unknowns):
        tried = [differences(example, theta, j, share) for share in STEPS]
        for i, output in enumerate(example.outputs):
            exact = found.derivative(output, tuner)
            # a tuner that hardly moves an output leaves noise alone: a hundredth of the output
            scale = max(np.abs(exact).max(), 0.01 * ranges[i] / abs(theta[j]))
            worst = min(np.abs(exact - d[:, i]).max() for d in tried) / scale
            assert worst < AGREE, (output, tuner, worst)


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_a_fit_finds_the_values_of_the_library(example):
    theta = values(example)
    run = simulated(example, theta)
    noise = np.random.default_rng(1).normal(0.0, 1.0, run.shape)
    measured = run + NOISE * np.ptp(run, axis=0) * noise
    columns = dict(zip(example.outputs, measured.T, strict=True))
    begun = dict(zip(example.unknowns, theta * np.resize([0.8, 1.2], theta.size), strict=True))
    tuners = [
        es.Tuner(n, start=begun[n], min=0.3 * v, max=3.0 * v)
        for n, v in zip(example.tuners, theta, strict=False)
    ]
    case = es.Case(
        "run",
        pd.DataFrame({"time": example.times} | columns),
        outputs={n: n for n in example.outputs},
        free_start={n: begun[n] for n in example.starts},
    )
    fit = es.fit(es.Study(loaded(example), tuners=tuners, cases=[case], criterion="ml"))
    found = [*fit.parameters["value"], *fit.start_values["value"]]
    np.testing.assert_allclose(found, theta, rtol=FOUND)
