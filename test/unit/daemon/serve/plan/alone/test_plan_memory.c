/* SPDX-License-Identifier: Apache-2.0
 *
 * Every allocation of the scheduler fails once, under every policy: the call reports it and nothing
 * has changed; the same call again gives the normal result.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "daemon/serve/plan/plan.h"

#define MS 1000000ull
#define REQUESTS 100u

/* Wraps the scheduler's allocations (--wrap). fail_in: which of the next fails, 1 for the first; 0:
 * none. */
static int fail_in, failed;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static int fails(void) {
    if (!fail_in || --fail_in) return 0;
    failed++;
    return 1;
}

void *__wrap_malloc(size_t bytes) {
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes) {
    return fails() ? NULL : __real_realloc(old, bytes);
}

static int create(struct plan **p, const char *policy) {
    return plan_create(p, &(struct plan_config){.policy = policy, .apps = 2, .own = true}, NULL, 0);
}

/* A step of one event; with `trial` the n-th allocation fails first. Returns how often one
 * failed. */
static int step(struct plan *p, uint64_t now_ns, const struct plan_event *e, int trial,
                struct plan_actions *out) {
    struct plan_view before, after;
    int times = 0;
    for (int n = 1; trial; n++) {
        plan_view(p, &before);
        fail_in = n;
        int err = plan_step(p, now_ns, e, 1, out);
        int spared = fail_in;
        fail_in = 0;
        if (!err) {
            cr_assert_gt(spared, 0);
            return times;
        }
        times++;
        cr_assert_eq(err, -ENOMEM);
        plan_view(p, &after);
        cr_assert_arr_eq(&before, &after, sizeof(before));
        cr_assert_null(plan_check(p), "%s", plan_check(p));
    }
    cr_assert_eq(plan_step(p, now_ns, e, 1, out), 0);
    return 0;
}

Test(plan_memory, to_create_one_fails_cleanly) {
    for (uint32_t i = 0; plan_policy_name(i); i++) {
        int n = 1, err = -ENOMEM;
        struct plan *p = NULL;
        for (; err; n++) {
            fail_in = n;
            err = create(&p, plan_policy_name(i));
            fail_in = 0;
            cr_assert(err == 0 || (err == -ENOMEM && !p));
        }
        cr_expect_gt(n, 4);
        plan_destroy(p);
    }
}

/* Two equal schedulers, one of which has every failure: their answers are the same. */
Test(plan_memory, a_step_fails_and_is_made_again) {
    for (uint32_t i = 0; plan_policy_name(i); i++) {
        struct plan *p, *q;
        int times = 0;
        cr_assert_eq(create(&p, plan_policy_name(i)) | create(&q, plan_policy_name(i)), 0);
        for (uint32_t r = 0; r < REQUESTS; r++) {
            struct plan_event e = {.kind = PLAN_ARRIVED, .arrived = {r, 0, (50 + r) * MS, r % 2}};
            struct plan_actions out, want;
            if (r == REQUESTS / 2) e = (struct plan_event){.kind = PLAN_READY};
            times += step(p, r * MS, &e, 1, &out);
            step(q, r * MS, &e, 0, &want);
            cr_assert_eq(out.count, want.count);
            for (uint32_t a = 0; a < out.count; a++) {
                cr_assert_eq(out.items[a].kind, want.items[a].kind);
                cr_assert_eq(out.items[a].size, want.items[a].size);
            }
        }
        cr_expect_gt(times, 5, "%s: room was made %d times", plan_policy_name(i), times);
        plan_destroy(p);
        plan_destroy(q);
    }
    cr_expect_gt(failed, 0);
}
