/* SPDX-License-Identifier: Apache-2.0
 *
 * Translates the numbers to texts.
 */
#include "daemon/policy/reason.h"

#include <string.h>

#define X(name, text) text,
static const char *const whys[] = {REASON_WHY(X)};
static const char *const sources[] = {REASON_SOURCE(X)};
static const char *const savepoints[] = {REASON_SAVEPOINT(X)};
static const char *const slos[] = {REASON_SLO_OF(X)};
#undef X

const char *reason_why(unsigned long long number) {
    return number < sizeof(whys) / sizeof(whys[0]) ? whys[number] : "?";
}

const char *reason_savepoint(unsigned long long number) {
    return number < sizeof(savepoints) / sizeof(savepoints[0]) ? savepoints[number] : "?";
}

const char *reason_source(unsigned long long number) {
    return number < sizeof(sources) / sizeof(sources[0]) ? sources[number] : "?";
}

const char *reason_slo_of(unsigned long long number) {
    return number < sizeof(slos) / sizeof(slos[0]) ? slos[number] : "?";
}

int reason_find_slo_of(const char *text) {
    for (size_t i = 0; i < sizeof(slos) / sizeof(slos[0]); i++)
        if (strcmp(slos[i], text) == 0) return (int)i;
    return -1;
}
