/* SPDX-License-Identifier: Apache-2.0
 *
 * Maintains sums incrementally. A lane counts while it has jobs.
 */
#include "daemon/sim/run/memcheck.h"

#include <errno.h>
#include <stdlib.h>

int memcheck_init(struct memcheck *m, const struct workload *w, uint64_t chunk_bytes) {
    *m = (struct memcheck){.w = w, .chunk_bytes = chunk_bytes};
    m->lanes = calloc(w->count, sizeof(*m->lanes));
    m->jobs = calloc(w->count, sizeof(*m->jobs));
    return m->lanes && m->jobs ? 0 : -ENOMEM;
}

void memcheck_finish(struct memcheck *m) {
    free(m->lanes);
    free(m->jobs);
}

static uint64_t whole_chunks(const struct memcheck *m, uint64_t bytes) {
    return (bytes + m->chunk_bytes - 1) / m->chunk_bytes * m->chunk_bytes;
}

static void at(struct memcheck *m, uint64_t now_ns) {
    m->lanes_ns += (double)m->open * (double)(now_ns - m->now_ns);
    m->now_ns = now_ns;
}

static void enter(struct memcheck *m, uint32_t job, uint32_t lane) {
    struct memcheck_lane *l = &m->lanes[lane];
    uint32_t user = m->w->jobs[job].user;
    m->jobs[job].lane = lane;
    if (l->members++ > 0) {
        l->mixed |= l->user != user && !m->w->share_users;
        return;
    }
    l->user = user;
    l->mixed = false;
    m->open++;
    m->lanes_bytes += l->bytes;
}

static void quit(struct memcheck *m, uint32_t job) {
    struct memcheck_lane *l = &m->lanes[m->jobs[job].lane];
    if (--l->members > 0) return;
    m->open--;
    m->lanes_bytes -= l->bytes;
}

static void set_persistent(struct memcheck *m, uint32_t job, uint64_t bytes) {
    m->persistent_bytes += bytes - m->jobs[job].persistent_bytes;
    m->jobs[job].persistent_bytes = bytes;
}

void memcheck_admitted(struct memcheck *m, uint32_t job, uint32_t lane, uint64_t now_ns) {
    at(m, now_ns);
    enter(m, job, lane);
    m->jobs[job].known = !m->w->jobs[job].unknown;
    memcheck_swapped(m, job, false);
}

void memcheck_left(struct memcheck *m, uint32_t job, uint64_t now_ns) {
    at(m, now_ns);
    quit(m, job);
    set_persistent(m, job, 0);
}

void memcheck_moved(struct memcheck *m, uint32_t job, uint32_t lane, uint64_t now_ns) {
    at(m, now_ns);
    quit(m, job);
    enter(m, job, lane);
}

void memcheck_lane(struct memcheck *m, uint32_t lane, uint64_t bytes) {
    struct memcheck_lane *l = &m->lanes[lane];
    if (l->members > 0) m->lanes_bytes += bytes - l->bytes;
    l->bytes = bytes;
}

void memcheck_swapped(struct memcheck *m, uint32_t job, bool out) {
    bool counts = !out && m->jobs[job].known;
    set_persistent(m, job, counts ? whole_chunks(m, m->w->jobs[job].persistent_bytes) : 0);
}

void memcheck_granted(struct memcheck *m, uint32_t job) {
    m->jobs[job].known = true;
    memcheck_swapped(m, job, false);
}

const char *memcheck_started(struct memcheck *m, uint32_t job, uint32_t lane) {
    struct memcheck_lane *l = &m->lanes[lane];
    if (l->running++ > 0) return "two iterations run at a time in one lane";
    if (l->mixed) return "its lane has jobs of two users";
    if (m->jobs[job].known && l->bytes < m->w->jobs[job].ephemeral_bytes)
        return "its lane is smaller than its ephemeral memory";
    return NULL;
}

void memcheck_stopped(struct memcheck *m, uint32_t lane) {
    m->lanes[lane].running--;
}

const char *memcheck_all(const struct memcheck *m) {
    return m->persistent_bytes + m->lanes_bytes <= m->w->memory_bytes
               ? NULL
               : "persistent memory and lanes exceed the device";
}
