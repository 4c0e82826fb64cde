/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of tuning algorithms: tuners.def, with struct tuner_kind tuner_<name> in tuner_*.c.
 *
 * Owner: none, it is a table. Thread: any.
 */
#ifndef DAEMON_SIM_TUNE_TUNERS_H
#define DAEMON_SIM_TUNE_TUNERS_H

#include "daemon/sim/tune/tuner.h"

/* NULL: there is none such. */
const struct tuner_kind *tuners_find(const char *name);
/* The index-th; NULL beyond the last. */
const struct tuner_kind *tuners_kind(uint32_t index);
const char *tuners_sentence(uint32_t index);

#define TUNER(name, sentence) extern const struct tuner_kind tuner_##name;
#include "daemon/sim/tune/tuners.def"

#endif
