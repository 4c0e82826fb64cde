/* SPDX-License-Identifier: Apache-2.0
 *
 * Device time of this process as Salus counts it. salus-serve receives it per batch, because the
 * wall time also includes waiting for other jobs. Not available if the program does not run under
 * Salus. No state. Any one thread.
 */
#ifndef DAEMON_SERVE_MODEL_METER_H
#define DAEMON_SERVE_MODEL_METER_H

#include <stdint.h>

/* Device time so far, in ns; negative: not available. */
long long meter_read(void);

/* Device time since `from_ns` in units of SERVE_WIRE_TICK_NS, rounded up, at least 1. 0: not
 * available. */
uint32_t meter_ticks(long long from_ns);

#endif
