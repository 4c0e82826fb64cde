/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys of workload files, one table per kind of line, and the types of their values. The parser
 * and the writer use the same tables. Private to workload*.c.
 */
#ifndef DAEMON_SIM_WORKLOAD_WORKLOAD_KEYS_H
#define DAEMON_SIM_WORKLOAD_WORKLOAD_KEYS_H

#include <stdio.h>

#include "daemon/sim/workload/workload.h"

enum key_type {
    KEY_NAME,
    KEY_TIME,
    KEY_BYTES,
    KEY_RATE, /* bytes per second: "12GiB/s" */
    KEY_COUNT,
    KEY_SIGNED,
    KEY_MILLI,
    KEY_THINK, /* a time, or exp(time) */
    KEY_EVERY, /* closed, a time, exp(time), gaps:NAME or shuffled:NAME */
    KEY_HINT,
    KEY_CLASS,
    KEY_SLO_OF,
    KEY_NO_YES,
};

/* The grain of the jobs that may have the key. */
enum key_grain { KEY_ANY, KEY_ITERATION, KEY_KERNEL };

struct key {
    const char *name;
    enum key_type type;
    size_t offset;
    uint64_t min, max, fallback;
    bool required;
    const char *expected;
    enum key_grain grain;
};

struct keys {
    const struct key *list;
    uint32_t count;
};

extern const struct keys workload_keys_device, workload_keys_job, workload_keys_kernel,
    workload_keys_copy, workload_keys_name;

/* Returns 0, -ENOMEM, or -EINVAL or -ERANGE for an invalid value. */
int workload_keys_take(struct arena *arena, const struct key *k, const char *text, void *record);
void workload_keys_fall_back(const struct key *k, void *record);
bool workload_keys_is_fallback(const struct key *k, const void *record);
/* Writes " key=value" for each value that differs from its default. */
void workload_keys_write(const struct keys *keys, const void *record, FILE *out);

#endif
