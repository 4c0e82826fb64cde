/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/broker/expiry.h"

#include "common/list.h"

#define NS_PER_MS 1000000u

void expiry_init(struct expiry *e, uv_loop_t *loop, void *data, uv_timer_cb expired) {
    uv_timer_init(loop, &e->timer);
    e->timer.data = data;
    e->expired = expired;
}

static void on_time(uv_timer_t *t) {
    const struct expiry *e = list_entry(t, struct expiry, timer);

    uv_timer_start(
        t, e->expired, 1,
        0); /* one more loop round: a timeout of 0 would fire before the sockets are read */
}

void expiry_start(struct expiry *e, uint64_t ns) {
    uv_update_time(e->timer.loop); /* the loop's time is that of its latest update, however old */
    uv_timer_start(&e->timer, on_time, (ns + NS_PER_MS - 1) / NS_PER_MS, 0);
}

void expiry_stop(struct expiry *e) {
    uv_timer_stop(&e->timer);
}
