/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports the workers' state to systemd: READY once, with the first GPU that serves, then status
 * texts. Stops the daemon when all workers were given up before any ever served.
 *
 * Owner: struct server. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_LIFE_ANNOUNCE_H
#define DAEMON_BROKER_LIFE_ANNOUNCE_H

#include "daemon/broker/gpu/gpus.h"

struct announce {
    const struct gpus *gpus;
    uv_async_t *hopeless; /* sent, with `failed` set, when no worker ever served and none will */
    bool served;          /* a worker has been READY */
    bool failed;
};

/* Called when a GPU's worker became ready, was lost, or was given up. */
void announce_state(struct announce *a);

#endif
