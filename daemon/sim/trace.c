/* SPDX-License-Identifier: Apache-2.0
 *
 * Words for events and actions.
 */
#include "daemon/sim/trace.h"

#include <inttypes.h>

#include "daemon/sim/quantity.h"

static void print_event(FILE *out, const struct sched_event *e) {
    switch (e->kind) {
    case SCHED_JOINED: fprintf(out, " +%u", e->job); break;
    case SCHED_LEFT: fprintf(out, " -%u", e->job); break;
    case SCHED_SUBMITTED: fprintf(out, " %u:%" PRIu64, e->job, e->op); break;
    case SCHED_DONE: fprintf(out, " %u=%" PRIu64, e->job, e->op); break;
    case SCHED_BOUNDARY: fprintf(out, " %u|", e->job); break;
    case SCHED_WORD: fprintf(out, " %u!", e->job); break;
    case SCHED_TIME: fputs(" tick", out); break;
    case SCHED_ASKED: fprintf(out, " %u?", e->job); break;
    case SCHED_SET: break; /* the simulator does not say it */
    }
}

static void print_action(FILE *out, const struct sched_action *a) {
    char size[32];
    switch (a->kind) {
    case SCHED_RUN: fprintf(out, "run %u:%" PRIu64, a->job, a->op); break;
    case SCHED_ADMIT: fprintf(out, "admit %u to %u", a->job, a->lane); break;
    case SCHED_REFUSE: fprintf(out, "refuse %u (%s)", a->job, reason_why(a->why)); break;
    case SCHED_GRANT: fprintf(out, "grant %u", a->job); break;
    case SCHED_DENY: fprintf(out, "deny %u", a->job); break;
    case SCHED_MOVE: fprintf(out, "move %u to %u", a->job, a->lane); break;
    case SCHED_LANE:
        quantity_print(QUANTITY_BYTES, a->bytes, size, sizeof(size));
        fprintf(out, "lane %u = %s", a->lane, size);
        break;
    case SCHED_SWITCH: fprintf(out, "turn %u in %u", a->job, a->lane); break;
    case SCHED_SPILL: fprintf(out, "spill %u", a->job); break;
    case SCHED_RESTORE: fprintf(out, "restore %u", a->job); break;
    case SCHED_SWAP_OUT: fprintf(out, "out %u", a->job); break;
    case SCHED_SWAP_IN: fprintf(out, "in %u", a->job); break;
    case SCHED_LEVEL: fprintf(out, "level %u = %u", a->job, a->level); break;
    case SCHED_ARM: break;
    }
}

void trace_stepped(void *out, uint64_t now_ns, const struct sched_event *events, uint32_t count,
                   const struct sched_actions *actions) {
    const char *before = " -> ";
    fprintf(out, "@%" PRIu64 ".%09" PRIu64, now_ns / 1000000000, now_ns % 1000000000);
    for (uint32_t i = 0; i < count; i++)
        print_event(out, &events[i]);
    for (uint32_t i = 0; i < actions->count; i++) {
        if (actions->items[i].kind == SCHED_ARM) continue;
        fputs(before, out);
        print_action(out, &actions->items[i]);
        before = ", ";
    }
    fputc('\n', out);
}
