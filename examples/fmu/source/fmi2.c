/* FMI 2.0, Model Exchange and Co-Simulation, around the equations of one model. */
#include "instance.h"

typedef void *Environment;
typedef void (*Logger)(Environment, const char *, int, const char *, const char *, ...);
typedef struct {
    Logger logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(Environment, int);
    Environment environment;
} Callbacks;

typedef struct {
    int needs_update, terminate, nominals_changed, states_changed, next_event_defined;
    double next_event;
} EventInfo;

typedef struct {
    double values[NV];
    int mode, kind;
    const Callbacks *callbacks;
    char name[64];
} Instance;

static int tell(const Callbacks *b, const char *name, int status, const char *text) {
    if (b && b->logger) b->logger(b->environment, name, status, "logStatus", "%s", text);
    return status;
}

static int say(Instance *c, int status, const char *text) {
    return tell(c->callbacks, c->name, status, text);
}

#define CHECK(call)                                             \
    do {                                                        \
        const int trouble = TROUBLE(c->values, call);           \
        if (trouble != OK) return say(c, trouble, TROUBLE_TEXT); \
    } while (0)

EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }
EXPORT const char *fmi2GetVersion(void) { return "2.0"; }

EXPORT int fmi2SetDebugLogging(Instance *c, int on, size_t n, const char *const categories[]) {
    (void)c, (void)on, (void)n, (void)categories;
    return OK;
}

EXPORT Instance *fmi2Instantiate(const char *name, int kind, const char *guid, const char *resources,
                                 const Callbacks *callbacks, int visible, int logging) {
    (void)resources, (void)visible, (void)logging;
    const int trouble = TROUBLE(START, "instantiate");
    if (trouble != OK) return tell(callbacks, name, trouble, TROUBLE_TEXT), NULL;
    if (!guid || strcmp(guid, GUID) != 0)
        return tell(callbacks, name, ERROR, "the GUID is not that of this FMU"), NULL;
    Instance *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    begin(c->values);
    c->kind = kind;
    c->callbacks = callbacks;
    snprintf(c->name, sizeof c->name, "%s", name ? name : "");
    return c;
}

EXPORT void fmi2FreeInstance(Instance *c) { free(c); }

EXPORT int fmi2SetupExperiment(Instance *c, int tolerance_defined, double tolerance, double begins,
                               int stop_defined, double stop) {
    (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
    c->values[0] = begins;
    return OK;
}

EXPORT int fmi2EnterInitializationMode(Instance *c) {
    CHECK("enter initialisation");
    if (c->mode != INSTANTIATED) return say(c, ERROR, "it is initialised already; reset it");
    c->mode = INITIALISING;
    start(c->values);
    return OK;
}

EXPORT int fmi2ExitInitializationMode(Instance *c) {
    CHECK("initialise");
    if (c->mode != INITIALISING) return say(c, ERROR, "it is not in initialisation mode");
    start(c->values);
    equations(c->values);
    c->mode = c->kind == 0 ? EVENTS : STEPPING;
    return OK;
}

EXPORT int fmi2Terminate(Instance *c) {
    CHECK("terminate");
    c->mode = TERMINATED;
    return OK;
}

EXPORT int fmi2Reset(Instance *c) {
    CHECK("reset");
    begin(c->values);
    c->mode = INSTANTIATED;
    return OK;
}

/* --- values ----------------------------------------------------------------------------------- */

static int refresh(Instance *c) {
    if (c->mode == INITIALISING) start(c->values);
    if (c->mode != INSTANTIATED) equations(c->values);
    return OK;
}

EXPORT int fmi2GetReal(Instance *c, const unsigned *refs, size_t n, double *out) {
    CHECK("get");
    refresh(c);
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

EXPORT int fmi2SetReal(Instance *c, const unsigned *refs, size_t n, const double *in) {
    for (size_t i = 0; i < n; i++)
        if (put(c, refs[i], in[i]) != OK) return ERROR;
    CHECK("set");
    return OK;
}

#define WHOLE(Name)                                                                          \
    EXPORT int fmi2Get##Name(Instance *c, const unsigned *refs, size_t n, int *out) {        \
        for (size_t i = 0; i < n; i++) out[i] = (int)c->values[refs[i]];                     \
        return OK;                                                                           \
    }                                                                                        \
    EXPORT int fmi2Set##Name(Instance *c, const unsigned *refs, size_t n, const int *in) {   \
        for (size_t i = 0; i < n; i++)                                                       \
            if (put(c, refs[i], in[i]) != OK) return ERROR;                                  \
        return OK;                                                                           \
    }
WHOLE(Integer)
WHOLE(Boolean)

EXPORT int fmi2GetString(Instance *c, const unsigned *refs, size_t n, const char **out) {
    (void)refs, (void)out;
    return n ? say(c, ERROR, "there are no strings") : OK;
}

EXPORT int fmi2SetString(Instance *c, const unsigned *refs, size_t n, const char *const *in) {
    (void)refs, (void)in;
    return n ? say(c, ERROR, "there are no strings") : OK;
}

EXPORT int fmi2GetDirectionalDerivative(Instance *c, const unsigned *unknowns, size_t nu,
                                        const unsigned *knowns, size_t nk, const double *seed,
                                        double *sensitivity) {
    CHECK("directional");
    const int status = directional(c->values, c->mode, unknowns, nu, knowns, nk, seed, sensitivity);
    return status == OK ? OK : say(c, status, "no directional derivatives of these");
}

/* --- the whole state -------------------------------------------------------------------------- */

EXPORT int fmi2GetFMUstate(Instance *c, Instance **state) {
    if (!*state) *state = malloc(sizeof **state);
    if (!*state) return ERROR;
    **state = *c;
    return OK;
}

EXPORT int fmi2SetFMUstate(Instance *c, const Instance *state) {
    *c = *state;
    return OK;
}

EXPORT int fmi2FreeFMUstate(Instance *c, Instance **state) {
    (void)c;
    free(*state);
    *state = NULL;
    return OK;
}

#define REFUSED { return say(c, ERROR, "this is not offered"); }
EXPORT int fmi2SerializedFMUstateSize(Instance *c, void *s, size_t *n) { (void)s, (void)n; REFUSED }
EXPORT int fmi2SerializeFMUstate(Instance *c, void *s, char *b, size_t n) { (void)s, (void)b, (void)n; REFUSED }
EXPORT int fmi2DeSerializeFMUstate(Instance *c, const char *b, size_t n, void **s) { (void)s, (void)b, (void)n; REFUSED }

/* --- Model Exchange --------------------------------------------------------------------------- */

EXPORT int fmi2EnterEventMode(Instance *c) {
    c->mode = EVENTS;
    return OK;
}

EXPORT int fmi2NewDiscreteStates(Instance *c, EventInfo *info) {
    CHECK("event");
    memset(info, 0, sizeof *info);
    equations(c->values);
    info->states_changed = event(c->values);
    info->terminate = asks_to_end(c->values);
    info->next_event = next_event(c->values);
    info->next_event_defined = isfinite(info->next_event);
    return OK;
}

EXPORT int fmi2EnterContinuousTimeMode(Instance *c) {
    c->mode = CONTINUOUS;
    return OK;
}

EXPORT int fmi2CompletedIntegratorStep(Instance *c, int no_return, int *enter_events, int *terminate) {
    (void)no_return;
    CHECK("completed");
    *enter_events = *terminate = 0;
    return OK;
}

EXPORT int fmi2SetTime(Instance *c, double time) {
    c->values[0] = time;
    return OK;
}

EXPORT int fmi2SetContinuousStates(Instance *c, const double *x, size_t n) {
    if (n != NX) return say(c, ERROR, "the number of states is another");
    memcpy(c->values + X0, x, n * sizeof *x);
    return OK;
}

EXPORT int fmi2GetContinuousStates(Instance *c, double *x, size_t n) {
    memcpy(x, c->values + X0, n * sizeof *x);
    return OK;
}

EXPORT int fmi2GetDerivatives(Instance *c, double *dx, size_t n) {
    equations(c->values);
    CHECK("derivatives");
    memcpy(dx, c->values + DX0, n * sizeof *dx);
    return OK;
}

EXPORT int fmi2GetEventIndicators(Instance *c, double *z, size_t n) {
    equations(c->values);
    CHECK("indicators");
    memcpy(z, c->values + Z0, n * sizeof *z);
    return OK;
}

EXPORT int fmi2GetNominalsOfContinuousStates(Instance *c, double *x, size_t n) {
    (void)c;
    memcpy(x, NOMINAL, n * sizeof *x);
    return OK;
}

/* --- Co-Simulation ---------------------------------------------------------------------------- */

EXPORT int fmi2DoStep(Instance *c, double time, double step, int no_return) {
    (void)no_return;
    CHECK("step");
    if (c->mode != STEPPING) return say(c, ERROR, "it is not in step mode");
    integrate(c->values, time + step);
    return asks_to_end(c->values) ? DISCARD : OK;
}

EXPORT int fmi2CancelStep(Instance *c) REFUSED
EXPORT int fmi2SetRealInputDerivatives(Instance *c, const unsigned *r, size_t n, const int *o, const double *v) { (void)r, (void)n, (void)o, (void)v; REFUSED }
EXPORT int fmi2GetRealOutputDerivatives(Instance *c, const unsigned *r, size_t n, const int *o, double *v) { (void)r, (void)n, (void)o, (void)v; REFUSED }
EXPORT int fmi2GetStatus(Instance *c, int k, int *v) { (void)k, (void)v; REFUSED }
EXPORT int fmi2GetIntegerStatus(Instance *c, int k, int *v) { (void)k, (void)v; REFUSED }
EXPORT int fmi2GetBooleanStatus(Instance *c, int k, int *v) { *v = k == 3 && asks_to_end(c->values); return OK; } /* fmi2Terminated */
EXPORT int fmi2GetStringStatus(Instance *c, int k, const char **v) { (void)k, (void)v; REFUSED }
EXPORT int fmi2GetRealStatus(Instance *c, int k, double *v) {
    (void)k;
    *v = c->values[0]; /* fmi2LastSuccessfulTime */
    return OK;
}
