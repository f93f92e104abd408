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

