/* SPDX-License-Identifier: Apache-2.0
 *
 * Invalid configurations, and failures of each allocation.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/tune/salus_fluid.h"

/* Wraps the library's allocations (--wrap). fail_in: which of the next fails, 1 for the first; 0:
 * none. */
static int fail_in, calls;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

static int fails(void) {
    calls++;
    return fail_in && !--fail_in;
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

static void expect_refused(struct salus_fluid_config config, const char *word) {
    struct salus_fluid *f = NULL;
    char why[160] = "";
    cr_expect_eq(salus_fluid_create(&f, &config, why, sizeof(why)), -EINVAL, "%s", word);
    cr_expect(strstr(why, word), "'%s' is not in '%s'", word, why);
    cr_expect_eq(salus_fluid_create(&f, &config, NULL, 0), -EINVAL);
    cr_expect_null(f);
}

Test(tune_create, what_cannot_be_is_refused_with_a_sentence) {
    expect_refused((struct salus_fluid_config){.gpus = 1025}, "at most 1024 GPUs");
    expect_refused((struct salus_fluid_config){.gpus = 3, .gpus_most = 2},
                   "3 GPUs are more than 2");
    expect_refused((struct salus_fluid_config){.trials_most = 65537}, "at most 65536 trials");
    expect_refused((struct salus_fluid_config){.change_ns = -1}, "time of a change");
    expect_refused((struct salus_fluid_config){.flags = 64}, "flag 0x40 is unknown");
}

Test(tune_create, every_allocation_may_fail) {
    struct salus_fluid *f = NULL;
    int n = 0, err;
    do {
        fail_in = ++n;
        err = salus_fluid_create(&f, &(struct salus_fluid_config){.gpus = 2}, NULL, 0);
        cr_assert(err == 0 || err == -ENOMEM);
        cr_assert(err == 0 || f == NULL);
    } while (err);
    cr_expect_gt(n, 9);
    fail_in = 0;
    salus_fluid_destroy(f);
    salus_fluid_destroy(NULL);
}

Test(tune_create, a_step_allocates_nothing) {
    struct salus_fluid_event events[100];
    struct salus_fluid_plan plan;
    struct salus_fluid *f;
    cr_assert_eq(
        salus_fluid_create(&f, &(struct salus_fluid_config){.gpus = 8, .packed_most = 4}, NULL, 0),
        0);
    for (uint32_t i = 0; i < 100; i++)
        events[i] = (struct salus_fluid_event){
            .kind = SALUS_FLUID_JOIN, .id = i, .left_ns = 1 + i, .alpha = 1, .beta = 1};
    calls = 0;
    int err = salus_fluid_step(f, 1, events, 100, &plan);
    int during = calls;
    cr_expect_eq(err, 0);
    cr_expect_eq(during, 0);
    cr_expect_eq(plan.count, 100);
    salus_fluid_destroy(f);
}

Test(tune_create, every_fault_has_a_text) {
    for (uint32_t i = 1; i <= SALUS_FLUID_FAULT_NO_GPU; i++)
        cr_expect_gt(strlen(salus_fluid_fault_text(i)), 10);
    cr_expect_str_eq(salus_fluid_fault_text(SALUS_FLUID_FAULT_NO_GPU + 1), "?");
}
