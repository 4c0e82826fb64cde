/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes one line per event or action.
 */
#include "daemon/sim/report/trace.h"

#include <inttypes.h>

#include "daemon/sched/record/notation.h"

void trace_began(void *out, const struct sched_config *config) {
    char line[NOTATION_BYTES];
    notation_config(line, config);
    fprintf(out, NOTATION_HEAD "%s\n", line);
}

void trace_stepped(void *out, uint64_t now_ns, const struct sched_event *events, uint32_t count,
                   const struct sched_actions *actions) {
    char line[NOTATION_BYTES];
    fprintf(out, "@%" PRIu64 "\n", now_ns);
    for (uint32_t i = 0; i < count; i++) {
        notation_event(line, &events[i]);
        fprintf(out, "%s\n", line);
    }
    for (uint32_t i = 0; i < actions->count; i++) {
        notation_action(line, &actions->items[i]);
        fprintf(out, "> %s\n", line);
    }
}

void trace_ended(void *out) {
    fputs(NOTATION_END, out);
}
