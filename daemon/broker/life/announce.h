/* SPDX-License-Identifier: Apache-2.0
 *
 * What becomes of the workers, told to systemd: readiness once, with the first GPU that serves;
 * then how we are. And that there is nothing to keep up, when all were given up before any ever
 * served.
 *
 * Owner: struct server. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_LIFE_ANNOUNCE_H
#define DAEMON_BROKER_LIFE_ANNOUNCE_H

#include "daemon/broker/gpu/gpus.h"

struct announce {
    const struct gpus *gpus;
    uv_async_t *hopeless; /* sent, and `failed` set, when no worker ever served and none will */
    bool served;          /* a worker was READY once */
    bool failed;
};

/* A GPU's worker is ready, was lost, or was given up: its state says so. */
void announce_state(struct announce *a);

#endif
