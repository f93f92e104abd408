/* What both versions of FMI share: the values of an instance, its modes and its own solver. */
#ifndef INSTANCE_H
#define INSTANCE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "variables.h" /* written by build.py: NV, NX, I_<name>, START, … */

/* --- what the file of a model defines; values are numbered by value reference ----------------- */

void start(double *values);     /* states that follow from parameters */
void equations(double *values); /* derivatives, outputs and event indicators */
void jacobian(const double *values, double J[NV][NV]); /* rows of states: how they start */
bool event(double *values);     /* at an event; true where a state jumped */
double next_event(const double *values);

#define D(unknown, known) J[I_##unknown][I_##known]

/* --- statuses and modes; FMI 2 and FMI 3 count them alike ------------------------------------- */

enum { OK, WARNING, DISCARD, ERROR, FATAL };
enum { INSTANTIATED, INITIALISING, EVENTS, CONTINUOUS, STEPPING, TERMINATED };

#ifndef TROUBLE /* tests put troubles here */
#define TROUBLE(values, call) OK
#define TROUBLE_TEXT ""
#endif

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* A model with a discrete variable `ended` asks to end the simulation once that is 1. */
static bool asks_to_end(const double *values) {
#ifdef CAN_END
    return values[I_ended] != 0;
#else
    (void)values;
    return false;
#endif
}

static void begin(double *values) {
    memcpy(values, START, sizeof START);
}

/* --- Co-Simulation: Runge-Kutta of order 4 with a fixed step, inputs held --------------------- */

static void runge_kutta(double *values, double dt) {
    double x[NX + 1], sum[NX + 1];
    const double t = values[0], part[4] = {0.5, 0.5, 1.0, 0.0}, weight[4] = {1, 2, 2, 1};
    for (int i = 0; i < NX; i++) x[i] = values[X0 + i], sum[i] = 0;
    for (int stage = 0; stage < 4; stage++) {
        equations(values);
        for (int i = 0; i < NX; i++) {
            const double slope = values[DX0 + i];
            sum[i] += weight[stage] * slope;
            values[X0 + i] = stage < 3 ? x[i] + part[stage] * dt * slope : x[i] + dt / 6 * sum[i];
        }
        values[0] = t + (stage < 3 ? part[stage] : 1.0) * dt;
    }
    equations(values);
}

static bool crossed(const double *before, const double *after) {
    for (int i = 0; i < NZ; i++)
        if ((before[Z0 + i] > 0) != (after[Z0 + i] > 0)) return true;
    return false;
}

/* One step, shortened to the first event in it. */
static void step_to_event(double *values, double dt) {
    double before[NV], trial[NV], low = 0, high = dt;
    memcpy(before, values, sizeof before);
    runge_kutta(values, dt);
    if (!crossed(before, values)) return;
    for (int k = 0; k < 60 && high - low > 1e-14 * dt; k++) {
        const double middle = (low + high) / 2;
        memcpy(trial, before, sizeof trial);
        runge_kutta(trial, middle);
        if (crossed(before, trial)) high = middle; else low = middle;
    }
    memcpy(values, before, sizeof before);
    runge_kutta(values, high);
    event(values);
    equations(values);
}

static void integrate(double *values, double until) {
    equations(values);
    while (values[0] < until - 1e-12 * fmax(1.0, fabs(until)) && !asks_to_end(values)) {
        const double planned = next_event(values);
        const double stop = planned < until ? planned : until;
        const double left = stop - values[0];
        const double steps = ceil(left / STEP - 1e-9);
        step_to_event(values, steps > 1 ? left / steps : left);
        if (planned <= until && values[0] >= planned - 1e-12 * fmax(1.0, fabs(planned))) {
            values[0] = planned;
            event(values);
            equations(values);
        }
    }
    if (!asks_to_end(values)) values[0] = until;
}

/* --- directional derivatives ------------------------------------------------------------------ */

static bool is_state(unsigned r) { return r >= X0 && r < X0 + NX; }
static bool is_parameter(unsigned r) { return r >= P0 && r < P0 + NP; }

/* sensitivity = d unknowns / d knowns · seed; while initialising, states may follow from knowns. */
static int directional(const double *values, int mode, const unsigned *unknowns, size_t nu,
                       const unsigned *knowns, size_t nk, const double *seed, double *sensitivity) {
    static const double factor = DIRECTIONAL_FACTOR; /* 1 where they are right */
    double J[NV][NV] = {{0}}, moved[NV] = {0};
    if (DIRECTIONAL_STATUS != OK) return DIRECTIONAL_STATUS;
    for (size_t k = 0; k < nk; k++) {
        if (knowns[k] >= NV || (is_parameter(knowns[k]) && !PARAMETER_DERIVATIVES)) return ERROR;
        moved[knowns[k]] = seed[k];
    }
    jacobian(values, J);
    if (mode == INITIALISING)
        for (unsigned s = X0; s < X0 + NX; s++)
            for (unsigned k = P0; k < P0 + NP; k++) moved[s] += J[s][k] * moved[k];
    for (size_t i = 0; i < nu; i++) {
        const unsigned r = unknowns[i];
        if (r >= NV) return ERROR;
        double sum = is_state(r) ? moved[r] : 0;
        for (unsigned k = 0; k < NV && !is_state(r); k++) sum += J[r][k] * moved[k];
        sensitivity[i] = factor * sum;
    }
    return OK;
}

/* A fixed parameter, and a state, can be set until the initialisation has ended. */
static bool may_set(int mode, unsigned r) {
    if (r >= NV || r == 0 || (r >= DX0 && r < DX0 + NX)) return false;
    if (is_state(r)) return mode <= INITIALISING || mode == CONTINUOUS || mode == EVENTS;
    if (is_parameter(r) && !TUNABLE[r - P0]) return mode <= INITIALISING;
    return (r >= U0 && r < U0 + NU) || is_parameter(r);
}

#endif
