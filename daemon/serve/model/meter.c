/* SPDX-License-Identifier: Apache-2.0
 *
 * A smaller value means that another worker of the daemon has started a new count.
 */
#include "daemon/serve/model/meter.h"

#include "proto/serve/serve_wire.h"
#include "shim/salus.h"

long long meter_read(void) {
    return salus_device_ns ? salus_device_ns() : -1;
}

uint32_t meter_ticks(long long from_ns) {
    long long now_ns = meter_read(), ticks;

    if (from_ns < 0 || now_ns < from_ns) return 0;
    ticks = (now_ns - from_ns + SERVE_WIRE_TICK_NS - 1) / SERVE_WIRE_TICK_NS;
    if (ticks > UINT32_MAX) return UINT32_MAX;
    return ticks > 0 ? (uint32_t)ticks : 1;
}
