/* SPDX-License-Identifier: Apache-2.0
 *
 * The rooms' states put together, for those who report on all of them (control), and for those who
 * drive them (life, server.c). Whatever is here knows only what stands above it.
 *
 * Owner: struct server. Thread: the loop's.
 */
#ifndef DAEMON_BROKER_BROKER_H
#define DAEMON_BROKER_BROKER_H

#include "daemon/broker/clients/client.h"
#include "daemon/broker/config/config.h"
#include "daemon/broker/control/changes.h"
#include "daemon/broker/store/kernel_link.h"

struct broker {
    uv_loop_t *loop;
    struct config config;
    uint64_t start_ns;
    struct worker worker;
    struct profile_store profiles;
    struct kernel_link kernels;
    struct attachments attachments;
    struct history *history;
    struct users users;
    struct clients clients;
    struct changes changes;
};

#endif
