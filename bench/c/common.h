/* What both drivers share: sizes as constants, the model's functions as CasADi writes them, and the
 * small helpers of a one-step method. Vectors hold [x; S], S row by row (NX x NP). */
#include <math.h>
#include <string.h>
#include "sizes.h" /* NX NZ NP NU NY WORK IWORK */

typedef double real;
typedef long long whole;
typedef int model_function(const real **, real **, whole *, real *, int);

#define NW (NX + NX * NP)
#define AT_LEAST_ONE(n) ((n) > 0 ? (n) : 1)
#define EACH(i, n) for (int i = 0; i < (n); i++)

static const real *arg[16];
static real *res[16];
static whole iwork[AT_LEAST_ONE(IWORK)];
static real work[AT_LEAST_ONE(WORK)];
static real P[NP], U[AT_LEAST_ONE(NU)], Z[AT_LEAST_ONE(NZ)], atol_x, atol_s[NP], rtol;

static inline void call(model_function *f) { f(arg, res, iwork, work, 0); }

/* The tolerances of one run; those of sensitivities are for a change of the tuner by its own size. */
static void set_tolerances(const real *p, real relative, real absolute) {
  memcpy(P, p, sizeof P);
  rtol = relative;
  atol_x = absolute;
  EACH(j, NP) atol_s[j] = absolute / fmax(fabs(P[j]), 1e-12);
}

/* Root mean square of the scaled error over the states: of x, or of the worst tuner. */
static inline real error_norm(const real *e, const real *before, const real *after) {
  real worst = 0, sum[NP];
  EACH(i, NX) {
    real q = e[i] / (atol_x + rtol * fmax(fabs(before[i]), fabs(after[i])));
    worst += q * q;
  }
  EACH(j, NP) sum[j] = 0;
  EACH(i, NX) EACH(j, NP) {
    int r = NX + i * NP + j;
    real q = e[r] / (atol_s[j] + rtol * fmax(fabs(before[r]), fabs(after[r])));
    sum[j] += q * q;
  }
  EACH(j, NP) if (!(sum[j] <= worst)) worst = sum[j];
  return sqrt(worst / NX);
}

/* The first guess of a step from the sizes of x and x'. */
static real first_step(const real *x, const real *rate, real limit) {
  real a = 0, b = 0;
  EACH(i, NX) {
    real scale = atol_x + rtol * fabs(x[i]);
    a += x[i] * x[i] / (scale * scale);
    b += rate[i] * rate[i] / (scale * scale);
  }
  real h = a < 1e-10 * NX || b < 1e-10 * NX ? 1e-6 : 0.01 * sqrt(a / b);
  return fmin(h, limit);
}
