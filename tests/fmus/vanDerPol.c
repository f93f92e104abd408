/* der(x) = w y,  der(y) = w (mu (1 − x²) y − x) */
#include "instance.h"
#include "names.h"

void start(double *values) { (void)values; }

void equations(double *values) {
    der_x = w * y;
    der_y = w * (mu * (1 - x * x) * y - x);
    x_out = x;
    power = x * y;
}

void jacobian(const double *values, double J[NV][NV]) {
    D(der_x, y) = w;
    D(der_x, w) = y;
    D(der_y, x) = w * (-2 * mu * x * y - 1);
    D(der_y, y) = w * mu * (1 - x * x);
    D(der_y, mu) = w * (1 - x * x) * y;
    D(der_y, w) = mu * (1 - x * x) * y - x;
    D(x_out, x) = 1;
    D(power, x) = y;
    D(power, y) = x;
}

bool event(double *values) {
    (void)values;
    return false;
}

double next_event(const double *values) {
    (void)values;
    return INFINITY;
}
