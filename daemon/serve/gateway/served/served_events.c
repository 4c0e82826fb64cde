/* SPDX-License-Identifier: Apache-2.0
 *
 * Queues events for the scheduler and sets the timer of its next step.
 */
#include "daemon/serve/gateway/served/served_events.h"

#define NS_PER_MS 1000000u
#define AGAIN_MS 10u /* delay before a retry for lack of memory or descriptors */

struct plan_event *served_event(struct served *s, enum plan_event_kind kind) {
    struct plan_event *e = &s->events[s->event_count++];
    *e = (struct plan_event){.kind = kind};
    return e;
}

bool served_has_room(const struct served *s) {
    return s->event_count + s->event_spare < s->event_room;
}

/* ---- the timer ------------------------------------------------------------------------------- */

void served_events_rearm(struct served *s) {
    uint64_t now_ns = uv_hrtime(), at_ns = s->wake_ns < s->again_ns ? s->wake_ns : s->again_ns;
    uint64_t ns = at_ns > now_ns ? at_ns - now_ns : 0;
    if (at_ns != PLAN_FOREVER)
        uv_timer_start(&s->timer, s->due, (ns + NS_PER_MS - 1) / NS_PER_MS, 0);
}

void served_again(struct served *s) {
    s->again_ns = uv_hrtime() + (uint64_t)AGAIN_MS * NS_PER_MS;
    served_events_rearm(s);
}

static void on_closed(uv_handle_t *handle) {
    struct served *s = handle->data;
    s->done(s->done_arg);
}

void served_one_less(struct served *s) {
    if (--s->stopping == 0) uv_close((uv_handle_t *)&s->timer, on_closed);
}
