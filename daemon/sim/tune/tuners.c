/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of tuning algorithms.
 */
#include "daemon/sim/tune/tuners.h"

#include <string.h>

static const struct {
    const struct tuner_kind *kind;
    const char *sentence;
} kinds[] = {
#define TUNER(name, sentence) {&tuner_##name, sentence},
#include "daemon/sim/tune/tuners.def"
};

const struct tuner_kind *tuners_kind(uint32_t index) {
    return index < sizeof(kinds) / sizeof(*kinds) ? kinds[index].kind : NULL;
}

const char *tuners_sentence(uint32_t index) {
    return index < sizeof(kinds) / sizeof(*kinds) ? kinds[index].sentence : NULL;
}

const struct tuner_kind *tuners_find(const char *name) {
    for (uint32_t i = 0; tuners_kind(i); i++)
        if (strcmp(tuners_kind(i)->name, name) == 0) return tuners_kind(i);
    return NULL;
}
