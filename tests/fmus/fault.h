/* A trouble that the C wrappers run into: which one, in which call, at which parameter values. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <unistd.h>
#endif

enum { SEGFAULT = 11, HANG, LEAK, EXIT, ABORT, NAN_VALUES };

static int fault_calls;

static int fault_status(const double *values, const char *call) {
    if (strcmp(call, FAULT_CALL) != 0 || ++fault_calls <= FAULT_AFTER) return 0;
    if (FAULT_NUMBER >= 0 && !(values[FAULT_NUMBER] > FAULT_ABOVE && values[FAULT_NUMBER] < FAULT_BELOW))
        return 0;
    if (FAULT_KIND == SEGFAULT) *(volatile int *)0 = 1;
    if (FAULT_KIND == EXIT) exit(7);
    if (FAULT_KIND == ABORT) abort();
    if (FAULT_KIND == LEAK) {
        char *lost = malloc(FAULT_BYTES);
        if (lost) memset(lost, 1, FAULT_BYTES);
        return 0;
    }
    if (FAULT_KIND == NAN_VALUES) {
        for (int i = 0; i < FAULT_NAN_COUNT; i++) ((double *)values)[FAULT_NAN_FIRST + i] = NAN;
        return 0;
    }
#ifndef _WIN32
    while (FAULT_KIND == HANG) sleep(1);
#endif
    return FAULT_KIND;
}

#define TROUBLE(values, call) fault_status(values, call)
#define TROUBLE_TEXT FAULT_TEXT
