/* Dormand-Prince 5(4) with forward sensitivities in the error test, fourth-order dense output, and
 * piecewise constant inputs; a sample at a jump sees the input after it. What a careful programmer
 * would write for one model: the yardstick of our engine. */
#include "common.h"

model_function both, output, start, algebraic;

static const real c2 = 0.2, c3 = 0.3, c4 = 0.8, c5 = 8. / 9;
static const real a21 = 0.2, a31 = 3. / 40, a32 = 9. / 40, a41 = 44. / 45, a42 = -56. / 15,
                  a43 = 32. / 9, a51 = 19372. / 6561, a52 = -25360. / 2187, a53 = 64448. / 6561,
                  a54 = -212. / 729, a61 = 9017. / 3168, a62 = -355. / 33, a63 = 46732. / 5247,
                  a64 = 49. / 176, a65 = -5103. / 18656;
static const real b1 = 35. / 384, b3 = 500. / 1113, b4 = 125. / 192, b5 = -2187. / 6784,
                  b6 = 11. / 84;
static const real e1 = 71. / 57600, e3 = -71. / 16695, e4 = 71. / 1920, e5 = -17253. / 339200,
                  e6 = 22. / 525, e7 = -1. / 40;
static const real d1 = -12715105075. / 11282082432., d3 = 87487479700. / 32700410799.,
                  d4 = -10690763975. / 1880347072., d5 = 701980252875. / 199316789632.,
                  d6 = -1453857185. / 822651844., d7 = 69997945. / 29380423.;

/* Newton for the algebraic unknowns, from where they were. */
#if NZ > 0
static int solve_algebraic(real t, const real *x) {
  real g[NZ], A[NZ * NZ];
  EACH(round, 50) {
    arg[0] = &t, arg[1] = x, arg[2] = Z, arg[3] = P, arg[4] = U, res[0] = g, res[1] = A;
    call(algebraic);
    EACH(k, NZ) {
      int pivot = k;
      for (int i = k + 1; i < NZ; i++)
        if (fabs(A[i + k * NZ]) > fabs(A[pivot + k * NZ])) pivot = i;
      if (pivot != k) {
        EACH(j, NZ) {
          real q = A[k + j * NZ];
          A[k + j * NZ] = A[pivot + j * NZ], A[pivot + j * NZ] = q;
        }
        real q = g[k];
        g[k] = g[pivot], g[pivot] = q;
      }
      for (int i = k + 1; i < NZ; i++) {
        real l = A[i + k * NZ] / A[k + k * NZ];
        for (int j = k + 1; j < NZ; j++) A[i + j * NZ] -= l * A[k + j * NZ];
        g[i] -= l * g[k];
      }
    }
    real largest = 0;
    for (int k = NZ - 1; k >= 0; k--) {
      for (int j = k + 1; j < NZ; j++) g[k] -= A[k + j * NZ] * g[j];
      g[k] /= A[k + k * NZ];
      Z[k] -= g[k];
      largest = fmax(largest, fabs(g[k]) / (1e-3 * (atol_x + rtol * fabs(Z[k]))));
    }
    if (largest < 1) return 0;
  }
  return 1;
}
#else
static inline int solve_algebraic(real t, const real *x) { return 0; }
#endif

static inline int rates(real t, const real *w, real *k) {
  if (solve_algebraic(t, w)) return 1;
  arg[0] = &t, arg[1] = w, arg[2] = w + NX, arg[3] = Z, arg[4] = P, arg[5] = U;
  res[0] = k, res[1] = k + NX;
  call(both);
  return 0;
}

static inline int emit(real t, const real *w, real *y, real *dy) {
  if (solve_algebraic(t, w)) return 1;
  arg[0] = &t, arg[1] = w, arg[2] = w + NX, arg[3] = Z, arg[4] = P, arg[5] = U;
  res[0] = y, res[1] = dy;
  call(output);
  return 0;
}

int simulate(const real *p, const real *z0, int n, const real *times, int pieces,
             const real *starts, const real *inputs, real relative, real absolute, real *Y,
             real *J, long *counters) {
  static real memory[14][NW];
  real *w0 = memory[0], *w1 = memory[1], *wt = memory[2], *k1 = memory[3], *k2 = memory[4],
       *k3 = memory[5], *k4 = memory[6], *k5 = memory[7], *k6 = memory[8], *k7 = memory[9],
       *e = memory[10], *rise = memory[11], *bend = memory[12], *r5 = memory[13];
  long steps = 0, rejected = 0;
  set_tolerances(p, relative, absolute);
  if (NZ > 0) memcpy(Z, z0, NZ * sizeof(real));
  arg[0] = P, res[0] = w0, res[1] = w0 + NX;
  call(start);
  real t = starts[0], h = 0;
  int k = 0;
  EACH(piece, pieces) {
    if (NU > 0) memcpy(U, inputs + piece * NU, NU * sizeof(real));
    int last_piece = piece + 1 == pieces;
    real stop = last_piece ? times[n - 1] : starts[piece + 1], before = 1e-4;
    if (rates(t, w0, k1)) return 1;
    if (piece == 0) h = first_step(w0, k1, stop - t);
    while (k < n && times[k] <= t) {
      if (emit(t, w0, Y + k * NY, J + k * NY * NP)) return 1;
      k++;
    }
    while (t < stop) {
      int last = t + 1.01 * h >= stop;
      if (last) h = stop - t;
      EACH(i, NW) wt[i] = w0[i] + h * a21 * k1[i];
      int failed = rates(t + c2 * h, wt, k2);
      EACH(i, NW) wt[i] = w0[i] + h * (a31 * k1[i] + a32 * k2[i]);
      failed |= rates(t + c3 * h, wt, k3);
      EACH(i, NW) wt[i] = w0[i] + h * (a41 * k1[i] + a42 * k2[i] + a43 * k3[i]);
      failed |= rates(t + c4 * h, wt, k4);
      EACH(i, NW) wt[i] = w0[i] + h * (a51 * k1[i] + a52 * k2[i] + a53 * k3[i] + a54 * k4[i]);
      failed |= rates(t + c5 * h, wt, k5);
      EACH(i, NW)
      wt[i] = w0[i] + h * (a61 * k1[i] + a62 * k2[i] + a63 * k3[i] + a64 * k4[i] + a65 * k5[i]);
      failed |= rates(t + h, wt, k6);
      EACH(i, NW)
      w1[i] = w0[i] + h * (b1 * k1[i] + b3 * k3[i] + b4 * k4[i] + b5 * k5[i] + b6 * k6[i]);
      failed |= rates(t + h, w1, k7);
      EACH(i, NW)
      e[i] = h * (e1 * k1[i] + e3 * k3[i] + e4 * k4[i] + e5 * k5[i] + e6 * k6[i] + e7 * k7[i]);
      real error = failed ? INFINITY : error_norm(e, w0, w1);
      if (!(error <= 1)) {
        h = isfinite(error) ? h / fmin(5, fmax(1.1, pow(error, 0.2) / 0.9)) : 0.1 * h;
        if (++rejected > 1000000 || h < 1e-14 * fabs(t)) return 2;
        continue;
      }
      steps++;
      real factor = pow(fmax(error, 1e-10), 0.17) / pow(before, 0.04) / 0.9;
      before = fmax(error, 1e-4);
      real arrival = last ? stop : t + h;
      int prepared = 0;
      while (k < n && times[k] < arrival) {
        if (!prepared) EACH(i, NW) {
            rise[i] = w1[i] - w0[i];
            bend[i] = h * k1[i] - rise[i];
            r5[i] = h * (d1 * k1[i] + d3 * k3[i] + d4 * k4[i] + d5 * k5[i] + d6 * k6[i] + d7 * k7[i]);
            e[i] = rise[i] - h * k7[i] - bend[i];
          }
        prepared = 1;
        real s = (times[k] - t) / h, r = 1 - s;
        EACH(i, NW) wt[i] = w0[i] + s * (rise[i] + r * (bend[i] + s * (e[i] + r * r5[i])));
        if (emit(times[k], wt, Y + k * NY, J + k * NY * NP)) return 1;
        k++;
      }
      real *kept = w0;
      w0 = w1, w1 = kept, kept = k1, k1 = k7, k7 = kept;
      t = arrival, h = h / fmax(0.1, fmin(5, factor));
    }
  }
  for (; k < n; k++)
    if (emit(times[k], w0, Y + k * NY, J + k * NY * NP)) return 1;
  counters[0] = steps, counters[1] = rejected;
  return 0;
}
