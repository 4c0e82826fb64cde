/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of tuning algorithms made from tuners.def. A file tuner_*.c defines struct tuner_kind
 * tuner_<name>.
 *
 * Owner: none, a constant table. Thread: any.
 */
#ifndef DAEMON_SIM_TUNE_TUNERS_H
#define DAEMON_SIM_TUNE_TUNERS_H

#include "daemon/sim/tune/tuner.h"

/* NULL if there is no such algorithm. */
const struct tuner_kind *tuners_find(const char *name);
/* The index-th algorithm; NULL past the last. */
const struct tuner_kind *tuners_kind(uint32_t index);
const char *tuners_sentence(uint32_t index);

#define TUNER(name, sentence) extern const struct tuner_kind tuner_##name;
#include "daemon/sim/tune/tuners.def"

#endif
