/* SPDX-License-Identifier: Apache-2.0
 *
 * The library as NVTX's tool: which functions it replaces in a program's tables, and which messages
 * are marks. Programs with the real NVTX are in the end-to-end tests.
 */
#include "shim/private/nvtx.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "shim/context/mark.h"

static int marks;

void mark_iteration(void) {
    marks++;
}

/* ---- a copy of NVTX -------------------------------------------------------------------------- */

#define CORE_COUNT 16
#define CORE2_COUNT 16

static nvtx_function core[CORE_COUNT], core2[CORE2_COUNT];
static nvtx_function *core_table[CORE_COUNT + 1], *core2_table[CORE2_COUNT + 1];
static unsigned int core_count, core2_count; /* as in an older version */

static int functions(int module, nvtx_function ***table, unsigned int *count) {
    if (module != NVTX_CORE && module != NVTX_CORE2) return 0;
    *table = module == NVTX_CORE ? core_table : core2_table;
    *count = module == NVTX_CORE ? core_count : core2_count;
    return 1;
}

static struct nvtx_callbacks callbacks;

static const void *tables(uint32_t id) {
    return id == NVTX_TABLE_CALLBACKS ? &callbacks : NULL;
}

static void begin(void) {
    callbacks = (struct nvtx_callbacks){sizeof(callbacks), functions};
    core_count = CORE_COUNT;
    core2_count = CORE2_COUNT;
    for (int i = 1; i < CORE_COUNT; i++)
        core_table[i] = &core[i];
    for (int i = 1; i < CORE2_COUNT; i++)
        core2_table[i] = &core2[i];
    marks = 0;
    unsetenv("SALUS_ITERATION_RANGE");
}

TestSuite(shim_nvtx, .init = begin);

static struct nvtx_event event(int type, const void *message) {
    return (struct nvtx_event){
        .version = 3, .size = sizeof(struct nvtx_event), .message_type = type, .message = message};
}

/* Calls every function with the message, as a program would; returns how many of them were marks.
 */
static int say(const char *text) {
    marks = 0;
    struct nvtx_event e = event(NVTX_MESSAGE_ASCII, text);
    ((void (*)(const struct nvtx_event *))core[NVTX_CORE_MARK_EX])(&e);
    ((void (*)(const char *))core[NVTX_CORE_MARK_A])(text);
    ((uint64_t(*)(const struct nvtx_event *))core[NVTX_CORE_RANGE_START_EX])(&e);
    ((uint64_t(*)(const char *))core[NVTX_CORE_RANGE_START_A])(text);
    ((int (*)(const struct nvtx_event *))core[NVTX_CORE_RANGE_PUSH_EX])(&e);
    ((int (*)(const char *))core[NVTX_CORE_RANGE_PUSH_A])(text);
    ((void (*)(void *, const struct nvtx_event *))core2[NVTX_CORE2_MARK_EX])(NULL, &e);
    ((uint64_t(*)(void *, const struct nvtx_event *))core2[NVTX_CORE2_RANGE_START_EX])(NULL, &e);
    ((int (*)(void *, const struct nvtx_event *))core2[NVTX_CORE2_RANGE_PUSH_EX])(NULL, &e);
    return marks;
}

static int say_registered(const char *text) {
    const void *handle =
        ((const void *(*)(void *, const char *))core2[NVTX_CORE2_REGISTER_STRING_A])(NULL, text);
    struct nvtx_event e = event(NVTX_MESSAGE_REGISTERED, handle);
    marks = 0;
    ((void (*)(void *, const struct nvtx_event *))core2[NVTX_CORE2_MARK_EX])(NULL, &e);
    return marks;
}

Test(shim_nvtx, usual_names) {
    cr_assert_eq(InitializeInjectionNvtx2(tables), 1);
    cr_assert_eq(say("iteration"), 9);
    cr_assert_eq(say("step"), 9);
    cr_assert_eq(say("steps"), 0);
    cr_assert_eq(say("forward"), 0);
    cr_assert_eq(say(""), 0);
    cr_assert_eq(say(NULL), 0);
    cr_assert_eq(say_registered("step"), 1);
    cr_assert_eq(say_registered("forward"), 0);
}

Test(shim_nvtx, the_users_name) {
    setenv("SALUS_ITERATION_RANGE", "batch", 1);
    cr_assert_eq(InitializeInjectionNvtx2(tables), 1);
    cr_assert_eq(say("batch"), 9);
    cr_assert_eq(say("step"), 0, "only that");
    cr_assert_eq(say_registered("batch"), 1);
}

Test(shim_nvtx, other_functions_stay_as_they_are) {
    cr_assert_eq(InitializeInjectionNvtx2(tables), 1);
    int taken = 0;
    for (int i = 0; i < CORE_COUNT; i++)
        taken += core[i] != NULL;
    for (int i = 0; i < CORE2_COUNT; i++)
        taken += core2[i] != NULL;
    cr_assert_eq(taken, 10);
    cr_assert_null(core[7], "ends of ranges are nobody's business");
}

Test(shim_nvtx, messages_that_are_none) {
    cr_assert_eq(InitializeInjectionNvtx2(tables), 1);
    struct nvtx_event e = event(2, "step"); /* the event claims wide text */
    void (*mark)(const struct nvtx_event *) =
        (void (*)(const struct nvtx_event *))core[NVTX_CORE_MARK_EX];
    mark(&e);
    mark(NULL);
    e = event(NVTX_MESSAGE_REGISTERED, NULL);
    mark(&e);
    e = event(NVTX_MESSAGE_ASCII, "step");
    e.size = offsetof(struct nvtx_event, message); /* an older event, without a message */
    mark(&e);
    cr_assert_eq(marks, 0);
}

Test(shim_nvtx, older_copies_have_less) {
    core_count = NVTX_CORE_MARK_A + 1;
    core2_table[NVTX_CORE2_MARK_EX] = NULL;
    cr_assert_eq(InitializeInjectionNvtx2(tables), 1);
    cr_assert_not_null(core[NVTX_CORE_MARK_A]);
    cr_assert_null(core[NVTX_CORE_RANGE_PUSH_A], "beyond its end");
}

Test(shim_nvtx, what_is_not_nvtx) {
    cr_assert_eq(InitializeInjectionNvtx2(NULL), 0);
    callbacks.bytes = sizeof(size_t);
    cr_assert_eq(InitializeInjectionNvtx2(tables), 0);
}
