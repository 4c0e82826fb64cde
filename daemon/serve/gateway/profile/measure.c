/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/serve/gateway/profile/measure.h"

void measure_init(struct measure *m, bool under_salus) {
    *m = (struct measure){.without = under_salus ? MEASURE_WITHOUT : 0};
}

uint64_t measure_take(struct measure *m, uint64_t device_ns, uint64_t wall_ns) {
    if (m->kind == MEASURE_OPEN && device_ns)
        m->kind = MEASURE_DEVICE;
    else if (m->kind == MEASURE_OPEN && m->without)
        m->without--;
    else if (m->kind == MEASURE_OPEN)
        m->kind = MEASURE_WALL;
    if (m->kind == MEASURE_OPEN) return 0;
    return m->kind == MEASURE_DEVICE ? device_ns : wall_ns;
}
