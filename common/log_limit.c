/* SPDX-License-Identifier: Apache-2.0
 *
 * An open-addressed table that only grows: kinds are log statements in the program's text.
 */
#include "common/log_limit.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#define LIMIT_KINDS 256u /* more than twice as many as the daemons have */
#define LIMIT_NS 1000000000u
#define LIMIT_BURST_NS (LIMIT_NS / 4) /* interval of kinds that come in bursts */

struct kind {
    const char *topic, *fmt; /* NULL: the entry is free */
    uint64_t last_ns;        /* time at which one was written */
    uint64_t due_ns;         /* time of the next if they were spread evenly */
    uint64_t suppressed;     /* since the last one written */
};

static struct {
    pthread_mutex_t lock;
    struct kind kinds[LIMIT_KINDS];
} limit = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns the kind's entry, or a free one for it, or NULL. */
static struct kind *find(const char *topic, const char *fmt) {
    size_t home = (uintptr_t)fmt / 8 * 31;

    for (size_t i = 0; i < LIMIT_KINDS; i++) {
        struct kind *k = &limit.kinds[(home + i) % LIMIT_KINDS];

        if (!k->fmt || (k->fmt == fmt && strcmp(k->topic, topic) == 0)) return k;
    }
    return NULL;
}

bool log_limit_pass(const char *topic, const char *fmt, unsigned burst, uint64_t now_ns,
                    uint64_t *suppressed) {
    uint64_t each_ns = burst > 1 ? LIMIT_BURST_NS : LIMIT_NS, ahead_ns = (burst - 1) * each_ns;
    struct kind *k;
    bool pass;

    *suppressed = 0;
    pthread_mutex_lock(&limit.lock);
    k = find(topic, fmt);
    pass = !k || !k->fmt || now_ns + ahead_ns >= k->due_ns;
    if (k && pass) {
        uint64_t due_ns = k->due_ns > now_ns ? k->due_ns : now_ns;

        *suppressed = k->suppressed;
        *k = (struct kind){
            .topic = topic, .fmt = fmt, .last_ns = now_ns, .due_ns = due_ns + each_ns};
    } else if (k) {
        k->suppressed++;
    }
    pthread_mutex_unlock(&limit.lock);
    return pass;
}

/* Takes the next kind that must be reported, from index *i on. */
static bool take_silent(uint64_t now_ns, bool all, unsigned *i, struct kind *out) {
    bool found = false;

    pthread_mutex_lock(&limit.lock);
    for (; *i < LIMIT_KINDS && !found; (*i)++) {
        struct kind *k = &limit.kinds[*i];

        found = k->suppressed > 0 && (all || now_ns - k->last_ns >= 2 * (uint64_t)LIMIT_NS);
        if (!found) continue;
        *out = *k;
        k->suppressed = 0;
    }
    pthread_mutex_unlock(&limit.lock);
    return found;
}

void log_limit_report(uint64_t now_ns, bool all,
                      void (*say)(const char *topic, const char *fmt, uint64_t suppressed)) {
    struct kind k;

    for (unsigned i = 0; take_silent(now_ns, all, &i, &k);)
        say(k.topic, k.fmt, k.suppressed);
}
