/* der(h) = v, der(v) = −g; at the floor v := −e v, or rest where that is slower than v_rest */
#include "instance.h"
#include "names.h"

void start(double *values) {
    h = h0;
    v = v0;
    resting = 0;
}

void equations(double *values) {
    der_h = resting ? 0 : v;
    der_v = resting ? 0 : -g;
    above = resting ? 1 : h;
    height = h;
    speed = v;
}

void jacobian(const double *values, double J[NV][NV]) {
    D(h, h0) = 1;
    D(v, v0) = 1;
    if (!resting) {
        D(der_h, v) = 1;
        D(der_v, g) = -1;
        D(above, h) = 1;
    }
    D(height, h) = 1;
    D(speed, v) = 1;
}

bool event(double *values) {
    if (resting || h > 1e-9 || v >= 0) return false;
    v = -e * v;
    if (v <= v_rest) resting = 1, h = v = 0;
    return true;
}

double next_event(const double *values) {
    (void)values;
    return INFINITY;
}
