/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/broker/life/silence.h"

#include <inttypes.h>
#include <stdio.h>

#define NS_PER_MS 1000000u

/* Time that the process was runnable without a processor; 0: unknown. */
static uint64_t waited_ns(pid_t pid) {
    char path[64];
    uint64_t ran = 0, waited = 0;

    snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
    FILE *f = pid > 0 ? fopen(path, "re") : NULL;
    if (!f) return 0;
    if (fscanf(f, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2) waited = 0;
    fclose(f);
    return waited;
}

void silence_begin(struct silence *s, pid_t pid) {
    *s = (struct silence){pid, waited_ns(pid)};
}

uint64_t silence_more_ms(struct silence *s) {
    const uint64_t now = waited_ns(s->pid);
    const uint64_t more_ms = now > s->waited_ns ? (now - s->waited_ns) / NS_PER_MS : 0;

    s->waited_ns += more_ms * NS_PER_MS;
    return more_ms;
}
