/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers to words.
 */
#include "common/reason.h"

#define X(name, text) text,
static const char *const whys[] = {REASON_WHY(X)};
static const char *const sources[] = {REASON_SOURCE(X)};
static const char *const savepoints[] = {REASON_SAVEPOINT(X)};
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
