/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker's table of kernels: eviction, learning, and the trust in profiles from the broker's
 * table.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/kernel/kernels.h"

#define CAP 8u

static struct kernels *k;
static uint32_t created;

/* 80 SMs; 1000 instructions and 1 byte per nanosecond. */
static void make(uint32_t cap) {
    struct kernels_config config = {
        .cap = cap, .peak = {1000ull * 1000000000, 1000000000}, .seed = 7};

    cr_assert_eq(kernels_create(&k, &config), 0);
}

static void setup(void) {
    make(CAP);
}

static void teardown(void) {
    kernels_destroy(k);
}

TestSuite(kernels, .init = setup, .fini = teardown);

static struct kernel_profile_key key_of(uint64_t func, uint32_t uid) {
    return (struct kernel_profile_key){func, {4, 1, 1}, {32, 1, 1}, 0, uid};
}

static struct kernel *intern(uint64_t func) {
    struct kernel_profile_key key = key_of(func, 0);

    return kernels_intern(k, &key, "_ZN1a4kernEv", 10, &created);
}

static struct kernels_view view(void) {
    struct kernels_view v;

    kernels_view(k, &v);
    return v;
}

static void use(uint64_t func) {
    kernels_drop(k, intern(func));
}

/* Returns whether the table has an entry, without creating one; this counts as a use of the
 * entry. */
static bool known(uint64_t func) {
    struct kernel_profile_key key = key_of(func, 0);
    uint32_t full = KERNELS_PER_JOB;
    struct kernel *e = kernels_intern(k, &key, "probe", 0, &full);

    kernels_drop(k, e);
    return e != NULL;
}

/* ---- entries --------------------------------------------------------------------------------- */

Test(kernels, what_the_scheduler_reads_is_one_cache_line) {
    struct kernel *e = intern(1);

    cr_assert_eq((uintptr_t)e % KERNELS_ALIGN, 0);
    cr_assert_leq(offsetof(struct kernel, due) + sizeof(e->due), KERNELS_ALIGN);
    cr_assert_eq((void *)&e->sched, (void *)e);
    kernels_drop(k, e);
}

Test(kernels, launches_of_one_way_share_an_entry) {
    struct kernel_profile_key key = key_of(1, 0);
    struct kernel *e = intern(1), *again = intern(1), *other;

    cr_assert_not_null(e);
    cr_assert_eq(e, again);
    cr_assert_eq(e->refs, 2);
    cr_assert_str_eq(e->profile.name, "a::kern");
    cr_assert_eq(e->sched.sms, 10);
    cr_assert_eq(e->sched.class, SCHED_CLASS_UNKNOWN);
    cr_assert_eq(e->sched.mean_ns, 0);
    key.uid = 1;
    other = kernels_intern(k, &key, "_ZN1a4kernEv", 10, &created);
    cr_assert_neq(e, other, "another user's");
    key = key_of(1, 0);
    key.shared_bytes = 4;
    kernels_drop(k, other);
    other = kernels_intern(k, &key, "_ZN1a4kernEv", 10, &created);
    cr_assert_neq(e, other);
    cr_assert_eq(created, 3);
    kernels_drop(k, e);
    kernels_drop(k, again);
    kernels_drop(k, other);
    kernels_drop(k, NULL);
    cr_assert_eq(view().entries, 3);
    cr_assert_eq(view().held, 0);
}

Test(kernels, the_longest_unused_makes_room) {
    for (uint64_t f = 1; f <= CAP; f++)
        use(f);
    use(1); /* now the second entry is the least recently used */
    use(100);
    cr_assert(known(1));
    cr_assert_not(known(2));
    cr_assert(known(3));
    cr_assert_eq(view().entries, CAP);
    cr_assert_eq(view().evicted, 1);
}

Test(kernels, what_is_in_flight_stays) {
    struct kernel *held[CAP];

    for (uint64_t f = 1; f <= CAP; f++)
        held[f - 1] = intern(f);
    cr_assert_null(intern(100), "all are held");
    cr_assert_eq(view().refused, 1);
    kernels_hold(k, held[4]);
    kernels_drop(k, held[4]);
    cr_assert_null(intern(100), "still held once");
    kernels_drop(k, held[4]);
    use(100);
    cr_assert_not(known(5));
    for (uint64_t f = 1; f <= CAP; f++)
        if (f != 5) cr_assert_eq(intern(f), held[f - 1]);
}

Test(kernels, a_job_makes_only_so_many) {
    uint32_t other = 0;
    struct kernel_profile_key key;

    kernels_destroy(k);
    make(0);
    for (uint64_t f = 0; f < KERNELS_PER_JOB; f++)
        use(f);
    cr_assert_null(intern(KERNELS_PER_JOB));
    cr_assert_not_null(intern(5), "what is there is found");
    key = key_of(KERNELS_PER_JOB, 0);
    cr_assert_not_null(kernels_intern(k, &key, "k", 1, &other), "other jobs go on");
    cr_assert_eq(created, KERNELS_PER_JOB);
    cr_assert_eq(view().refused, 1);
}

/* Compared with a model: an array of the times of last use. */
Test(kernels, churn_beside_a_model) {
    enum { FUNCS = 40, STEPS = 20000 };
    struct kernel *held[FUNCS] = {NULL};
    uint64_t used[FUNCS] = {0}, now = 0; /* 0: not in the table */
    uint32_t refs[FUNCS] = {0}, in = 0;

    srand(5);
    for (int step = 0; step < STEPS; step++) {
        uint32_t f = (uint32_t)(rand() % FUNCS), oldest = FUNCS;

        created = 0;
        if (refs[f] && rand() % 2) {
            kernels_drop(k, held[f]);
            refs[f]--;
            used[f] = ++now;
            continue;
        }
        for (uint32_t i = 0; i < FUNCS; i++)
            if (used[i] && !refs[i] && (oldest == FUNCS || used[i] < used[oldest])) oldest = i;
        struct kernel *e = intern(f + 1);
        if (!used[f] && in == CAP && oldest == FUNCS) {
            cr_assert_null(e);
            continue;
        }
        cr_assert_not_null(e);
        cr_assert_eq(e->profile.key.func, f + 1);
        if (refs[f]) cr_assert_eq(e, held[f]);
        if (!used[f] && in == CAP) {
            used[oldest] = 0;
            in--;
        }
        if (!used[f]) in++;
        used[f] = ++now;
        held[f] = e;
        refs[f]++;
        kernels_sample(k, e, 1000, true);
        cr_assert_eq(view().entries, in);
    }
    for (uint32_t f = 0; f < FUNCS; f++)
        cr_assert_eq(known(f + 1), used[f] != 0, "%u", f);
}

/* ---- durations ------------------------------------------------------------------------------- */

Test(kernels, durations_are_learned) {
    struct kernel *e = intern(1);

    for (int i = 0; i < 980; i++)
        kernels_sample(k, e, 2000, true);
    for (int i = 0; i < 20; i++)
        kernels_sample(k, e, 50000, true);
    kernels_sample(k, e, 2000, true);
    cr_assert_eq(e->sched.mean_ns, (981 * 2000 + 20 * 50000) / 1001);
    for (int i = 0; i < 200; i++)
        kernels_sample(k, e, 50000, true); /* by now the tail has been computed again */
    cr_assert_geq(e->sched.tail_ns, 48000);
    cr_assert_leq(e->sched.tail_ns, 58000);
}

Test(kernels, what_was_measured_beside_others_counts_until_one_was_alone) {
    struct kernel *e = intern(1);

    kernels_sample(k, e, 9000, false);
    kernels_sample(k, e, 7000, false);
    cr_assert_eq(e->sched.mean_ns, 8000);
    cr_assert_eq(e->profile.lone, 0);
    kernels_sample(k, e, 3000, true);
    cr_assert_eq(e->sched.mean_ns, 3000);
    cr_assert_eq(e->profile.lone, 1);
    cr_assert_leq(e->sched.tail_ns, 3072);
    kernels_sample(k, e, 9000, false);
    cr_assert_eq(e->sched.mean_ns, 3000);
    kernels_sample(k, e, 5000, true);
    cr_assert_eq(e->sched.mean_ns, 4000);
    cr_assert_eq(e->profile.durations.count, 2);
}

/* ---- classes --------------------------------------------------------------------------------- */

Test(kernels, classes_from_counts) {
    struct kernel *e = intern(1);

    kernels_counts(k, e, 100000000, 1000); /* 100 us of work */
    cr_assert_eq(e->sched.class, SCHED_CLASS_COMPUTE);
    cr_assert_eq(e->sched.compute_milli, 980);
    cr_assert_eq(e->profile.source, KERNEL_PROFILE_COUNTED);
    for (int i = 0; i < 1000; i++)
        kernels_counts(k, e, 100000000, 1000);
    for (int i = 0; i < 300; i++)
        kernels_counts(k, e, 1000, 200000);
    cr_assert_eq(e->sched.class, SCHED_CLASS_MEMORY, "what was long ago fades");
    cr_assert_geq(e->sched.memory_milli, 950);
    kernels_counts(k, e, UINT64_MAX, UINT64_MAX);
    cr_assert_leq(e->sched.memory_milli, 1000);
}

Test(kernels, a_device_that_counts_nothing_has_no_classes) {
    struct kernels_config config = {.cap = CAP};
    struct kernel *e;

    kernels_destroy(k);
    cr_assert_eq(kernels_create(&k, &config), 0);
    e = intern(1);
    kernels_counts(k, e, 100000000, 1000);
    cr_assert_eq(e->profile.source, KERNEL_PROFILE_NONE);
    cr_assert_eq(e->sched.class, SCHED_CLASS_UNKNOWN);
}

/* ---- hints ----------------------------------------------------------------------------------- */

static struct kernel_profile_hint hint = {.name = "a::kern",
                                          .sms = 1000,
                                          .class = KERNEL_PROFILE_MEMORY,
                                          .memory_milli = 700,
                                          .duration_ns = 6000};

Test(kernels, a_table_is_believed_until_it_was_measured) {
    struct kernel *e;

    cr_assert_eq(kernels_set_hints(k, &hint, 1), 0);
    e = intern(1);
    cr_assert_eq(e->sched.mean_ns, 6000);
    cr_assert_eq(e->sched.tail_ns, 6000);
    cr_assert_eq(e->sched.class, SCHED_CLASS_MEMORY);
    cr_assert_eq(e->sched.memory_milli, 700);
    cr_assert_eq(e->sched.sms, 10, "the occupancy is known better");
    cr_assert_eq(e->profile.source, KERNEL_PROFILE_IMPORTED);
    kernels_sample(k, e, 3000, false);
    cr_assert_eq(e->sched.mean_ns, 3000);
    kernels_counts(k, e, 100000000, 0);
    cr_assert_eq(e->sched.class, SCHED_CLASS_MEMORY, "classes: the table's word");
}

Test(kernels, sms_of_a_table_are_for_those_without_occupancy) {
    struct kernel_profile_key key = key_of(1, 0);
    struct kernel *e;

    cr_assert_eq(kernels_set_hints(k, &hint, 1), 0);
    e = kernels_intern(k, &key, "a::kern(int)", 0, &created);
    cr_assert_eq(e->profile.sms, 1000);
    cr_assert_eq(e->sched.sms, 1000);
    cr_assert_eq(intern(1), e);
    cr_assert_eq(e->sched.sms, 10);
}

Test(kernels, hints_come_and_go) {
    struct kernel *e = intern(1), *held = intern(2);

    kernels_counts(k, e, 100000000, 0);
    kernels_drop(k, e);
    cr_assert_eq(kernels_set_hints(k, &hint, 1), 0);
    cr_assert_eq(e->sched.class, SCHED_CLASS_MEMORY);
    cr_assert_eq(held->sched.mean_ns, 6000);
    cr_assert_eq(kernels_set_hints(k, NULL, 0), 0);
    cr_assert_eq(e->sched.class, SCHED_CLASS_UNKNOWN);
    cr_assert_eq(e->profile.source, KERNEL_PROFILE_NONE);
    cr_assert_eq(held->sched.mean_ns, 0);
    kernels_counts(k, e, 100000000, 0);
    cr_assert_eq(e->sched.class, SCHED_CLASS_COMPUTE, "it counts again");
}

Test(kernels, a_table_that_does_not_know_the_class_leaves_it) {
    struct kernel_profile_hint unknown = {.name = "a::kern", .duration_ns = 5};
    struct kernel *e;

    cr_assert_eq(kernels_set_hints(k, &unknown, 1), 0);
    e = intern(1);
    cr_assert_eq(e->sched.mean_ns, 5);
    kernels_counts(k, e, 100000000, 0);
    cr_assert_eq(e->sched.class, SCHED_CLASS_COMPUTE);
}

/* ---- the store ------------------------------------------------------------------------------- */

static uint32_t taken(uint64_t *funcs, uint32_t cap) {
    struct kernel_profile p;
    uint32_t n = 0;

    while (n < cap && kernels_take_dirty(k, &p))
        funcs[n++] = p.key.func;
    return n;
}

Test(kernels, what_changed_is_taken_once_the_longest_changed_first) {
    struct kernel *e[4];
    uint64_t funcs[8];
    struct kernel_profile p;

    for (uint64_t f = 0; f < 4; f++)
        e[f] = intern(f + 1);
    cr_assert_eq(taken(funcs, 8), 0, "nothing is known of them");
    kernels_sample(k, e[2], 1000, true);
    kernels_sample(k, e[0], 1000, true);
    kernels_sample(k, e[2], 1000, true);
    kernels_counts(k, e[1], 1, 1);
    cr_assert_eq(taken(funcs, 8), 3);
    cr_assert_eq(funcs[0], 3);
    cr_assert_eq(funcs[1], 1);
    cr_assert_eq(funcs[2], 2);
    cr_assert_eq(taken(funcs, 8), 0);
    kernels_sample(k, e[2], 3000, true);
    cr_assert(kernels_take_dirty(k, &p));
    cr_assert_eq(p.durations.count, 3);
    cr_assert_eq(p.durations.sum_ns, 5000);
}

Test(kernels, what_is_known_well_is_rarely_taken) {
    struct kernel *e = intern(1);
    uint64_t funcs[8];
    uint32_t times = 0;

    for (int i = 0; i < 10000; i++) {
        kernels_sample(k, e, 1000 + (uint64_t)i % 100, true);
        times += taken(funcs, 8);
    }
    cr_assert_leq(times, 80, "%u", times);
    cr_assert_geq(times, 40, "%u", times);
}

Test(kernels, one_that_goes_is_not_taken) {
    uint64_t funcs[2 * CAP];

    for (uint64_t f = 1; f <= CAP + 3; f++) {
        struct kernel *e = intern(f);

        kernels_sample(k, e, 1000, true);
        kernels_drop(k, e);
    }
    cr_assert_eq(taken(funcs, 2 * CAP), CAP);
    cr_assert_eq(funcs[0], 4);
    cr_assert_eq(funcs[CAP - 1], CAP + 3);
}

Test(kernels, what_was_kept_comes_back) {
    struct kernel_profile p = {.key = key_of(1, 0),
                               .name = "a::kern",
                               .sms = 9,
                               .class = KERNEL_PROFILE_COMPUTE,
                               .source = KERNEL_PROFILE_COUNTED,
                               .lone = 1,
                               .compute_milli = 900};
    struct kernel *e;
    uint64_t funcs[8];

    kernel_dist_add(&p.durations, 4000);
    cr_assert(kernels_restore(k, &p));
    cr_assert_not(kernels_restore(k, &p), "it is there");
    cr_assert_eq(taken(funcs, 8), 0);
    e = intern(1);
    cr_assert_eq(created, 0, "the job has not made it");
    cr_assert_eq(e->sched.mean_ns, 4000);
    cr_assert_eq(e->sched.class, SCHED_CLASS_COMPUTE);
    for (uint64_t f = 2; f <= CAP; f++)
        use(f);
    p.key.func = 100;
    cr_assert_not(kernels_restore(k, &p), "nobody makes room for what is old");
    cr_assert_eq(view().evicted, 0);
}

Test(kernels, what_is_forgotten) {
    struct kernel_set_filter all = {KERNEL_SET_ANYBODY, NULL, false}, other = {1, NULL, false};
    struct kernel *held = intern(1);
    uint64_t funcs[8];

    kernels_sample(k, held, 1000, true);
    kernels_counts(k, held, 100000000, 0);
    for (uint64_t f = 2; f <= CAP; f++)
        use(f);
    kernels_forget(k, &other);
    cr_assert_eq(view().entries, CAP);
    kernels_forget(k, &all);
    cr_assert_eq(view().entries, 1);
    cr_assert_eq(held->sched.mean_ns, 0);
    cr_assert_eq(held->sched.class, SCHED_CLASS_UNKNOWN);
    cr_assert_eq(held->sched.sms, 10);
    cr_assert_str_eq(held->profile.name, "a::kern");
    cr_assert_eq(taken(funcs, 8), 0);
    cr_assert_eq(intern(1), held);
    for (uint64_t f = 10; f < 10 + CAP; f++)
        use(f);
    cr_assert_eq(view().entries, CAP);
    cr_assert_eq(view().evicted, 1);
    kernels_forget(k, &all);
    kernels_forget(k, &all);
    cr_assert_eq(view().entries, 1);
}

Test(kernels, of_one_name_alone) {
    struct kernel_set_filter f = {KERNEL_SET_ANYBODY, "a::kern", false};
    struct kernel_profile_key key = key_of(50, 0);

    kernels_drop(k, kernels_intern(k, &key, "b", 1, &created));
    use(1);
    use(2);
    kernels_forget(k, &f);
    cr_assert_eq(view().entries, 1);
    cr_assert(known(50));
}
