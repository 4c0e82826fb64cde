/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker's table of kernels: the knowledge of each way in which a kernel is launched. An entry
 * is found in constant time when a launch arrives, and learned from when the launch completes. The
 * table is bounded and allocates nothing once it exists. An entry without references makes place
 * for another, the one unused for longest first. Owner: the worker. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_KERNEL_KERNELS_H
#define DAEMON_WORKER_KERNEL_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/list.h"
#include "daemon/kernels/kernel_set.h"
#include "daemon/sched/sched.h"

#define KERNELS_MAX KERNEL_SET_MAX
/* Entries that one job may create: a flood of its shapes evicts only some of the others' entries.
 */
#define KERNELS_PER_JOB 4096u
#define KERNELS_ALIGN 64 /* a cache line */

/* The first cache line has the members that the scheduler reads, and that kernels_hold and
 * kernels_drop change. */
struct kernel {
    struct sched_kernel sched; /* copied with each launch that is offered */
    struct list idle;          /* in the list of entries without references; else alone */
    uint32_t refs;             /* operations in flight, and other holders */
    uint32_t due;              /* the number of samples at which the tail is computed again */
    /* ---- the rest is used when an entry is looked up and learned from */
    struct kernel_profile profile __attribute__((aligned(KERNELS_ALIGN)));
    struct kernel_profile_rate counted; /* sums over `counts` launches */
    uint32_t counts;
    uint64_t hint_ns;  /* duration that a hint table gives; 0: none */
    struct list dirty; /* in the list that waits for kernels_take_dirty; else alone */
} __attribute__((aligned(KERNELS_ALIGN)));

struct kernels_config {
    uint32_t cap;                    /* entries; 0: KERNELS_MAX */
    struct kernel_profile_rate peak; /* the device's; zeroes: nothing is counted */
    uint64_t seed;                   /* a secret, because clients choose keys */
};

struct kernels;

/* Creates an empty table. Returns 0 or -ENOMEM. */
int kernels_create(struct kernels **out, const struct kernels_config *config);
void kernels_destroy(struct kernels *k);

/* Restores a profile that passed kernel_profile_check. False: there is no free entry, or the table
 * has newer knowledge. */
bool kernels_restore(struct kernels *k, const struct kernel_profile *p);

/* Replaces all hints, which are in the order of kernel_profile_hint_order, and applies them to
 * every entry. Returns 0, or -ENOMEM with nothing changed. */
int kernels_set_hints(struct kernels *k, const struct kernel_profile_hint *hints, uint32_t count);

/* The entry for such launches, held once for the caller (kernels_drop). `name` is the function's
 * name; `sms` is the number of SMs that a launch needs (0: unknown). `*created` counts new entries
 * of the caller's job. NULL: all entries are held, or the job has made KERNELS_PER_JOB; the kernel
 * then has no profile. */
struct kernel *kernels_intern(struct kernels *k, const struct kernel_profile_key *key,
                              const char *name, uint32_t sms, uint32_t *created);
/* The mean duration of such launches, measured or from a hint table; 0: unknown. */
uint64_t kernels_mean_ns(const struct kernels *k, const struct kernel_profile_key *key);
/* Sets the duration that the scheduler sees for this entry. Nothing is learned or published. */
void kernels_assume(struct kernel *e, uint64_t ns);
void kernels_hold(struct kernels *k, struct kernel *e);
void kernels_drop(struct kernels *k, struct kernel *e); /* accepts NULL */

/* Adds a launch's duration. `alone`: no other job had an operation on the device meanwhile.
 * Durations measured beside other jobs count only until the first one measured alone. */
void kernels_sample(struct kernels *k, struct kernel *e, uint64_t took_ns, bool alone);
/* Adds the instructions and bytes of a launch, as the device counted them. */
void kernels_counts(struct kernels *k, struct kernel *e, uint64_t thread_insts,
                    uint64_t memory_bytes);

/* Copies the profile that changed first and has not been taken since; false: none has changed. An
 * entry counts as changed when its samples have grown by an eighth or its class has changed. An
 * evicted entry loses changes that were not taken. */
bool kernels_take_dirty(struct kernels *k, struct kernel_profile *out);

/* Removes entries without references that match the filter; held ones start without knowledge. */
void kernels_forget(struct kernels *k, const struct kernel_set_filter *f);

struct kernels_view {
    uint32_t entries, held;
    uint64_t evicted, refused;
};
void kernels_view(const struct kernels *k, struct kernels_view *out);

#endif
