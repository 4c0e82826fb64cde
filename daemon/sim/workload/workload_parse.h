/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser of workload files, shared by its parts: lines and jobs (workload_file.c), the sections
 * `kernels` and `gaps` (workload_kernels.c), and functions for all kinds of lines
 * (workload_parse.c). Private to workload*.c.
 */
#ifndef DAEMON_SIM_WORKLOAD_WORKLOAD_PARSE_H
#define DAEMON_SIM_WORKLOAD_WORKLOAD_PARSE_H

#include "common/buf.h"
#include "daemon/sim/workload/workload_keys.h"

enum section { SECTION_NONE, SECTION_KERNELS, SECTION_GAPS };

struct parser {
    struct workload *w;
    struct buf *errors;
    uint64_t total_ns;
    uint32_t line, jobs_cap, faults;
    uint32_t kernels_cap, sequences_cap, gap_cap, gaps_cap;
    enum section section;
    uint64_t host_ns; /* from lines h and w, for the next operation */
    bool host_waits;
    bool device_seen;
};

__attribute__((format(printf, 2, 3))) void parser_fault(struct parser *p, const char *fmt, ...);
/* Parses "key=value" words into the record. Returns 0 or -ENOMEM. *seen: one bit per key. */
int parser_pairs(struct parser *p, const struct keys *keys, char *rest, void *record,
                 uint32_t *seen);
/* Makes space for one more element. Returns 0 or -ENOMEM. */
int parser_room(void **array, size_t item, uint32_t count, uint32_t *cap);

/* Adds an iteration to the total time, which is bounded so that no sum in the simulator can
 * overflow. */
void parser_bound(struct parser *p, uint64_t each_ns, uint32_t iterations);

#endif
