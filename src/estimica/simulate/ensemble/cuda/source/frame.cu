/* What both methods share: inputs, samples, the first step. Sizes and settings come before this
   text as constants, the functions of the model after it. C that a compiler for the CPU takes too:
   that is how the text is tested where there is no GPU. */

#ifdef __CUDACC__
#define MODEL __device__ INLINING
#define HELPER __device__ __forceinline__
#define SHARED_BY_ALL extern "C" __global__
#define TABLE __constant__ const
#define RESTRICT __restrict__
/* good to six digits, which is plenty for an error in units of its tolerance */
__device__ __forceinline__ double about_one_over(double x)
{
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
  return r;
}
#else
#include <math.h>
#include <stddef.h>
#define MODEL static
#define HELPER static
#define SHARED_BY_ALL
#define TABLE static const
#define RESTRICT restrict
#define __launch_bounds__(n)
struct place { int x; };
static _Thread_local struct place blockIdx, blockDim, threadIdx;
static double about_one_over(double x) { return 1.0 / x; }
#endif

#define NOT_A_NUMBER (sqrt(-1.0))
#define INFINITE (-log(0.0))
#define EACH(i, n) UNROLL for (int i = 0; i < (n); i++)
#define EPS 2.220446049250313e-16

/* the squared error of x, of the states alone or of the worst tuner; what is not a number wins */
#define SCALED(e, a, b, i) \
  ((e) * about_one_over(ATOL[i] + RTOL * fmax(fabs(a), fabs(b))))

/* MODEL */
typedef struct {
  const double *starts, *values, *slopes, *times;
  int n_pieces, n_times;
} Experiment;

HELPER double sum_of(const double *e, int begin, int end)
{
  double total = 0.0;
  UNROLL for (int i = begin; i < end; i++) total += e[i];
  return total;
}

/* the inputs of a piece at a time */
HELPER void inputs(const Experiment *x, int piece, double t, double *u)
{
#if SLOPED
  const double since = t - x->starts[piece];
  EACH(i, NU) u[i] = x->values[piece * NU + i] + x->slopes[piece * NU + i] * since;
#else
  EACH(i, NU) u[i] = x->values[piece * NU + i];
#endif
}

/* two instants closer than this are one */
HELPER double blur_at(double t, double span)
{
  return fmax(SAME_ROUNDINGS * EPS * fabs(t), SAME_PART * span);
}

/* the piece that holds at t */
HELPER int piece_at(const Experiment *x, int piece, double t, double blur)
{
  while (piece + 1 < x->n_pieces && x->starts[piece + 1] <= t + blur) piece++;
  return piece;
}

HELPER double next_stop(const Experiment *x, int piece)
{
  const double end = x->times[x->n_times - 1];
  return piece + 1 < x->n_pieces ? fmin(end, x->starts[piece + 1]) : end;
}

HELPER int is_finite(double x) { return x * 0.0 == 0.0; }

/* the first of the n numbers that is not one, or -1 */
HELPER int first_broken(const double *y, int n)
{
  double total = 0.0;
  UNROLL for (int i = 0; i < n; i++) total += y[i] * 0.0;
  if (total == 0.0) return -1;
  int found = 0;
  for (int i = n - 1; i >= 0; i--)
    if (!is_finite(y[i])) found = i;
  return found;
}

HELPER int broken_check(double t, const double *w, const double *c, const double *u)
{
  int found = -1;
#if N_CHECKS
  double k[N_CHECKS];
  checked(t, w, c, u, k);
  for (int i = N_CHECKS - 1; i >= 0; i--)
    if (!(k[i] >= -SLACK)) found = i;
#endif
  return found;
}

/* Hairer's guess of the first step, from the sizes of x, x' and x'' (Hairer, Norsett, Wanner,
   Solving ODEs I, 1993, II.4), as the scalar engine has it */
HELPER double first_step(double t, const double *w, const double *k1, const double *c,
                        const double *u, double limit)
{
  if (NX == 0) return limit;
  double a = 0.0, b = 0.0, k2[AT_LEAST_ONE(NX)], wt[AT_LEAST_ONE(NX)];
  EACH(i, NX) {
    const double scale = ATOL[i] + RTOL * fabs(w[i]);
    a += (w[i] / scale) * (w[i] / scale);
    b += (k1[i] / scale) * (k1[i] / scale);
  }
  a = sqrt(a / NX);
  b = sqrt(b / NX);
  double h = a >= 1e-5 && b >= 1e-5 && is_finite(b) ? 0.01 * a / b : 1e-6;
  h = fmin(h, limit);
  EACH(i, NX) wt[i] = w[i] + h * k1[i];
  slope_of_states(t + h, wt, c, u, k2);
  double bend = 0.0;
  EACH(i, NX) {
    const double q = (k2[i] - k1[i]) / (ATOL[i] + RTOL * fabs(w[i]));
    bend += q * q;
  }
  bend = sqrt(bend / NX) / h;
  if (!is_finite(bend)) return h * 1e-3;
  const double steep = fmax(b, bend);
  const double ideal = steep <= 1e-15 ? fmax(1e-6, h * 1e-3) : pow(0.01 / steep, 0.2);
  return fmin(fmin(100.0 * h, ideal), limit);
}

/* the length of the step after one that was rejected with this squared error */
HELPER double shortened(double step, double square)
{
  if (!is_finite(square)) return step * 0.1;
  const double ratio = (double)powf((float)square, 0.1f) / SAFETY;
  return step / fmin(1.0 / SHRINK, fmax(1.1, ratio));
}
