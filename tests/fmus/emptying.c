/* der(h) = −k h; the tank asks to end where h falls to `low`, or at `latest` */
#include "instance.h"
#include "names.h"

void start(double *values) {
    h = h0;
    ended = 0;
}

void equations(double *values) {
    der_h = -k * h;
    above = h - low;
    level = h;
    outflow = k * h;
}

void jacobian(const double *values, double J[NV][NV]) {
    D(h, h0) = 1;
    D(der_h, h) = -k;
    D(der_h, k) = -h;
    D(above, h) = 1;
    D(above, low) = -1;
    D(level, h) = 1;
    D(outflow, h) = k;
    D(outflow, k) = h;
}

bool event(double *values) {
    if (h <= low || values[0] >= latest) ended = 1;
    return false;
}

double next_event(const double *values) {
    return values[0] < latest ? latest : INFINITY;
}
