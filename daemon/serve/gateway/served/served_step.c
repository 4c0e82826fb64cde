/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the scheduler's step and carries out its actions.
 */
#include "daemon/serve/gateway/served/served_step.h"

#include "common/log.h"
#include "daemon/serve/gateway/served/served_batches.h"
#include "daemon/serve/gateway/served/served_end.h"
#include "daemon/serve/gateway/served/served_events.h"

#define RETRY_AFTER_S 1u

static void refuse(struct served *s, uint64_t id, enum served_end end, int status,
                   const char *text) {
    struct refusal why = {.retry_after_s = end == SERVED_REFUSED ? RETRY_AFTER_S : 0};
    struct asked *asked = unanswered_find(&s->asking, id);
    if (!asked) return;
    refusal_say(&why, status, "model \"%.64s\": %s", s->model->name, text);
    served_end(s, asked, end, &why);
}

static void wake_at(struct served *s, uint64_t at_ns) {
    s->wake_ns = at_ns;
    served_events_rearm(s);
}

static void carry_out(struct served *s, const struct plan_action *a) {
    switch (a->kind) {
    case PLAN_SEND: served_batches_send(s, a); break;
    case PLAN_TIMEOUT:
        refuse(s, a->id, SERVED_TIMEOUT, 504,
               "the request can no longer finish before its deadline: try again later, or set a "
               "longer deadline_ms");
        break;
    case PLAN_REFUSE:
        refuse(s, a->id, SERVED_REFUSED, 429,
               "no worker can finish the request before its deadline: try again later, or set a "
               "longer deadline_ms");
        break;
    case PLAN_ARM: wake_at(s, a->at_ns); break;
    case PLAN_REJECT:
        log_error("serve", "event=rejected model=%s text=\"%s\"", s->model->name,
                  plan_fault_text(a->rejected.fault));
        break;
    case PLAN_ACTIONS: break;
    }
}

/* Events caused by an action are part of the next round. */
void served_step(struct served *s) {
    if (s->stepping) return;
    s->stepping = true;
    do {
        struct plan_event *told = s->events;
        struct plan_actions out;
        uint32_t count = s->event_count;
        if (plan_step(s->plan, uv_hrtime(), told, count, &out)) {
            served_again(s);
            break; /* the events stay queued */
        }
        s->events = s->told;
        s->told = told;
        s->event_count = 0;
        for (uint32_t i = 0; i < out.count; i++)
            carry_out(s, &out.items[i]);
    } while (s->event_count);
    s->stepping = false;
}

/* The loop's clock counts whole milliseconds, so the timer may fire up to one too early. The
 * scheduler then finds nothing to do and does not ask for the same time again. */
void served_step_due(uv_timer_t *timer) {
    struct served *s = timer->data;
    uint64_t now_ns = uv_hrtime();
    bool due = now_ns >= s->wake_ns, again = now_ns >= s->again_ns;
    if (due) s->wake_ns = PLAN_FOREVER;
    if (again) s->again_ns = PLAN_FOREVER;
    served_events_rearm(s);
    if (again) served_batches_rested(s);
    if (due || again) served_step(s);
}
