/* SPDX-License-Identifier: Apache-2.0
 *
 * How long the device works for this process, as Salus counts it: what salus-serve is told of a
 * batch, since how long the program waited for the device says something of others, too. Where the
 * program does not run under Salus nothing is known. No state. Any one thread.
 */
#ifndef DAEMON_SERVE_MODEL_METER_H
#define DAEMON_SERVE_MODEL_METER_H

#include <stdint.h>

/* So far, ns; below 0: not known. */
long long meter_read(void);

/* Since it was `from_ns`, in units of SERVE_WIRE_TICK_NS, rounded up, and 1 where it did nothing.
 * 0: not known. */
uint32_t meter_ticks(long long from_ns);

#endif
