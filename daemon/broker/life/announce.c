/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/broker/life/announce.h"

#include <stdio.h>

#include "daemon/broker/notify.h"

#define TEXT_BYTES (sizeof(((struct worker *)0)->trouble) + 24)

void announce_state(struct announce *a) {
    const struct gpu *bad = gpus_first_in_trouble(a->gpus);
    const char *how = gpus_given_up(a->gpus) ? "failed" : "degraded";
    bool first = !a->served && gpus_any_ready(a->gpus);
    char trouble[TEXT_BYTES], status[TEXT_BYTES + 40];

    a->served |= first;
    if (bad) gpus_print_trouble(a->gpus, bad, trouble, sizeof(trouble));
    snprintf(status, sizeof(status), "%sSTATUS=%s%s%s", first ? "READY=1\n" : "",
             bad ? how : "jobs are served", bad ? ": " : "", bad ? trouble : "");
    notify_send(status);
    if (a->served || !gpus_given_up(a->gpus)) return;
    a->failed = true;
    uv_async_send(a->hopeless);
}
