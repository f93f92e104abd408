/* The Rosenbrock 5(4) method of eight stages that CasADi ships, with forward sensitivities in the
 * error test and piecewise constant inputs; a sample at a jump sees the input after it. One
 * factorisation of I/(h gamma) - f_x in each step serves the states and every tuner.
 *
 * Stages: (I/(h gamma) - f_x) k_s = f(x + sum a k) + sum c k / h. Differentiated:
 *         (I/(h gamma) - f_x) K_s = f_x(..) X_s + f_p(..) + sum c K / h + (d f_x/d theta) k_s. */
#include "common.h"
#include "table.h"     /* A ALPHA M D E C GAMMA */
#include "sparsity.h"  /* NNZ_X x_row x_col NNZ_P p_row p_col NNZ_DX dx_row ... NNZ_DP dp_row ... */

model_function linear, second, output, start;

#define STAGES 8
static real FX0[AT_LEAST_ONE(NNZ_X)], FP0[AT_LEAST_ONE(NNZ_P)], FX[AT_LEAST_ONE(NNZ_X)],
    FP[AT_LEAST_ONE(NNZ_P)], DX[AT_LEAST_ONE(NNZ_DX)], DP[AT_LEAST_ONE(NNZ_DP)];

/* out += A S by triplets, along the tuners */
static inline void multiply(int nnz, const int *row, const int *col, const real *v,
                            const real *restrict S, real *restrict out) {
  EACH(q, nnz) {
    const real value = v[q], *s = S + col[q] * NP;
    real *o = out + row[q] * NP;
    EACH(j, NP) o[j] += value * s[j];
  }
}

static inline void add(int nnz, const int *row, const int *col, const real *v, real *out) {
  EACH(q, nnz) out[row[q] * NP + col[q]] += v[q];
}

/* LU with partial pivoting, row-major, dense (BAND 0) or banded in rows of WIDTH entries that begin
 * at column i - BAND. */
#if BAND > 0
#define WIDTH (3 * BAND + 1)
#define LU(i, j) matrix[(i) * WIDTH + (j) - (i) + BAND]
#define LAST(k, reach) ((k) + (reach) < NX - 1 ? (k) + (reach) : NX - 1)
static real matrix[NX * WIDTH];
#else
#define LU(i, j) matrix[(i) * NX + (j)]
#define LAST(k, reach) (NX - 1)
static real matrix[NX * NX];
#endif
static int pivots[NX];

static int factorise(real diagonal) {
  memset(matrix, 0, sizeof matrix);
  EACH(q, NNZ_X) LU(x_row[q], x_col[q]) = -FX0[q];
  EACH(i, NX) LU(i, i) += diagonal;
  EACH(k, NX) {
    int pivot = k;
    for (int i = k + 1; i <= LAST(k, BAND); i++)
      if (fabs(LU(i, k)) > fabs(LU(pivot, k))) pivot = i;
    pivots[k] = pivot;
    if (LU(pivot, k) == 0) return 1;
    if (pivot != k)
      for (int j = k; j <= LAST(k, 2 * BAND); j++) {
        real q = LU(k, j);
        LU(k, j) = LU(pivot, j), LU(pivot, j) = q;
      }
    real inverse = 1 / LU(k, k);
    for (int i = k + 1; i <= LAST(k, BAND); i++) {
      real l = LU(i, k) *= inverse;
      for (int j = k + 1; j <= LAST(k, 2 * BAND); j++) LU(i, j) -= l * LU(k, j);
    }
  }
  return 0;
}

/* b := (LU)^-1 b for NX rows of `columns` numbers */
static inline void solve(real *restrict b, const int columns) {
  EACH(k, NX) {
    int pivot = pivots[k];
    real *at = b + k * columns;
    if (pivot != k) EACH(j, columns) {
        real q = at[j];
        at[j] = b[pivot * columns + j], b[pivot * columns + j] = q;
      }
    for (int i = k + 1; i <= LAST(k, BAND); i++) {
      real l = LU(i, k);
      EACH(j, columns) b[i * columns + j] -= l * at[j];
    }
  }
  for (int k = NX - 1; k >= 0; k--) {
    real *at = b + k * columns, inverse = 1 / LU(k, k);
    for (int i = k + 1; i <= LAST(k, 2 * BAND); i++) {
      real l = LU(k, i);
      EACH(j, columns) at[j] -= l * b[i * columns + j];
    }
    EACH(j, columns) at[j] *= inverse;
  }
}

static inline void linearise(real t, const real *x, real *f, real *fx, real *fp) {
  arg[0] = &t, arg[1] = x, arg[2] = P, arg[3] = U, res[0] = f, res[1] = fx, res[2] = fp;
  call(linear);
}

static inline void emit(real t, const real *w, real *y, real *dy) {
  arg[0] = &t, arg[1] = w, arg[2] = w + NX, arg[3] = P, arg[4] = U, res[0] = y, res[1] = dy;
  call(output);
}

static void stage(int s, real t, real h, const real *w0, real *wt, real (*K)[NW], const real *f0) {
  real *k = K[s];
  memcpy(wt, w0, NW * sizeof(real));
  memset(k, 0, NW * sizeof(real));
  EACH(r, s) {
    real a = A[s * STAGES + r], c = C[s * STAGES + r] / h;
    EACH(i, NW) wt[i] += a * K[r][i], k[i] += c * K[r][i];
  }
  real f[NX];
  const real *fx = FX0, *fp = FP0;
  if (s) linearise(t + ALPHA[s] * h, wt, f, FX, FP), fx = FX, fp = FP, f0 = f;
  EACH(i, NX) k[i] += f0[i];
  multiply(NNZ_X, x_row, x_col, fx, wt + NX, k + NX);
  add(NNZ_P, p_row, p_col, fp, k + NX);
  solve(k, 1);
  arg[0] = &t, arg[1] = w0, arg[2] = P, arg[3] = U, arg[4] = k, res[0] = DX, res[1] = DP;
  call(second);
  multiply(NNZ_DX, dx_row, dx_col, DX, w0 + NX, k + NX);
  add(NNZ_DP, dp_row, dp_col, DP, k + NX);
  solve(k + NX, NP);
}

int simulate(const real *p, const real *z0, int n, const real *times, int pieces,
             const real *starts, const real *inputs, real relative, real absolute, real *Y,
             real *J, long *counters) {
  static real memory[3][NW], K[STAGES][NW], e[NW], f0[NX];
  real *w0 = memory[0], *w1 = memory[1], *wt = memory[2];
  long steps = 0, rejected = 0;
  set_tolerances(p, relative, absolute);
  arg[0] = P, res[0] = w0, res[1] = w0 + NX;
  call(start);
  real t = starts[0], h = 0, before = 1e-4;
  int k = 0;
  EACH(piece, pieces) {
    if (NU > 0) memcpy(U, inputs + piece * NU, NU * sizeof(real));
    real stop = piece + 1 == pieces ? times[n - 1] : starts[piece + 1];
    while (k < n && times[k] <= t) {
      emit(t, w0, Y + k * NY, J + k * NY * NP);
      k++;
    }
    int fresh = 1, tried = 0;
    while (t < stop) {
      if (!tried) linearise(t, w0, f0, FX0, FP0);
      if (fresh) {
        real guess = first_step(w0, f0, stop - t);
        h = piece == 0 ? guess : fmin(h, fmax(guess, 1e-6 * (stop - t)));
        fresh = 0;
      }
      int last = t + 1.0001 * h >= stop;
      real step = last ? stop - t : h, error = INFINITY;
      if (!factorise(1 / (step * GAMMA))) {
        EACH(s, STAGES) stage(s, t, step, w0, wt, K, f0);
        memcpy(w1, w0, NW * sizeof(real));
        memset(e, 0, sizeof e);
        EACH(s, STAGES) {
          real m = M[s], d = E[s];
          EACH(i, NW) w1[i] += m * K[s][i];
          if (fabs(d) > 1e-12) EACH(i, NW) e[i] += d * K[s][i];
        }
        error = error_norm(e, w0, w1);
      }
      if (!(error <= 1)) {
        h = step * (isfinite(error) ? fmax(0.2, 0.9 * pow(error, -0.2)) : 0.25);
        tried = 1;
        if (++rejected > 1000000 || h < 1e-15) return 2;
        continue;
      }
      steps++;
      error = fmax(error, 1e-10);
      real factor = fmin(6, fmax(0.2, 0.9 * pow(error, -0.14) * pow(before, 0.08)));
      if (tried) factor = fmin(factor, 1);
      before = fmax(error, 1e-4);
      real arrival = last ? stop : t + step;
      while (k < n && times[k] < arrival) {
        real s = (times[k] - t) / step;
        memcpy(wt, w0, NW * sizeof(real));
        EACH(r, STAGES) {
          real weight = s * (D[r] + s * (D[8 + r] + s * (D[16 + r] + s * D[24 + r])));
          EACH(i, NW) wt[i] += weight * K[r][i];
        }
        emit(times[k], wt, Y + k * NY, J + k * NY * NP);
        k++;
      }
      real *kept = w0;
      w0 = w1, w1 = kept;
      h = last ? fmax(h, step * factor) : step * factor;
      t = arrival, tried = 0;
    }
  }
  for (; k < n; k++) emit(times[k], w0, Y + k * NY, J + k * NY * NP);
  counters[0] = steps, counters[1] = rejected;
  return 0;
}
