/* SPDX-License-Identifier: Apache-2.0
 *
 * How long another process may take. A loop looks at its timers before its sockets: when it was the
 * broker that was late, what the other said in time is still unread. So time that is up counts only
 * when the sockets have been looked at once more, and nobody has started or stopped it for what was
 * there.
 */
#ifndef DAEMON_BROKER_EXPIRY_H
#define DAEMON_BROKER_EXPIRY_H

#include <stdint.h>
#include <uv.h>

struct expiry {
    uv_timer_t timer; /* the owner's to close, and its `data` */
    uv_timer_cb expired;
};

void expiry_init(struct expiry *e, uv_loop_t *loop, void *data, uv_timer_cb expired);

/* From now, over what was set before; a part of a millisecond is a whole one. */
void expiry_start(struct expiry *e, uint64_t ns);

void expiry_stop(struct expiry *e);

#endif
