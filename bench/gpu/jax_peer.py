"""The drum boiler's ensemble by JAX on the same device: outputs, seven sensitivities and normal
equations of many members. Once with diffrax, once by a loop of our own under vmap.

python bench/gpu/jax_peer.py FOLDER, where FOLDER holds what prepare.py has written.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
RTOL, ATOL = 1e-6, 1e-8
SAMPLES, HOLD, PERIOD = 500, 10, 2.0
PIECES = SAMPLES // HOLD
SCALES = jnp.array([285.0, 19.0, 0.26, 10.0, 10.0, 148.0, 28.0])


def slope(x: Any, theta: Any, u: Any) -> Any:
    """The two states of the boiler."""
    steam = 3.3 * u[0] * x[0]
    return jnp.stack([0.3 / theta[0] * (14 * u[1] - steam), 0.064 / theta[1] * (steam - 15 * x[1])])


def outputs(x: Any, theta: Any, u: Any) -> Any:
    """Power and pressure."""
    steam = 3.3 * u[0] * x[0]
    power = 0.32 * (theta[2] * steam + (1 - theta[2]) * 15 * x[1]) + theta[3]
    return jnp.stack([power, x[0] + theta[4]])


def tangents(function: Callable[..., Any], x: Any, S: Any, theta: Any, u: Any) -> tuple[Any, Any]:
    """A function and its total derivative by the tuners (rows: results)."""

    def along(s: Any, e: Any) -> Any:
        return jax.jvp(lambda a, b: function(a, b, u), (x, theta), (s, e))[1]

    return function(x, theta, u), jax.vmap(along, (1, 0), 1)(S, jnp.eye(7))


def begun(theta: Any) -> Any:
    """[x, S] at the start."""
    S = jnp.zeros((2, 7)).at[0, 5].set(1.0).at[1, 6].set(1.0)
    return jnp.concatenate([theta[5:7, None], S], axis=1)


def derivative(w: Any, theta: Any, u: Any) -> Any:
    """Of [x, S]."""
    f, F = tangents(slope, w[:, 0], w[:, 1:], theta, u)
    return jnp.concatenate([f[:, None], F], axis=1)


def equations(ws: Any, theta: Any, us: Any, value: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Σ r², Jᵀr and JᵀJ of every output from [x, S] at all samples."""
    y, Y = jax.vmap(lambda w, u: tangents(outputs, w[:, 0], w[:, 1:], theta, u))(ws, us)
    r, J = weight * (y - value), weight[..., None] * Y
    return (r**2).sum(0), jnp.einsum("no,noj->oj", r, J), jnp.einsum("noi,noj->oij", J, J)


ERROR = jnp.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
DENSE = jnp.array([
    -12715105075 / 11282082432, 0, 87487479700 / 32700410799, -10690763975 / 1880347072,
    701980252875 / 199316789632, -1453857185 / 822651844, 69997945 / 29380423,
])  # fmt: skip
ROWS = (
    (0.2,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)


def loop_member(theta: Any, levels: Any, us: Any, value: Any, weight: Any) -> tuple[Any, Any, Any]:
    """Dormand and Prince's pair piece by piece, samples by dense output."""
    scale = jnp.concatenate([jnp.ones(1), SCALES])

    def piece(carry: Any, u: Any) -> Any:
        w, h = carry
        stamps = PERIOD * (1.0 + jnp.arange(HOLD))
        end = PERIOD * HOLD

        def step(state: Any) -> Any:
            t, h, w, k1, found = state
            last = t + 1.01 * h >= end
            step = jnp.where(last, end - t, h)
            ks = [k1]
            for row in ROWS:
                w1 = w + step * sum(a * k for a, k in zip(row, ks, strict=True))
                ks.append(derivative(w1, theta, u))
            gap = step * sum(e * k for e, k in zip(ERROR, ks, strict=True))
            tolerance = ATOL / scale + RTOL * jnp.maximum(jnp.abs(w), jnp.abs(w1))
            error = jnp.sqrt(((gap / tolerance) ** 2).mean(0).max())
            good = error <= 1.0
            part = (stamps - t) / step
            inside = good & (part > 0) & (part <= 1.0 + 1e-9)
            rise = w1 - w
            bend = step * k1 - rise
            fourth = rise - step * ks[6] - bend
            fifth = step * sum(d * k for d, k in zip(DENSE, ks, strict=True))
            p = jnp.clip(part, 0.0, 1.0)[:, None, None]
            dense = w + p * (rise + (1 - p) * (bend + p * (fourth + (1 - p) * fifth)))
            found = jnp.where(inside[:, None, None], dense, found)
            growth = jnp.clip(0.9 * jnp.maximum(error, 1e-10) ** -0.2, 0.2, 10.0)
            following = jnp.where(last & good, jnp.maximum(h, step * growth), step * growth)
            t = jnp.where(good, jnp.where(last, end, t + step), t)
            return t, following, jnp.where(good, w1, w), jnp.where(good, ks[6], k1), found

        first = (0.0, h, w, derivative(w, theta, u), jnp.zeros((HOLD, 2, 8)))
        _, h, w, _, found = jax.lax.while_loop(lambda s: s[0] < end, step, first)
        return (w, h), found

    _, ws = jax.lax.scan(piece, (begun(theta), jnp.asarray(0.5)), levels)
    return equations(ws.reshape(SAMPLES, 2, 8), theta, us, value, weight)


def diffrax_member(
    theta: Any, levels: Any, us: Any, value: Any, weight: Any
) -> tuple[Any, Any, Any]:
    """diffrax's own solver, controller and dense output."""
    import diffrax

    starts = PERIOD * HOLD * jnp.arange(PIECES)

    def field(t: Any, w: Any, _: Any) -> Any:
        k = jnp.clip((t / (PERIOD * HOLD)).astype(int), 0, PIECES - 1)
        return derivative(w, theta, levels[k])

    control = diffrax.PIDController(rtol=RTOL, atol=ATOL)
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(field), diffrax.Dopri5(), 0.0, PERIOD * SAMPLES, 0.5, begun(theta),
        saveat=diffrax.SaveAt(ts=PERIOD * (1.0 + jnp.arange(SAMPLES))),
        stepsize_controller=diffrax.ClipStepSizeController(control, jump_ts=starts[1:]),
        max_steps=4096,
    )  # fmt: skip
    return equations(solution.ys, theta, us, value, weight)


def measure(name: str, member: Callable[..., Any], reference: Any, levels: Any, us: Any) -> None:
    """Agreement with the scalar engine, then evaluations a second."""
    value, weight = jnp.asarray(reference["value"][0]), jnp.asarray(reference["weight"])
    run = jax.jit(jax.vmap(partial(member, levels=levels, us=us, value=value, weight=weight)))
    square, _, information = run(jnp.asarray(reference["thetas"]))
    gap = np.abs(np.asarray(square) / reference["square"] - 1).max()
    other = np.abs(np.asarray(information) - reference["information"]).max()
    other /= np.abs(reference["information"]).max()
    print(f"{name}: cost within {gap:.1e}, JTJ within {other:.1e} of the scalar engine", flush=True)
    rng = np.random.default_rng(0)
    for many in (int(n) for n in sys.argv[2:] or ("1000", "10000", "100000")):
        theta = reference["theta"] * (1 + 0.1 * (rng.random((many, 7)) - 0.5))
        thetas = jnp.asarray(theta)
        jax.block_until_ready(run(thetas))
        begun_at = time.perf_counter()
        jax.block_until_ready(run(thetas))
        seconds = time.perf_counter() - begun_at
        print(f"{name}: {many} members {1e3 * seconds:.1f} ms, {many / seconds:.3g} a second",
              flush=True)  # fmt: skip


def main(folder: Path) -> None:
    """Both peers, one after the other."""
    sys.path.append(str(folder / "lib"))
    print("jax", jax.__version__, jax.devices())
    reference, program = np.load(folder / "A-reference.npz"), np.load(folder / "A.npz")
    levels = jnp.asarray(program["values"])
    # a sample at a jump sees the inputs after it
    order = np.minimum(np.arange(1, SAMPLES + 1) // HOLD, PIECES - 1)
    us = levels[order]
    for name, member in (("vmap of a loop", loop_member), ("diffrax", diffrax_member)):
        try:
            measure(name, member, reference, levels, us)
        except Exception:  # one peer may be missing
            traceback.print_exc()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
