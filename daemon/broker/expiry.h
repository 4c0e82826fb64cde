/* SPDX-License-Identifier: Apache-2.0
 *
 * A timeout for another process. A loop checks its timers before its sockets: when the broker
 * itself was late, messages that arrived in time are still unread. So a timeout takes effect only
 * after the sockets were read once more, unless the timer was started or stopped because of what
 * was there.
 */
#ifndef DAEMON_BROKER_EXPIRY_H
#define DAEMON_BROKER_EXPIRY_H

#include <stdint.h>
#include <uv.h>

struct expiry {
    uv_timer_t timer; /* closed by the owner; its `data` is that of expiry_init */
    uv_timer_cb expired;
};

void expiry_init(struct expiry *e, uv_loop_t *loop, void *data, uv_timer_cb expired);

/* Starts the timeout from now on, replacing an earlier one. Rounded up to milliseconds. */
void expiry_start(struct expiry *e, uint64_t ns);

void expiry_stop(struct expiry *e);

#endif
