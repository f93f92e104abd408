/* tau der(T) = K on − T; on changes at every half period */
#include "instance.h"
#include "names.h"

void start(double *values) {
    on = 1;
    switches = 0;
}

void equations(double *values) {
    der_T = (K * on - T) / tau;
    T_out = T;
    heat = on;
}

void jacobian(const double *values, double J[NV][NV]) {
    D(der_T, T) = -1 / tau;
    D(der_T, K) = on / tau;
    D(der_T, tau) = -(K * on - T) / (tau * tau);
    D(T_out, T) = 1;
}

double next_event(const double *values) { return (switches + 1) * period / 2; }

bool event(double *values) {
    if (values[0] < next_event(values) * (1 - 1e-12)) return false;
    on = 1 - on;
    switches += 1;
    return false;
}
