/* One member a thread: the stiffly accurate Rosenbrock 5(4) method of the scalar engine for states
   and sensitivities, one factorisation a step. Sensitivities of a tuner stand one after another,
   those of all states, so that one solution serves each. */

HELPER void exchange(double *a, double *b)
{
  const double kept = *a;
  *a = *b;
  *b = kept;
}

/* a := its factors, the largest pivot of a column on top; nonzero where there is none */
HELPER int factor(double *a, unsigned char *swapped)
{
  int bad = 0;
  EACH(k, NX) {
    UNROLL for (int r = k + 1; r < NX; r++) {
      const int better = fabs(a[r * NX + k]) > fabs(a[k * NX + k]);
      swapped[k * NX + r] = (unsigned char)better;
      if (better) EACH(q, NX) exchange(&a[k * NX + q], &a[r * NX + q]);
    }
    if (!(fabs(a[k * NX + k]) > 0.0)) bad = 1;
    const double pivot = 1.0 / a[k * NX + k];
    a[k * NX + k] = pivot;
    UNROLL for (int r = k + 1; r < NX; r++) {
      const double l = a[r * NX + k] * pivot;
      a[r * NX + k] = l;
      UNROLL for (int q = k + 1; q < NX; q++) a[r * NX + q] -= l * a[k * NX + q];
    }
  }
  return bad;
}

HELPER void solve(const double *a, const unsigned char *swapped, double *b)
{
  EACH(k, NX) UNROLL for (int r = k + 1; r < NX; r++)
    if (swapped[k * NX + r]) exchange(&b[k], &b[r]);
  EACH(k, NX) UNROLL for (int r = k + 1; r < NX; r++) b[r] -= a[r * NX + k] * b[k];
  UNROLL for (int k = NX - 1; k >= 0; k--) {
    UNROLL for (int q = k + 1; q < NX; q++) b[k] -= a[k * NX + q] * b[q];
    b[k] *= a[k * NX + k];
  }
}

HELPER void solve_columns(const double *a, const unsigned char *swapped, double *b)
{
  UNROLL for (int j = 0; j < (N - NX) / AT_LEAST_ONE(NX); j++) solve(a, swapped, b + j * NX);
}

SHARED_BY_ALL void __launch_bounds__(BOUNDS) run(RUN_PARAMETERS)
{
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id >= count) return;
  const int member = some ? members[id] : id;
  const Experiment x = {starts, values, slopes, times, n_pieces, n_times};
  double c[AT_LEAST_ONE(NC)], u[AT_LEAST_ONE(NU)], w[AT_LEAST_ONE(N)];
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
  if (q.h <= 0.0) {
    double k1[AT_LEAST_ONE(NX)];
    slope_of_states(q.t, w, c, u, k1);
    q.h = first_step(q.t, w, k1, c, u, fmin(MAX_STEP, q.span));
  }

  while (q.result == RUNNING) {
    double arrival;
    const double step = proposed_step(&q, &arrival);
    double matrix[AT_LEAST_ONE(NX * NX)], moving[AT_LEAST_ONE(NX)], wt[AT_LEAST_ONE(N)];
    double k[STAGES][AT_LEAST_ONE(N)], found[AT_LEAST_ONE(N)];
    unsigned char swapped[AT_LEAST_ONE(NX * NX)];
    const double *rate = slopes + q.piece * NU;
    inputs(&x, q.piece, q.t, u);
    jacobian(q.t, w, c, u, matrix);
    along_time(q.t, w, c, u, rate, moving);
    EACH(i, NX * NX) matrix[i] = -matrix[i];
    EACH(i, NX) matrix[i * NX + i] += 1.0 / (step * GAMMA);
    const int singular = factor(matrix, swapped);
    const double per_step = 1.0 / step;
    STAGE_LOOP for (int s = 0; s < STAGES; s++) {
      EACH(i, N) {
        double argument = s < 6 ? w[i] : wt[i], sum = 0.0;
        if (s >= 6) argument += k[s - 1][i];
        STAGE_LOOP for (int j = 0; j < s; j++) {
          if (s < 6) argument += A[s][j] * k[j][i];
          sum += C[s][j] * k[j][i];
        }
        wt[i] = argument;
        k[s][i] = sum * per_step;
      }
      if (SLOPED) inputs(&x, q.piece, q.t + ALPHA[s] * step, u);
      slope(q.t + ALPHA[s] * step, wt, c, u, found);
      const double move = GAMMA_SUM[s] * step;
      EACH(i, N) k[s][i] += found[i];
      EACH(i, NX) k[s][i] += move * moving[i];
      solve(matrix, swapped, k[s]);
      if (N > NX) {
        if (SLOPED) inputs(&x, q.piece, q.t, u);
        second(q.t, w, c, u, rate, k[s], move, found);
        EACH(i, N - NX) k[s][NX + i] += found[i];
        solve_columns(matrix, swapped, k[s] + NX);
      }
    }
    double w1[AT_LEAST_ONE(N)];
    EACH(i, N) w1[i] = wt[i] + k[STAGES - 1][i];
    double e[AT_LEAST_ONE(N)];
    EACH(i, TESTED) {
      const double part = SCALED(k[STAGES - 1][i], w[i], w1[i], i);
      e[i] = part * part;
    }
    double error = STIFF_ERROR * STIFF_ERROR * worst_of(e) / ROWS;
    if (singular) error = INFINITE;
    if (++q.since > MAX_STEPS) { q.result = TOO_MANY_STEPS; break; }
    if (!(error <= 1.0)) {
      if (rejected_step(&q, step, error)) {
        inputs(&x, q.piece, q.t, u);
        slope(q.t, w, c, u, found);
        q.where = first_broken(found, N);
        q.result = q.where >= 0 ? NOT_FINITE_START : STEP_TOO_SMALL;
      }
      continue;
    }
    accepted_step(&q, step, error, 1);
    const double limit = arrival == q.stop ? arrival - q.blur : arrival;
    const double later = blur_at(arrival, q.span);
    const int next = arrival == q.stop ? piece_at(&x, q.piece, arrival, later) : q.piece;
    if (is_due(&q, &x, arrival)) {
      double r2[AT_LEAST_ONE(N)], r3[AT_LEAST_ONE(N)], r4[AT_LEAST_ONE(N)], r5[AT_LEAST_ONE(N)];
      EACH(i, N) {
        r2[i] = r3[i] = r4[i] = r5[i] = 0.0;
        STAGE_LOOP for (int j = 0; j < STAGES; j++) {
          r2[i] += DENSE[0][j] * k[j][i];
          r3[i] += DENSE[1][j] * k[j][i];
          r4[i] += DENSE[2][j] * k[j][i];
          r5[i] += DENSE[3][j] * k[j][i];
        }
      }
      do {
        const double at = times[q.sample];
        const int here = !(at < limit);
        if (SLOPED || here) inputs(&x, here ? next : q.piece, at, u);
        if (here) {
          EACH(i, N) wt[i] = w1[i];
        } else {
          /* the polynomial is inaccurate where a fast balance is followed: one simplified Newton
             step on its defect, with the matrix of the step */
          const double part = (at - q.t) * per_step, left = 1.0 - part;
          const double c3 = 1.0 - 2.0 * part, c4 = part * (2.0 - 3.0 * part);
          const double c5 = 2.0 * part * left * (1.0 - 2.0 * part);
          EACH(i, N) wt[i] = w[i] + part * (r2[i] + left * (r3[i] + part * (r4[i] + left * r5[i])));
          slope(at, wt, c, u, found);
          EACH(i, N) found[i] -= (r2[i] + c3 * r3[i] + c4 * r4[i] + c5 * r5[i]) * per_step;
          solve(matrix, swapped, found);
          if (N > NX) solve_columns(matrix, swapped, found + NX);
          EACH(i, N) wt[i] += found[i];
        }
        double y[AT_LEAST_ONE(NY + NJ)];
        outputs(at, wt, c, u, y);
        q.where = first_broken(y, NY);
        RECORD;
        q.sample++;
        q.since = 0;
        if (q.where >= 0) { q.result = NOT_FINITE_OUTPUT; q.t = at; break; }
      } while (is_due(&q, &x, arrival));
    }
    if (q.result != RUNNING) break;
    EACH(i, N) w[i] = w1[i];
    CHECKED(arrival);
    arrived(&q, &x, arrival, later, next);
  }
  FINISHED;
}
