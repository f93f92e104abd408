/* der(A) = −k1 A + k3 B C,  der(C) = k2 B²,  der(B) = −der(A) − der(C) */
#include "instance.h"
#include "names.h"

void start(double *values) { (void)values; }

void equations(double *values) {
    der_A = -k1 * A + k3 * B * C;
    der_C = k2 * B * B;
    der_B = -der_A - der_C;
    a = A;
    b = B;
    c = C;
}

void jacobian(const double *values, double J[NV][NV]) {
    D(der_A, A) = -k1;
    D(der_A, B) = k3 * C;
    D(der_A, C) = k3 * B;
    D(der_A, k1) = -A;
    D(der_A, k3) = B * C;
    D(der_C, B) = 2 * k2 * B;
    D(der_C, k2) = B * B;
    for (int k = 0; k < NV; k++) J[I_der_B][k] = -J[I_der_A][k] - J[I_der_C][k];
    D(a, A) = D(b, B) = D(c, C) = 1;
}

bool event(double *values) {
    (void)values;
    return false;
}

double next_event(const double *values) {
    (void)values;
    return INFINITY;
}
