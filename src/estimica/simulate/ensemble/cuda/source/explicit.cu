/* One member a thread: Dormand and Prince's pair, its error in all living sensitivities, samples by
   dense output. The steps are those of the scalar engine. */

#define STAGE(k, at, sum)                          \
  EACH(i, N) wt[i] = w[i] + step * (sum);          \
  if (SLOPED) inputs(&x, q.piece, q.t + (at) * step, u); \
  slope(q.t + (at) * step, wt, c, u, k)

SHARED_BY_ALL void __launch_bounds__(BOUNDS) run(RUN_PARAMETERS)
{
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= count) return;
  const int member = some ? members[id] : id;
  const Experiment x = {starts, values, slopes, times, n_pieces, n_times};
  double c[AT_LEAST_ONE(NC)], u[AT_LEAST_ONE(NU)], w[AT_LEAST_ONE(N)], k1[AT_LEAST_ONE(N)];
  RESULTS;
  run_constants(thetas + (size_t)member * M, c);
  start(thetas + (size_t)member * M, w);
  Clock q = begun_clock(&x);
  inputs(&x, q.piece, q.t, u);
  while (is_due(&q, &x, q.t) && q.result == RUNNING) {
    double y[AT_LEAST_ONE(NY + NJ)];
    outputs(q.t, w, c, u, y);
    q.where = first_broken(y, NY);
    if (q.where >= 0) q.result = NOT_FINITE_OUTPUT;
    RECORD;
    q.sample++;
  }
  if (q.result == RUNNING && q.sample == n_times) q.result = DONE;
  int begun = 0;

  while (q.result == RUNNING) {
    if (!begun) {
      begun = 1;
      inputs(&x, q.piece, q.t, u);
      slope(q.t, w, c, u, k1);
      if (q.h <= 0.0) q.h = first_step(q.t, w, k1, c, u, fmin(MAX_STEP, q.span));
    }
    double arrival;
    const double step = proposed_step(&q, &arrival);
    double wt[AT_LEAST_ONE(N)], w1[AT_LEAST_ONE(N)], k3[AT_LEAST_ONE(N)], k4[AT_LEAST_ONE(N)];
    double k5[AT_LEAST_ONE(N)], k6[AT_LEAST_ONE(N)], k7[AT_LEAST_ONE(N)];
    {
      double k2[AT_LEAST_ONE(N)];
      STAGE(k2, C2, A21 * k1[i]);
      STAGE(k3, C3, A31 * k1[i] + A32 * k2[i]);
      STAGE(k4, C4, A41 * k1[i] + A42 * k2[i] + A43 * k3[i]);
      STAGE(k5, C5, A51 * k1[i] + A52 * k2[i] + A53 * k3[i] + A54 * k4[i]);
      STAGE(k6, 1.0, A61 * k1[i] + A62 * k2[i] + A63 * k3[i] + A64 * k4[i] + A65 * k5[i]);
    }
    EACH(i, N) w1[i] = w[i] + step * (B1 * k1[i] + B3 * k3[i] + B4 * k4[i] + B5 * k5[i] + B6 * k6[i]);
    slope(q.t + step, w1, c, u, k7);

    double e[AT_LEAST_ONE(N)];
    EACH(i, TESTED) {
      const double gap = step * (E1 * k1[i] + E3 * k3[i] + E4 * k4[i] + E5 * k5[i] + E6 * k6[i]
                                 + E7 * k7[i]);
      const double part = SCALED(gap, w[i], w1[i], i);
      e[i] = part * part;
    }
    double error = worst_of(e) / ROWS;
    if (++q.since > MAX_STEPS) { q.result = TOO_MANY_STEPS; break; }
    if (error <= 1.0 && step > q.probed) {
      if (SLOPED) inputs(&x, q.piece, q.t + PROBE * step, u);
      const double within = error_between(q.t, step, w, w1, k1, k3, k4, k5, k6, k7, c, u);
      if (!(within <= error)) error = within;
      if (error <= 1.0) q.probed = PROBED_GROWTH * step;
    }
    if (!(error <= 1.0)) {
      if (rejected_step(&q, step, error)) {
        q.where = first_broken(k1, N);
        q.result = q.where >= 0 ? NOT_FINITE_START : COLLAPSED;
      }
      continue;
    }
    accepted_step(&q, step, error, 0);
#if WATCHED
    if (arrival != q.stop && (q.signs || q.steps % 4 == 0)) {
      double top = 0.0, bottom = 0.0, rest = 0.0, under = 0.0;
      EACH(i, NX) {
        top += (k7[i] - k6[i]) * (k7[i] - k6[i]);
        bottom += (w1[i] - wt[i]) * (w1[i] - wt[i]);
      }
      UNROLL for (int i = NX; i < TESTED; i++) {
        rest += (k7[i] - k6[i]) * (k7[i] - k6[i]);
        under += (w1[i] - wt[i]) * (w1[i] - wt[i]);
      }
      count_sign(&q, step, top, bottom, rest, under, is_torn(step, w, w1, k1, k7));
    }
#endif
    const double limit = arrival == q.stop ? arrival - q.blur : arrival;
    const double later = blur_at(arrival, q.span);
    const int next = arrival == q.stop ? piece_at(&x, q.piece, arrival, later) : q.piece;
    if (is_due(&q, &x, arrival)) {
      const double per_step = 1.0 / step;
      double r3[AT_LEAST_ONE(N)], r4[AT_LEAST_ONE(N)], r5[AT_LEAST_ONE(N)];
      EACH(i, N) {
        const double rise = w1[i] - w[i];
        r3[i] = step * k1[i] - rise;
        r4[i] = rise - step * k7[i] - r3[i];
        r5[i] = step * (D1 * k1[i] + D3 * k3[i] + D4 * k4[i] + D5 * k5[i] + D6 * k6[i]
                        + D7 * k7[i]);
      }
      do {
        const double at = times[q.sample];
        const int here = !(at < limit);
        const double part = here ? 1.0 : (at - q.t) * per_step, left = 1.0 - part;
        if (SLOPED || here) inputs(&x, here ? next : q.piece, at, u);
        EACH(i, N) wt[i] = w[i] + part * ((w1[i] - w[i])
                                          + left * (r3[i] + part * (r4[i] + left * r5[i])));
        double y[AT_LEAST_ONE(NY + NJ)];
        outputs(at, wt, c, u, y);
        q.where = first_broken(y, NY);
        RECORD;
        q.sample++;
        q.since = 0;
        if (q.where >= 0) { q.result = NOT_FINITE_OUTPUT; q.t = at; break; }
      } while (is_due(&q, &x, arrival));
    }
    if (WATCHED && 2.0 * q.since > MAX_STEPS && q.result == RUNNING) q.result = NEEDS_STIFF;
    if (q.result != RUNNING) break;
    EACH(i, N) {
      w[i] = w1[i];
      k1[i] = k7[i];
    }
    CHECKED(arrival);
    if (arrived(&q, &x, arrival, later, next)) begun = 0;
  }
  FINISHED;
}
