/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker's table of kernels: what is known of each way in which a kernel is launched, found in
 * constant time when a launch arrives and learned from when it is complete. A bounded table that
 * allocates nothing once it exists: an entry that nobody holds makes room for another, the one
 * whose use is longest ago first. Owner: the worker. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_KERNEL_KERNELS_H
#define DAEMON_WORKER_KERNEL_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/kernels/kernel_set.h"
#include "daemon/sched/sched.h"

#define KERNELS_MAX KERNEL_SET_MAX
#define KERNELS_PER_JOB 4096u /* new entries, so that no flood of shapes drives out all others' */
#define KERNELS_ALIGN 64      /* a cache line */

/* The first line is what the scheduler reads and what holding and releasing touch. */
struct kernel {
    struct sched_kernel sched; /* copied with each launch that is offered */
    struct list idle;          /* among those that nobody holds; else alone */
    uint32_t refs;             /* operations in flight, and whoever else holds it */
    uint32_t due;              /* the number of samples at which the tail is worked out again */
    /* ---- the rest: when it is looked up, and learned from */
    struct kernel_profile profile __attribute__((aligned(KERNELS_ALIGN)));
    struct kernel_profile_rate counted; /* of `counts` launches in all */
    uint32_t counts;
    uint64_t hint_ns;  /* what a table says of its duration; 0: nothing */
    struct list dirty; /* among those that wait for kernels_take_dirty; else alone */
} __attribute__((aligned(KERNELS_ALIGN)));

struct kernels_config {
    uint32_t cap;                    /* entries; 0: KERNELS_MAX */
    struct kernel_profile_rate peak; /* of the device; zeroes: nothing is counted */
    uint64_t seed;                   /* a secret, for clients choose keys */
};

struct kernels;

int kernels_create(struct kernels **out, const struct kernels_config *config);
void kernels_destroy(struct kernels *k);

/* What was learned before, from the broker, which checked it. False: there is no room, or what is
 * known here is newer. */
bool kernels_restore(struct kernels *k, const struct kernel_profile *p);

/* Takes all hints in place of those that were there, in the order of kernel_profile_hint_order, and
 * applies them to every entry. 0, or -ENOMEM with nothing changed. */
int kernels_set_hints(struct kernels *k, const struct kernel_profile_hint *hints, uint32_t count);

/* The entry for such launches, held once for the caller (kernels_drop). `name` is the function's,
 * `sms` what a launch needs (0: not known), `*created` counts the caller's job's new entries. NULL:
 * everything is held, or the job has made KERNELS_PER_JOB: a kernel without a profile. */
struct kernel *kernels_intern(struct kernels *k, const struct kernel_profile_key *key,
                              const char *name, uint32_t sms, uint32_t *created);
/* What such launches take on average, as far as it was measured or a table says; 0: not known. */
uint64_t kernels_mean_ns(const struct kernels *k, const struct kernel_profile_key *key);
/* The scheduler is told that launches of it take so long; nobody else is, and nothing is learned.
 */
void kernels_assume(struct kernel *e, uint64_t ns);
void kernels_hold(struct kernels *k, struct kernel *e);
void kernels_drop(struct kernels *k, struct kernel *e); /* accepts NULL */

/* A launch took so long. `alone`: no other job's operation was on the device meanwhile. What was
 * measured beside others counts only until the first one that was not. */
void kernels_sample(struct kernels *k, struct kernel *e, uint64_t took_ns, bool alone);
/* A launch executed so many instructions and moved so many bytes, as the device counted. */
void kernels_counts(struct kernels *k, struct kernel *e, uint64_t thread_insts,
                    uint64_t memory_bytes);

/* Copies the profile that changed first and has not been taken since: false when none did. An entry
 * asks for it when its number of samples has grown by an eighth or its class has changed; one that
 * makes room for another takes with it what was not taken. */
bool kernels_take_dirty(struct kernels *k, struct kernel_profile *out);

/* Those that nobody holds go; the others begin anew. */
void kernels_forget(struct kernels *k, const struct kernel_set_filter *f);

struct kernels_view {
    uint32_t entries, held;
    uint64_t evicted, refused;
};
void kernels_view(const struct kernels *k, struct kernels_view *out);

#endif
