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
#define __launch_bounds__(...)
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

/* Where a run stands: time, the next step, the inputs that hold, the next sample */
typedef struct {
  double t, h, stop, blur, span, last_error, probed, after_jump;
  int piece, sample, since, steps, signs, fresh, rejected, result, where;
} Clock;

HELPER Clock begun_clock(const Experiment *x)
{
  Clock k;
  k.t = x->starts[0];
  k.h = FIRST_STEP;
  k.span = x->times[x->n_times - 1] - k.t;
  k.blur = blur_at(k.t, k.span);
  k.piece = piece_at(x, 0, k.t, k.blur);
  k.stop = next_stop(x, k.piece);
  k.last_error = CAUTIOUS;
  k.probed = k.after_jump = 0.0;
  k.sample = k.since = k.steps = k.signs = k.rejected = k.where = 0;
  k.fresh = k.piece > 0;
  k.result = RUNNING;
  return k;
}

/* the next trial: its length, and where it ends. Rather a step longer by a hundredth than a tiny
   one after it */
HELPER double proposed_step(const Clock *k, double *arrival)
{
  const double step = fmin(k->h, MAX_STEP);
  const int last = k->t + 1.01 * step >= k->stop;
  *arrival = last ? k->stop : k->t + step;
  return last ? k->stop - k->t : step;
}

/* after a trial with this squared error; whether steps have become too small to move the time */
HELPER int rejected_step(Clock *k, double step, double error)
{
  const double ratio = (double)powf((float)error, 0.1f) / SAFETY;
  k->h = is_finite(error) ? step / fmin(1.0 / SHRINK, fmax(1.1, ratio)) : step * 0.1;
  k->rejected = 1;
  return k->h < fmax(4.0 * EPS * fabs(k->t), 1e-30 * k->span);
}

/* the length of the next step, from the squared errors of this one and the last: single precision
   will do for that. `careful`: no longer than this one where a trial was rejected before it */
HELPER void accepted_step(Clock *k, double step, double error, int careful)
{
  const double size = 0.5 * (double)logf((float)fmax(error, LEAST_ERROR * LEAST_ERROR));
  double growth = SAFETY * (double)expf((float)(BETA * k->last_error - EXPONENT * size));
  growth = fmin(GROW, fmax(SHRINK, growth));
  double following = step * (careful && k->rejected ? fmin(growth, 1.0) : growth);
  if (step < k->h) following = fmax(following, fmin(k->h, MAX_STEP));
  if (k->fresh) {
    k->fresh = 0;
    k->after_jump = fmax(step, k->h) * fmin(fmax(growth, 1.0), 1.1);
  }
  k->last_error = fmax(size, CAUTIOUS);
  k->h = following;
  k->rejected = 0;
  k->steps++;
}

/* on to the end of the step; whether the inputs are others from there on */
HELPER int arrived(Clock *k, const Experiment *x, double arrival, double later, int next)
{
  k->t = arrival;
  k->blur = later;
  if (k->sample == x->n_times) k->result = DONE;
  if (next == k->piece) return 0;
  k->piece = next;
  k->stop = next_stop(x, next);
  k->last_error = CAUTIOUS;
  k->probed = 0.0;
  k->since = 0;
  k->fresh = 1;
  if (k->after_jump > 0.0) k->h = k->after_jump;
  return 1;
}

/* whether the sample falls into the step */
HELPER int is_due(const Clock *k, const Experiment *x, double arrival)
{
  return k->sample < x->n_times && x->times[k->sample] <= arrival;
}

/* counts the signs of stiffness: steps close to the boundary of stability, |h lambda| > 2.5 (top
   and bottom: |k7 - k6|^2 and |w1 - wt|^2 of states and sensitivities), or beyond 1 and torn */
HELPER void count_sign(Clock *k, double step, double top, double bottom, double rest, double under,
                       int torn)
{
  const double own = step * step * top, other = step * step * rest;
  int sign = (bottom > 0.0 && own > 6.25 * bottom) || (under > 0.0 && other > 6.25 * under);
  if (torn && ((bottom > 0.0 && own > bottom) || (under > 0.0 && other > under))) sign = 1;
  k->signs = sign ? k->signs + 1 : (k->signs > 0 ? k->signs - 1 : 0);
  if (k->signs >= 10) k->result = NEEDS_STIFF;
}

/* whether states go elsewhere than their derivatives at both ends say */
HELPER int is_torn(double step, const double *w, const double *w1, const double *k1,
                   const double *k7)
{
  int torn = 0;
  EACH(i, NX) {
    const double rise = w1[i] - w[i], first = step * k1[i], last = step * k7[i];
    const double size = fmax(fabs(rise), fmax(fabs(first), fabs(last)));
    if (fabs(rise - 0.5 * (first + last)) > TORN * size && size > ATOL[i] + RTOL * fabs(w1[i]))
      torn = 1;
  }
  return torn;
}
