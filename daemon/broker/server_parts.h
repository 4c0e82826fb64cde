/* SPDX-License-Identifier: Apache-2.0
 *
 * The members of a server, for server.c and for tests that run its loop step by step.
 */
#ifndef DAEMON_BROKER_SERVER_PARTS_H
#define DAEMON_BROKER_SERVER_PARTS_H

#include "daemon/broker/broker.h"
#include "daemon/broker/control/control.h"
#include "daemon/broker/life/supervise.h"
#include "daemon/broker/listener.h"

#define SERVER_SIGNALS 3

struct server {
    uv_loop_t loop;
    const struct config_sources *sources;
    struct broker broker;
    struct announce announce;
    struct supervise supervise[CONFIG_GPUS_MAX]; /* one per GPU */
    struct controls controls;
    struct listeners listeners;
    uv_async_t stop;
    uv_signal_t signals[SERVER_SIGNALS];
    uv_timer_t watchdog; /* systemd's */
    int lock_fd;
    bool stopping;
};

#endif
