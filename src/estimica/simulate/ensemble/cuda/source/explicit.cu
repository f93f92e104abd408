/* One member a thread: Dormand and Prince's pair, its error in all living sensitivities, samples by
   dense output. The steps are those of the scalar engine. */

#define STAGE(k, at, sum)                          \
  EACH(i, N) wt[i] = w[i] + step * (sum);          \
  if (SLOPED) inputs(&x, piece, t + (at) * step, u); \
  slope(t + (at) * step, wt, c, u, k)

/* what is left of a trial that was too long between its ends: in units of what is allowed, squared */
HELPER double error_between(double t, double step, const double *w, const double *w1,
                           const double *k1, const double *k3, const double *k4, const double *k5,
                           const double *k6, const double *k7, const double *c, const double *u)
{
  double wd[AT_LEAST_ONE(NX)], rate[AT_LEAST_ONE(NX)], k[AT_LEAST_ONE(NX)], total = 0.0;
  EACH(i, NX) {
    const double rise = w1[i] - w[i], bend = step * k1[i] - rise;
    const double r4 = rise - step * k7[i] - bend;
    const double r5 = step * (D1 * k1[i] + D3 * k3[i] + D4 * k4[i] + D5 * k5[i] + D6 * k6[i]
                              + D7 * k7[i]);
    wd[i] = w[i] + PROBE * (rise + (1.0 - PROBE) * (bend + PROBE * (r4 + (1.0 - PROBE) * r5)));
    rate[i] = rise + SLOPE3 * bend + SLOPE4 * r4 + SLOPE5 * r5;
  }
  slope_of_states(t + PROBE * step, wd, c, u, k);
  EACH(i, NX) {
    const double q = SCALED(rate[i] - step * k[i], w[i], w1[i], i);
    total += q * q;
  }
  return total / (ROWS * MOST_DEFECT * MOST_DEFECT);
}

SHARED_BY_ALL void __launch_bounds__(BLOCK) run(RUN_PARAMETERS)
{
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= count) return;
  const int member = some ? members[id] : id;
  const Experiment x = {starts, values, slopes, times, n_pieces, n_times};
  double c[AT_LEAST_ONE(NC)], u[AT_LEAST_ONE(NU)], w[AT_LEAST_ONE(N)], k1[AT_LEAST_ONE(N)];
  RESULTS;
  run_constants(thetas + (size_t)member * M, c);
  start(thetas + (size_t)member * M, w);

  const double span = times[n_times - 1] - starts[0];
  double t = starts[0], h = FIRST_STEP, last_error = CAUTIOUS, probed = 0.0, after_jump = 0.0;
  double blur = blur_at(t, span);
  int piece = piece_at(&x, 0, t, blur), sample = 0, since = 0, steps = 0, signs = 0;
  int fresh = piece > 0, begun = 0, result = RUNNING, where = 0;
  inputs(&x, piece, t, u);
  while (sample < n_times && times[sample] <= t && result == RUNNING) {
    double y[AT_LEAST_ONE(NY + NJ)];
    outputs(t, w, c, u, y);
    where = first_broken(y, NY);
    if (where >= 0) result = NOT_FINITE_OUTPUT;
    RECORD;
    sample++;
  }
  if (result == RUNNING && sample == n_times) result = DONE;
  double stop = next_stop(&x, piece);

  while (result == RUNNING) {
    if (!begun) {
      begun = 1;
      inputs(&x, piece, t, u);
      slope(t, w, c, u, k1);
      if (h <= 0.0) h = first_step(t, w, k1, c, u, fmin(MAX_STEP, span));
    }
    double step = fmin(h, MAX_STEP), arrival = stop;
    if (t + 1.01 * step >= stop) step = stop - t;
    else arrival = t + step;

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
    slope(t + step, w1, c, u, k7);

    double e[AT_LEAST_ONE(N)];
    EACH(i, TESTED) {
      const double gap = step * (E1 * k1[i] + E3 * k3[i] + E4 * k4[i] + E5 * k5[i] + E6 * k6[i]
                                 + E7 * k7[i]);
      const double q = SCALED(gap, w[i], w1[i], i);
      e[i] = q * q;
    }
    double error = worst_of(e) / ROWS;
    if (++since > MAX_STEPS) { result = TOO_MANY_STEPS; break; }
    if (error <= 1.0 && step > probed) {
      if (SLOPED) inputs(&x, piece, t + PROBE * step, u);
      const double within = error_between(t, step, w, w1, k1, k3, k4, k5, k6, k7, c, u);
      if (!(within <= error)) error = within;
      if (error <= 1.0) probed = PROBED_GROWTH * step;
    }
    if (!(error <= 1.0)) {
      h = shortened(step, error);
      if (h < fmax(4.0 * EPS * fabs(t), 1e-30 * span)) {
        where = first_broken(k1, N);
        result = where >= 0 ? NOT_FINITE_START : COLLAPSED;
      }
      continue;
    }
    steps++;
    {
      const double size = 0.5 * (double)logf((float)fmax(error, LEAST_ERROR * LEAST_ERROR));
      double growth = SAFETY * (double)expf((float)(BETA * last_error - EXPONENT * size));
      last_error = fmax(size, CAUTIOUS);
      growth = fmin(GROW, fmax(SHRINK, growth));
      double following = step * growth;
      if (step < h) following = fmax(following, fmin(h, MAX_STEP));
      if (fresh) {
        fresh = 0;
        after_jump = fmax(step, h) * fmin(fmax(growth, 1.0), 1.1);
      }
      h = following;
    }
#if WATCHED
    /* close to the boundary of stability, again and again: the stiff method does it better */
    if (arrival != stop && (signs || steps % 4 == 0)) {
      double top = 0.0, bottom = 0.0, rest = 0.0, under = 0.0;
      EACH(i, NX) {
        top += (k7[i] - k6[i]) * (k7[i] - k6[i]);
        bottom += (w1[i] - wt[i]) * (w1[i] - wt[i]);
      }
      UNROLL for (int i = NX; i < TESTED; i++) {
        rest += (k7[i] - k6[i]) * (k7[i] - k6[i]);
        under += (w1[i] - wt[i]) * (w1[i] - wt[i]);
      }
      const double own = step * step * top, other = step * step * rest;
      int sign = (bottom > 0.0 && own > 6.25 * bottom) || (under > 0.0 && other > 6.25 * under);
      if (!sign && ((bottom > 0.0 && own > bottom) || (under > 0.0 && other > under))) {
        EACH(i, NX) {
          const double rise = w1[i] - w[i], first = step * k1[i], last = step * k7[i];
          const double size = fmax(fabs(rise), fmax(fabs(first), fabs(last)));
          if (fabs(rise - 0.5 * (first + last)) > TORN * size
              && size > ATOL[i] + RTOL * fabs(w1[i])) sign = 1;
        }
      }
      signs = sign ? signs + 1 : (signs > 0 ? signs - 1 : 0);
      if (signs >= 10) result = NEEDS_STIFF;
    }
#endif
    const double limit = arrival == stop ? arrival - blur : arrival;
    const double later = blur_at(arrival, span);
    const int next = arrival == stop ? piece_at(&x, piece, arrival, later) : piece;
    if (sample < n_times && times[sample] <= arrival) {
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
        const double at = times[sample];
        const int here = !(at < limit);
        const double part = here ? 1.0 : (at - t) * per_step, left = 1.0 - part;
        if (SLOPED || here) inputs(&x, here ? next : piece, at, u);
        EACH(i, N) wt[i] = w[i] + part * ((w1[i] - w[i])
                                          + left * (r3[i] + part * (r4[i] + left * r5[i])));
        double y[AT_LEAST_ONE(NY + NJ)];
        outputs(at, wt, c, u, y);
        where = first_broken(y, NY);
        RECORD;
        sample++;
        since = 0;
        if (where >= 0) { result = NOT_FINITE_OUTPUT; t = at; break; }
      } while (sample < n_times && times[sample] <= arrival);
    }
    if (result != RUNNING) break;
    if (WATCHED && 2.0 * since > MAX_STEPS) { result = NEEDS_STIFF; break; }
    t = arrival;
    blur = later;
    EACH(i, N) {
      w[i] = w1[i];
      k1[i] = k7[i];
    }
#if N_CHECKS
    inputs(&x, piece, t, u);
    where = broken_check(t, w, c, u);
    if (where >= 0) { result = CHECK_VIOLATED; break; }
#endif
    if (sample == n_times) { result = DONE; break; }
    if (next != piece) {
      piece = next;
      stop = next_stop(&x, piece);
      last_error = CAUTIOUS;
      probed = 0.0;
      since = 0;
      fresh = 1;
      begun = 0;
      if (after_jump > 0.0) h = after_jump;
    }
  }
  STORE;
  status[member] = result;
  place[member] = where;
  stopped[member] = t;
}
