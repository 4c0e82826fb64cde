/* SPDX-License-Identifier: Apache-2.0
 *
 * The table. Entries lie in one array and never move, so that lists link them in place: entries
 * without references in the order of their last use, and entries whose profile has changed.
 */
#include "daemon/worker/kernel/kernels.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define TAIL_MILLI 990u
#define COUNTS_MAX 64u /* launches in a mean of utilisations; the sums are halved then */
#define COUNT_MAX (1ull << 56)

_Static_assert(offsetof(struct kernel, profile) == KERNELS_ALIGN, "one line for the scheduler");
_Static_assert((int)SCHED_CLASS_COMPUTE == KERNEL_PROFILE_COMPUTE, "the same classes");
_Static_assert((int)SCHED_CLASS_MEMORY == KERNEL_PROFILE_MEMORY, "the same classes");

struct kernels {
    struct kernel *entries;
    uint32_t cap, fresh; /* entries from `fresh` on were never used */
    struct list idle;    /* entries without references, longest unused first */
    struct list free;    /* removed entries, by their idle link */
    struct list dirty;   /* longest changed first */
    uint32_t count, held;
    uint64_t evicted, refused;
    struct slotmap by_key;
    struct kernel_profile_hint *hints;
    uint32_t hint_count;
    struct kernel_profile_rate peak;
    uint64_t seed;
};

int kernels_create(struct kernels **out, const struct kernels_config *config) {
    struct kernels *k = calloc(1, sizeof(*k));

    if (!k) return -ENOMEM;
    k->cap = config->cap ? config->cap : KERNELS_MAX;
    k->peak = config->peak;
    k->seed = config->seed;
    list_init(&k->idle);
    list_init(&k->free);
    list_init(&k->dirty);
    /* A mapping, so that entries that are never used cost no memory. */
    k->entries = mmap(NULL, k->cap * sizeof(*k->entries), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (k->entries == MAP_FAILED) k->entries = NULL;
    if (!k->entries || slotmap_reserve(&k->by_key, k->cap) < 0) {
        kernels_destroy(k);
        return -ENOMEM;
    }
    *out = k;
    return 0;
}

void kernels_destroy(struct kernels *k) {
    if (!k) return;
    if (k->entries) munmap(k->entries, k->cap * sizeof(*k->entries));
    slotmap_finish(&k->by_key);
    free(k->hints);
    free(k);
}

void kernels_view(const struct kernels *k, struct kernels_view *out) {
    *out = (struct kernels_view){k->count, k->held, k->evicted, k->refused};
}

void kernels_hold(struct kernels *k, struct kernel *e) {
    if (e->refs++ > 0) return;
    list_remove(&e->idle);
    k->held++;
}

void kernels_drop(struct kernels *k, struct kernel *e) {
    if (!e || --e->refs > 0) return;
    list_append(&k->idle, &e->idle);
    k->held--;
}

static void mark_dirty(struct kernels *k, struct kernel *e) {
    if (list_empty(&e->dirty)) list_append(&k->dirty, &e->dirty);
}

bool kernels_take_dirty(struct kernels *k, struct kernel_profile *out) {
    struct kernel *e;

    if (list_empty(&k->dirty)) return false;
    e = list_entry(k->dirty.next, struct kernel, dirty);
    list_remove(&e->dirty);
    *out = e->profile;
    return true;
}

/* ---- the scheduler's figures ----------------------------------------------------------------- */

/* Derives what the scheduler sees, and the sample count at which the tail is due again. Before the
 * first sample a hint's duration counts. */
static void derive(const struct kernels *k, struct kernel *e) {
    const struct kernel_profile *p = &e->profile;
    struct sched_kernel *s = &e->sched;
    uint32_t count = p->durations.count;

    s->mean_ns = count ? kernel_dist_mean(&p->durations) : e->hint_ns;
    s->tail_ns = count ? kernel_dist_quantile(&p->durations, TAIL_MILLI) : e->hint_ns;
    s->sms = p->sms;
    s->compute_milli = p->compute_milli;
    s->memory_milli = p->memory_milli;
    s->class = p->class;
    e->due = count + count / 8 + 1;
}

/* A hint's class and utilisations replace the counted ones, unless the hint leaves them unknown.
 * Its number of SMs is for kernels of unknown occupancy. */
static void apply_hint(const struct kernels *k, struct kernel *e) {
    struct kernel_profile *p = &e->profile;
    const struct kernel_profile_hint *h =
        kernel_profile_hint_find(k->hints, k->hint_count, p->name, p->key.grid, p->key.block);

    if (p->source == KERNEL_PROFILE_IMPORTED) {
        p->source = KERNEL_PROFILE_NONE;
        p->class = KERNEL_PROFILE_UNKNOWN;
        p->compute_milli = p->memory_milli = 0;
    }
    e->hint_ns = h ? h->duration_ns : 0;
    if (h && (h->class || h->compute_milli || h->memory_milli)) {
        p->source = KERNEL_PROFILE_IMPORTED;
        p->class = h->class;
        p->compute_milli = h->compute_milli;
        p->memory_milli = h->memory_milli;
    }
    if (h && p->sms == 0) p->sms = h->sms;
    derive(k, e);
}

/* Marks the entry dirty when the hint changes a measured profile, so that the broker hears of it.
 */
static void apply_anew(struct kernels *k, struct kernel *e) {
    struct kernel_profile before = e->profile;

    apply_hint(k, e);
    if (before.durations.count && memcmp(&before, &e->profile, sizeof(before)) != 0)
        mark_dirty(k, e);
}

int kernels_set_hints(struct kernels *k, const struct kernel_profile_hint *hints, uint32_t count) {
    struct kernel_profile_hint *copy = malloc((count + 1) * sizeof(*copy));

    if (!copy) return -ENOMEM;
    if (count) memcpy(copy, hints, count * sizeof(*copy));
    free(k->hints);
    k->hints = copy;
    k->hint_count = count;
    for (uint32_t i = 0; i < k->fresh; i++)
        if (k->entries[i].profile.name[0]) apply_anew(k, &k->entries[i]);
    return 0;
}

/* ---- entries --------------------------------------------------------------------------------- */

static struct kernel *find(const struct kernels *k, const struct kernel_profile_key *key,
                           uint64_t hash) {
    struct slotmap_walk walk = slotmap_walk(&k->by_key, hash);
    uint32_t slot;

    while ((slot = slotmap_next(&k->by_key, &walk)) != SLOTMAP_NONE)
        if (kernel_profile_same(&k->entries[slot].profile.key, key)) return &k->entries[slot];
    return NULL;
}

/* Removes an entry without references from the table and from all lists. */
static void discard(struct kernels *k, struct kernel *e) {
    slotmap_remove(&k->by_key, kernel_profile_hash(&e->profile.key, k->seed),
                   (uint32_t)(e - k->entries));
    list_remove(&e->idle);
    list_remove(&e->dirty);
    k->count--;
}

/* A slot for one more entry: of a removed entry, never used, or of the entry unused for longest.
 * NULL: all are held. */
static struct kernel *room(struct kernels *k) {
    struct kernel *e;

    if (!list_empty(&k->free)) {
        e = list_entry(k->free.next, struct kernel, idle);
        list_remove(&e->idle);
        return e;
    }
    if (k->fresh < k->cap) return &k->entries[k->fresh++];
    if (list_empty(&k->idle)) return NULL;
    e = list_entry(k->idle.next, struct kernel, idle);
    discard(k, e);
    k->evicted++;
    return e;
}

/* An idle entry with this profile; NULL: no slot is free. */
static struct kernel *insert(struct kernels *k, const struct kernel_profile *p, uint64_t hash) {
    struct kernel *e = room(k);

    if (!e) return NULL;
    memset(e, 0, sizeof(*e));
    e->profile = *p;
    list_init(&e->idle);
    list_init(&e->dirty);
    list_append(&k->idle, &e->idle);
    slotmap_add(&k->by_key, hash, (uint32_t)(e - k->entries));
    k->count++;
    apply_hint(k, e);
    return e;
}

bool kernels_restore(struct kernels *k, const struct kernel_profile *p) {
    uint64_t hash = kernel_profile_hash(&p->key, k->seed);
    struct kernel *e = NULL;

    if (k->count < k->cap && !find(k, &p->key, hash)) e = insert(k, p, hash);
    if (e && memcmp(p, &e->profile, sizeof(*p)) != 0) mark_dirty(k, e); /* a hint changed it */
    return e != NULL;
}

static struct kernel *intern_new(struct kernels *k, const struct kernel_profile_key *key,
                                 const char *name, uint32_t sms, uint64_t hash, uint32_t *created) {
    struct kernel_profile fresh = {.key = *key, .sms = sms};
    struct kernel *e = NULL;

    if (*created < KERNELS_PER_JOB) {
        kernel_name_base(name, fresh.name);
        e = insert(k, &fresh, hash);
    }
    if (e)
        ++*created;
    else
        k->refused++;
    return e;
}

struct kernel *kernels_intern(struct kernels *k, const struct kernel_profile_key *key,
                              const char *name, uint32_t sms, uint32_t *created) {
    uint64_t hash = kernel_profile_hash(key, k->seed);
    struct kernel *e = find(k, key, hash);

    if (!e) e = intern_new(k, key, name, sms, hash, created);
    if (!e) return NULL;
    if (sms && e->sched.sms != sms) { /* a hint had given another number */
        e->profile.sms = sms;
        e->sched.sms = sms;
    }
    kernels_hold(k, e);
    return e;
}

uint64_t kernels_mean_ns(const struct kernels *k, const struct kernel_profile_key *key) {
    const struct kernel *e = find(k, key, kernel_profile_hash(key, k->seed));

    return e ? e->sched.mean_ns : 0;
}

void kernels_assume(struct kernel *e, uint64_t ns) {
    e->sched.mean_ns = e->sched.tail_ns = ns;
}

void kernels_forget(struct kernels *k, const struct kernel_set_filter *f) {
    for (uint32_t i = 0; i < k->fresh; i++) {
        struct kernel *e = &k->entries[i];
        struct kernel_profile *p = &e->profile;

        if (p->name[0] == '\0' || !kernel_set_matches(f, p)) continue;
        if (e->refs == 0) {
            discard(k, e);
            p->name[0] = '\0'; /* no entry has an empty name */
            list_append(&k->free, &e->idle);
            continue;
        }
        p->class = p->source = p->lone = 0;
        p->compute_milli = p->memory_milli = 0;
        p->durations = (struct kernel_dist){0};
        e->counts = 0;
        e->counted = (struct kernel_profile_rate){0};
        list_remove(&e->dirty);
        apply_hint(k, e);
    }
}

/* ---- learning -------------------------------------------------------------------------------- */

void kernels_sample(struct kernels *k, struct kernel *e, uint64_t took_ns, bool alone) {
    struct kernel_profile *p = &e->profile;
    bool first = alone && !p->lone, faded;

    if (!alone && p->lone) return;
    if (first) {
        p->lone = 1;
        p->durations = (struct kernel_dist){0};
    }
    faded = kernel_dist_add(&p->durations, took_ns);
    if (!first && !faded && p->durations.count < e->due) {
        e->sched.mean_ns = kernel_dist_mean(&p->durations);
        return;
    }
    derive(k, e);
    mark_dirty(k, e);
}

static uint64_t sum(uint64_t a, uint64_t b) {
    return b < COUNT_MAX ? a + b : a + COUNT_MAX;
}

void kernels_counts(struct kernels *k, struct kernel *e, uint64_t thread_insts,
                    uint64_t memory_bytes) {
    struct kernel_profile *p = &e->profile;
    struct kernel_profile_rate mean;
    uint8_t before = p->class;

    if (p->source == KERNEL_PROFILE_IMPORTED || (!k->peak.thread_insts && !k->peak.memory_bytes))
        return;
    e->counted.thread_insts = sum(e->counted.thread_insts, thread_insts);
    e->counted.memory_bytes = sum(e->counted.memory_bytes, memory_bytes);
    e->counts++;
    mean.thread_insts = e->counted.thread_insts / e->counts;
    mean.memory_bytes = e->counted.memory_bytes / e->counts;
    kernel_profile_utilise(&mean, &k->peak, &p->compute_milli, &p->memory_milli);
    p->class = (uint8_t)kernel_profile_classify(p->compute_milli, p->memory_milli);
    e->sched.compute_milli = p->compute_milli;
    e->sched.memory_milli = p->memory_milli;
    e->sched.class = p->class;
    if (p->source != KERNEL_PROFILE_COUNTED || p->class != before) mark_dirty(k, e);
    p->source = KERNEL_PROFILE_COUNTED;
    if (e->counts == COUNTS_MAX) {
        e->counts /= 2;
        e->counted.thread_insts /= 2;
        e->counted.memory_bytes /= 2;
    }
}
