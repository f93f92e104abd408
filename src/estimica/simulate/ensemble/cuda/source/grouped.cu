/* One member a thread, as explicit.cu, for models with more sensitivities than registers: the
   stages of the states come first; then group by group those of the sensitivities, which are linear
   and need of the others the states alone. A group stands in registers, all groups in memory, where
   each number is read once and written once a step. Samples within a step are written by each group
   before the step is known to be good: where it is not, the next one writes them again. */

#define NS (N - NX)
#define INPUTS_OF(stage) (SLOPED ? us[stage] : us[0])
#define GROUP_STAGE(n, k, stage, at, size, sum)              \
  EACH(i, size) gt[i] = g[i] + step * (sum);                 \
  slope_of_group##n(q.t + (at) * step, X[stage], c, INPUTS_OF(stage), gt, k)

/* time, place in the step, inputs and states of a sample */
#define POINT_OF(sample)                                                                          \
  const double at = times[sample];                                                                \
  const int here = !(at < limit);                                                                 \
  const double part = here ? 1.0 : (at - q.t) * per_step, left = 1.0 - part;                      \
  double wd[AT_LEAST_ONE(NX)], y[AT_LEAST_ONE(NY + NJ)];                                          \
  inputs(&x, here ? next : q.piece, at, u);                                                       \
  EACH(i, NX) wd[i] = w[i] + part * ((X[6][i] - w[i]) + left * (x3[i] + part * (x4[i]             \
                                                                  + left * x5[i])))

/* one trial step of a group: its end, its samples, and its error */
#define TRIAL_OF_GROUP(n, first, size)                                                            \
  {                                                                                               \
    double g[size], gt[size], g1[size], k1[size], k2[size], k3[size], k4[size], k5[size];         \
    double k6[size], k7[size];                                                                    \
    EACH(i, size) g[i] = s[now * NS + (first) + i];                                               \
    slope_of_group##n(q.t, X[0], c, us[0], g, k1);                                                \
    GROUP_STAGE(n, k2, 1, C2, size, A21 * k1[i]);                                                 \
    GROUP_STAGE(n, k3, 2, C3, size, A31 * k1[i] + A32 * k2[i]);                                   \
    GROUP_STAGE(n, k4, 3, C4, size, A41 * k1[i] + A42 * k2[i] + A43 * k3[i]);                     \
    GROUP_STAGE(n, k5, 4, C5, size, A51 * k1[i] + A52 * k2[i] + A53 * k3[i] + A54 * k4[i]);       \
    GROUP_STAGE(n, k6, 5, 1.0, size,                                                              \
                A61 * k1[i] + A62 * k2[i] + A63 * k3[i] + A64 * k4[i] + A65 * k5[i]);             \
    EACH(i, size) g1[i] = g[i] + step * (B1 * k1[i] + B3 * k3[i] + B4 * k4[i] + B5 * k5[i]        \
                                         + B6 * k6[i]);                                           \
    slope_of_group##n(q.t + step, X[6], c, INPUTS_OF(5), g1, k7);                                 \
    EACH(i, size) {                                                                               \
      const double gap = step * (E1 * k1[i] + E3 * k3[i] + E4 * k4[i] + E5 * k5[i] + E6 * k6[i]   \
                                 + E7 * k7[i]);                                                   \
      const double ratio = SCALED(gap, g[i], g1[i], NX + (first) + i);                            \
      broken += k1[i] * 0.0;                                                                      \
      if (WATCHED) {                                                                              \
        rest += (k7[i] - k6[i]) * (k7[i] - k6[i]);                                                \
        under += (g1[i] - gt[i]) * (g1[i] - gt[i]);                                               \
      }                                                                                           \
      s[(1 - now) * NS + (first) + i] = g1[i];                                                    \
      gt[i] = ratio * ratio;                                                                      \
    }                                                                                             \
    worst = worst_of_group##n(gt, worst);                                                         \
    if (q.sample < due) {                                                                         \
      EACH(i, size) { /* k5 and k6 become coefficients of the polynomial, k3 its bend */          \
        const double rise = g1[i] - g[i], bend = step * k1[i] - rise;                             \
        k5[i] = step * (D1 * k1[i] + D3 * k3[i] + D4 * k4[i] + D5 * k5[i] + D6 * k6[i]            \
                        + D7 * k7[i]);                                                            \
        k6[i] = rise - step * k7[i] - bend;                                                       \
        k3[i] = bend;                                                                             \
      }                                                                                           \
      for (int sample = q.sample; sample < due; sample++) {                                       \
        POINT_OF(sample);                                                                         \
        EACH(i, size) gt[i] = g[i] + part * ((g1[i] - g[i]) + left * (k3[i] + part * (k6[i]       \
                                                                        + left * k5[i])));        \
        outputs_of_group##n(at, wd, c, u, gt, y);                                                 \
        WRITE_GROUP(n, sample);                                                                   \
      }                                                                                           \
    }                                                                                             \
  }

#define FIRST_OUTPUTS_OF_GROUP(n, first, size)             \
  outputs_of_group##n(q.t, w, c, u, s + (first), y);       \
  WRITE_GROUP(n, q.sample);

#define STATE_STAGE(stage, at, sum)                                   \
  EACH(i, NX) X[stage][i] = w[i] + step * (sum);                      \
  if (SLOPED) inputs(&x, q.piece, q.t + (at) * step, us[stage]);      \
  slope_of_states(q.t + (at) * step, X[stage], c, INPUTS_OF(stage), k[stage])

SHARED_BY_ALL void __launch_bounds__(BOUNDS) run(RUN_PARAMETERS)
{
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= count) return;
  const int member = some ? members[id] : id;
  const Experiment x = {starts, values, slopes, times, n_pieces, n_times};
  double c[AT_LEAST_ONE(NC)], u[AT_LEAST_ONE(NU)], w[AT_LEAST_ONE(NX)];
  double s[2 * NS];
  int now = 0;
  RESULTS;
  run_constants(thetas + (size_t)member * M, c);
  {
    double all[N];
    start(thetas + (size_t)member * M, all);
    EACH(i, NX) w[i] = all[i];
    for (int i = 0; i < NS; i++) s[i] = all[NX + i];
  }
  Clock q = begun_clock(&x);
  inputs(&x, q.piece, q.t, u);
  while (is_due(&q, &x, q.t) && q.result == RUNNING) {
    double y[AT_LEAST_ONE(NY + NJ)];
    outputs_of_states(q.t, w, c, u, y);
    q.where = first_broken(y, NY);
    if (q.where >= 0) q.result = NOT_FINITE_OUTPUT;
    WRITE_STATES(q.sample);
    ALL_GROUPS(FIRST_OUTPUTS_OF_GROUP)
    q.sample++;
  }
  if (q.result == RUNNING && q.sample == n_times) q.result = DONE;

  while (q.result == RUNNING) {
    double X[7][AT_LEAST_ONE(NX)], k[7][AT_LEAST_ONE(NX)], us[SLOPED ? 6 : 1][AT_LEAST_ONE(NU)];
    inputs(&x, q.piece, q.t, us[0]);
    EACH(i, NX) X[0][i] = w[i];
    slope_of_states(q.t, w, c, us[0], k[0]);
    if (q.h <= 0.0) q.h = first_step(q.t, w, k[0], c, us[0], fmin(MAX_STEP, q.span));
    double arrival;
    const double step = proposed_step(&q, &arrival);
    STATE_STAGE(1, C2, A21 * k[0][i]);
    STATE_STAGE(2, C3, A31 * k[0][i] + A32 * k[1][i]);
    STATE_STAGE(3, C4, A41 * k[0][i] + A42 * k[1][i] + A43 * k[2][i]);
    STATE_STAGE(4, C5, A51 * k[0][i] + A52 * k[1][i] + A53 * k[2][i] + A54 * k[3][i]);
    STATE_STAGE(5, 1.0, A61 * k[0][i] + A62 * k[1][i] + A63 * k[2][i] + A64 * k[3][i]
                        + A65 * k[4][i]);
    EACH(i, NX) X[6][i] = w[i] + step * (B1 * k[0][i] + B3 * k[2][i] + B4 * k[3][i] + B5 * k[4][i]
                                         + B6 * k[5][i]);
    slope_of_states(q.t + step, X[6], c, INPUTS_OF(5), k[6]);
    double worst = 0.0, broken = 0.0, rest = 0.0, under = 0.0;
    EACH(i, NX) {
      const double gap = step * (E1 * k[0][i] + E3 * k[2][i] + E4 * k[3][i] + E5 * k[4][i]
                                 + E6 * k[5][i] + E7 * k[6][i]);
      const double part = SCALED(gap, w[i], X[6][i], i);
      worst += part * part;
      broken += k[0][i] * 0.0;
    }
    const double limit = arrival == q.stop ? arrival - q.blur : arrival;
    const double later = blur_at(arrival, q.span);
    const int next = arrival == q.stop ? piece_at(&x, q.piece, arrival, later) : q.piece;
    const double per_step = 1.0 / step;
    int due = q.sample;
    while (due < n_times && times[due] <= arrival) due++;
    double x3[AT_LEAST_ONE(NX)], x4[AT_LEAST_ONE(NX)], x5[AT_LEAST_ONE(NX)];
    EACH(i, NX) {
      const double rise = X[6][i] - w[i];
      x3[i] = step * k[0][i] - rise;
      x4[i] = rise - step * k[6][i] - x3[i];
      x5[i] = step * (D1 * k[0][i] + D3 * k[2][i] + D4 * k[3][i] + D5 * k[4][i] + D6 * k[5][i]
                      + D7 * k[6][i]);
    }
    ALL_GROUPS(TRIAL_OF_GROUP)

    double error = worst / ROWS;
    if (++q.since > MAX_STEPS) { q.result = TOO_MANY_STEPS; break; }
    if (error <= 1.0 && step > q.probed) {
      inputs(&x, q.piece, q.t + PROBE * step, u);
      const double within = error_between(q.t, step, w, X[6], k[0], k[2], k[3], k[4], k[5], k[6],
                                          c, u);
      if (!(within <= error)) error = within;
      if (error <= 1.0) q.probed = PROBED_GROWTH * step;
    }
    if (!(error <= 1.0)) {
      if (rejected_step(&q, step, error)) {
        q.where = 0;
        q.result = broken == 0.0 ? COLLAPSED : NOT_FINITE_START;
      }
      continue;
    }
    accepted_step(&q, step, error, 0);
#if WATCHED
    if (arrival != q.stop && (q.signs || q.steps % 4 == 0)) {
      double top = 0.0, bottom = 0.0;
      EACH(i, NX) {
        top += (k[6][i] - k[5][i]) * (k[6][i] - k[5][i]);
        bottom += (X[6][i] - X[5][i]) * (X[6][i] - X[5][i]);
      }
      if (TESTED == NX) rest = under = 0.0;
      count_sign(&q, step, top, bottom, rest, under, is_torn(step, w, X[6], k[0], k[6]));
    }
#endif
    while (q.result == RUNNING && q.sample < due) {
      POINT_OF(q.sample);
      outputs_of_states(at, wd, c, u, y);
      q.where = first_broken(y, NY);
      WRITE_STATES(q.sample);
      q.sample++;
      q.since = 0;
      if (q.where >= 0) { q.result = NOT_FINITE_OUTPUT; q.t = at; }
    }
    if (WATCHED && 2.0 * q.since > MAX_STEPS && q.result == RUNNING) q.result = NEEDS_STIFF;
    if (q.result != RUNNING) break;
    EACH(i, NX) w[i] = X[6][i];
    now = 1 - now;
    CHECKED(arrival);
    arrived(&q, &x, arrival, later, next);
  }
#if MODE == 1
  if (q.result != DONE) /* what a trial has written that came to nothing */
    for (int sample = q.sample; sample < n_times; sample++)
      for (int i = 0; i < NY * M; i++) DERIVATIVES(sample)[i] = NOT_A_NUMBER;
#endif
  FINISHED;
}
