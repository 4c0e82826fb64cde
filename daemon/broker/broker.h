/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of all parts of the broker, for the parts that report on them (control) and those that
 * drive them (life, server.c). Each part knows only the members above it.
 *
 * Owner: struct server. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_BROKER_H
#define DAEMON_BROKER_BROKER_H

#include "daemon/broker/clients/client.h"
#include "daemon/broker/config/config.h"
#include "daemon/broker/gpu/gpus.h"

struct broker {
    uv_loop_t *loop;
    struct config config;
    uint64_t start_ns;
    struct gpus gpus;
    struct program_profile_store profiles;
    struct history *history;
    struct users users;
    struct clients clients;
};

#endif
