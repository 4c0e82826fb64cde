/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports the failure of a run (sim_state.h).
 */
#include "daemon/sim/run/sim_state.h"

#include <stdarg.h>
#include <stdio.h>

int sim_fail(struct sim *s, int err, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(s->why, SIM_WHY_BYTES, fmt, ap);
    va_end(ap);
    return err;
}
