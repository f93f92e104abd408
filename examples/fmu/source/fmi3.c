/* FMI 3.0, Model Exchange and Co-Simulation, around the equations of one model. */
#include <stdint.h>

#include "instance.h"

typedef void (*Logger)(void *, int, const char *, const char *);

typedef struct {
    double values[NV];
    int mode, kind;
    void *environment;
    Logger logger;
} Instance;

static int say(Instance *c, int status, const char *text) {
    if (c->logger) c->logger(c->environment, status, "logStatus", text);
    return status;
}

#define CHECK(call)                                             \
    do {                                                        \
        const int trouble = TROUBLE(c->values, call);           \
        if (trouble != OK) return say(c, trouble, TROUBLE_TEXT); \
    } while (0)
#define REFUSED { return say(c, ERROR, "this is not offered"); }
typedef const unsigned *Refs;

EXPORT const char *fmi3GetVersion(void) { return "3.0"; }

EXPORT int fmi3SetDebugLogging(Instance *c, bool on, size_t n, const char *const *categories) {
    (void)c, (void)on, (void)n, (void)categories;
    return OK;
}

static Instance *instantiate(int kind, const char *token, void *environment, Logger logger) {
    Instance begun = {.kind = kind, .environment = environment, .logger = logger};
    const int trouble = TROUBLE(START, "instantiate");
    if (trouble != OK) return say(&begun, trouble, TROUBLE_TEXT), NULL;
    if (!token || strcmp(token, GUID) != 0)
        return say(&begun, ERROR, "the instantiation token is not that of this FMU"), NULL;
    Instance *c = malloc(sizeof *c);
    if (!c) return NULL;
    begin(begun.values);
    *c = begun;
    return c;
}

EXPORT Instance *fmi3InstantiateModelExchange(const char *name, const char *token, const char *path,
                                              bool visible, bool logging, void *environment,
                                              Logger logger) {
    (void)name, (void)path, (void)visible, (void)logging;
    return instantiate(0, token, environment, logger);
}

EXPORT Instance *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *path,
                                             bool visible, bool logging, bool event_mode, bool early,
                                             Refs required, size_t n, void *environment,
                                             Logger logger, void *intermediate) {
    (void)name, (void)path, (void)visible, (void)logging, (void)event_mode, (void)early;
    (void)required, (void)n, (void)intermediate;
    return instantiate(1, token, environment, logger);
}

EXPORT Instance *fmi3InstantiateScheduledExecution(const char *name, const char *token,
                                                   const char *path, bool visible, bool logging,
                                                   void *environment, Logger logger, void *clock,
                                                   void *lock, void *unlock) {
    (void)name, (void)token, (void)path, (void)visible, (void)logging, (void)environment;
    (void)logger, (void)clock, (void)lock, (void)unlock;
    return NULL;
}

EXPORT void fmi3FreeInstance(Instance *c) { free(c); }

EXPORT int fmi3EnterInitializationMode(Instance *c, bool tolerance_defined, double tolerance,
                                       double begins, bool stop_defined, double stop) {
    (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
    CHECK("enter initialisation");
    if (c->mode != INSTANTIATED) return say(c, ERROR, "it is initialised already; reset it");
    c->mode = INITIALISING;
    c->values[0] = begins;
    start(c->values);
    return OK;
}

EXPORT int fmi3ExitInitializationMode(Instance *c) {
    CHECK("initialise");
    if (c->mode != INITIALISING) return say(c, ERROR, "it is not in initialisation mode");
    start(c->values);
    equations(c->values);
    c->mode = c->kind == 0 ? EVENTS : STEPPING;
    return OK;
}

EXPORT int fmi3EnterEventMode(Instance *c) {
    c->mode = EVENTS;
    return OK;
}

EXPORT int fmi3Terminate(Instance *c) {
    CHECK("terminate");
    c->mode = TERMINATED;
    return OK;
}

EXPORT int fmi3Reset(Instance *c) {
    CHECK("reset");
    begin(c->values);
    c->mode = INSTANTIATED;
    return OK;
}

/* --- values ----------------------------------------------------------------------------------- */

EXPORT int fmi3GetFloat64(Instance *c, Refs refs, size_t n, double *out, size_t m) {
    CHECK("get");
    if (m != n) return say(c, ERROR, "the number of values is another");
    if (c->mode == INITIALISING) start(c->values);
    if (c->mode != INSTANTIATED) equations(c->values);
    for (size_t i = 0; i < n; i++) {
        if (refs[i] >= NV) return say(c, ERROR, "there is no such value reference");
        out[i] = c->values[refs[i]];
    }
    return OK;
}

static int put(Instance *c, unsigned ref, double value) {
    if (!may_set(c->mode, ref)) return say(c, ERROR, "this variable cannot be set now");
    c->values[ref] = value;
    return OK;
}

EXPORT int fmi3SetFloat64(Instance *c, Refs refs, size_t n, const double *in, size_t m) {
    if (m != n) return say(c, ERROR, "the number of values is another");
    for (size_t i = 0; i < n; i++)
        if (put(c, refs[i], in[i]) != OK) return ERROR;
    CHECK("set");
    return OK;
}

#define WHOLE(Name, type)                                                                    \
    EXPORT int fmi3Get##Name(Instance *c, Refs refs, size_t n, type *out, size_t m) {        \
        for (size_t i = 0; i < n && i < m; i++) out[i] = (type)c->values[refs[i]];           \
        return OK;                                                                           \
    }                                                                                        \
    EXPORT int fmi3Set##Name(Instance *c, Refs refs, size_t n, const type *in, size_t m) {   \
        for (size_t i = 0; i < n && i < m; i++)                                              \
            if (put(c, refs[i], (double)in[i]) != OK) return ERROR;                          \
        return OK;                                                                           \
    }
WHOLE(Int32, int32_t)
WHOLE(Boolean, bool)

#define NONE(Name, type)                                                                     \
    EXPORT int fmi3Get##Name(Instance *c, Refs refs, size_t n, type *out, size_t m) {        \
        (void)refs, (void)n, (void)out, (void)m;                                             \
        REFUSED                                                                              \
    }                                                                                        \
    EXPORT int fmi3Set##Name(Instance *c, Refs refs, size_t n, const type *in, size_t m) {   \
        (void)refs, (void)n, (void)in, (void)m;                                              \
        REFUSED                                                                              \
    }
NONE(Float32, float)
NONE(Int8, int8_t)
NONE(UInt8, uint8_t)
NONE(Int16, int16_t)
NONE(UInt16, uint16_t)
NONE(UInt32, uint32_t)
NONE(Int64, int64_t)
NONE(UInt64, uint64_t)
NONE(String, char *)

#define OTHER(name) EXPORT int name(Instance *c) REFUSED
OTHER(fmi3GetBinary)
OTHER(fmi3SetBinary)
OTHER(fmi3GetClock)
OTHER(fmi3SetClock)
OTHER(fmi3GetIntervalDecimal)
OTHER(fmi3GetIntervalFraction)
OTHER(fmi3GetShiftDecimal)
OTHER(fmi3GetShiftFraction)
OTHER(fmi3SetIntervalDecimal)
OTHER(fmi3SetIntervalFraction)
OTHER(fmi3SetShiftDecimal)
OTHER(fmi3SetShiftFraction)
OTHER(fmi3ActivateModelPartition)
OTHER(fmi3GetNumberOfVariableDependencies)
OTHER(fmi3GetVariableDependencies)
OTHER(fmi3GetAdjointDerivative)
OTHER(fmi3SerializedFMUStateSize)
OTHER(fmi3SerializeFMUState)
OTHER(fmi3DeserializeFMUState)
OTHER(fmi3EnterConfigurationMode)
OTHER(fmi3ExitConfigurationMode)
OTHER(fmi3GetOutputDerivatives)

EXPORT int fmi3GetDirectionalDerivative(Instance *c, Refs unknowns, size_t nu, Refs knowns,
                                        size_t nk, const double *seed, size_t ns,
                                        double *sensitivity, size_t nd) {
    (void)ns, (void)nd;
    CHECK("directional");
    const int status = directional(c->values, c->mode, unknowns, nu, knowns, nk, seed, sensitivity);
    return status == OK ? OK : say(c, status, "no directional derivatives of these");
}

EXPORT int fmi3GetFMUState(Instance *c, Instance **state) {
    if (!*state) *state = malloc(sizeof **state);
    if (!*state) return ERROR;
    **state = *c;
    return OK;
}

EXPORT int fmi3SetFMUState(Instance *c, const Instance *state) {
    *c = *state;
    return OK;
}

EXPORT int fmi3FreeFMUState(Instance *c, Instance **state) {
    (void)c;
    free(*state);
    *state = NULL;
    return OK;
}

/* --- Model Exchange --------------------------------------------------------------------------- */

EXPORT int fmi3EvaluateDiscreteStates(Instance *c) {
    (void)c;
    return OK;
}

EXPORT int fmi3UpdateDiscreteStates(Instance *c, bool *needs_update, bool *terminate,
                                    bool *nominals_changed, bool *states_changed,
                                    bool *next_event_defined, double *next) {
    CHECK("event");
    equations(c->values);
    *needs_update = *nominals_changed = false;
    *states_changed = event(c->values);
    *terminate = asks_to_end(c->values);
    *next = next_event(c->values);
    *next_event_defined = isfinite(*next);
    return OK;
}

EXPORT int fmi3EnterContinuousTimeMode(Instance *c) {
    c->mode = CONTINUOUS;
    return OK;
}

EXPORT int fmi3CompletedIntegratorStep(Instance *c, bool no_return, bool *enter_events,
                                       bool *terminate) {
    (void)no_return;
    CHECK("completed");
    *enter_events = *terminate = false;
    return OK;
}

EXPORT int fmi3SetTime(Instance *c, double time) {
    c->values[0] = time;
    return OK;
}

EXPORT int fmi3SetContinuousStates(Instance *c, const double *x, size_t n) {
    if (n != NX) return say(c, ERROR, "the number of states is another");
    memcpy(c->values + X0, x, n * sizeof *x);
    return OK;
}

EXPORT int fmi3GetContinuousStates(Instance *c, double *x, size_t n) {
    memcpy(x, c->values + X0, n * sizeof *x);
    return OK;
}

EXPORT int fmi3GetContinuousStateDerivatives(Instance *c, double *dx, size_t n) {
    equations(c->values);
    CHECK("derivatives");
    memcpy(dx, c->values + DX0, n * sizeof *dx);
    return OK;
}

EXPORT int fmi3GetEventIndicators(Instance *c, double *z, size_t n) {
    equations(c->values);
    CHECK("indicators");
    memcpy(z, c->values + Z0, n * sizeof *z);
    return OK;
}

EXPORT int fmi3GetNominalsOfContinuousStates(Instance *c, double *x, size_t n) {
    (void)c;
    memcpy(x, NOMINAL, n * sizeof *x);
    return OK;
}

EXPORT int fmi3GetNumberOfContinuousStates(Instance *c, size_t *n) {
    (void)c;
    *n = NX;
    return OK;
}

EXPORT int fmi3GetNumberOfEventIndicators(Instance *c, size_t *n) {
    (void)c;
    *n = NZ;
    return OK;
}

/* --- Co-Simulation ---------------------------------------------------------------------------- */

EXPORT int fmi3EnterStepMode(Instance *c) {
    c->mode = STEPPING;
    return OK;
}

EXPORT int fmi3DoStep(Instance *c, double time, double step, bool no_return, bool *event_needed,
                      bool *terminate, bool *early, double *last) {
    (void)no_return;
    CHECK("step");
    if (c->mode != STEPPING) return say(c, ERROR, "it is not in step mode");
    integrate(c->values, time + step);
    *event_needed = *early = false;
    *terminate = asks_to_end(c->values);
    *last = c->values[0];
    return OK;
}
