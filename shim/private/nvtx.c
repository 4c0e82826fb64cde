/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds marks and beginnings of ranges whose message is that of an iteration:
 * SALUS_ITERATION_RANGE, else one of the common names. Ends of ranges and domains are ignored:
 * programs use any domain.
 */
#include "shim/private/nvtx.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shim/context/mark.h"

static const char *const usual[] = {"iteration", "step"};
static const char *wanted;    /* set by the user; written before NVTX calls any function */
static const char registered; /* the address stands for every registered text that is wanted */

static bool is_iteration(const char *text) {
    if (!text) return false;
    if (wanted) return !strcmp(text, wanted);
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        if (!strcmp(text, usual[i])) return true;
    }
    return false;
}

static void look(const char *text) {
    if (is_iteration(text)) mark_iteration();
}

static void look_at(const struct nvtx_event *e) {
    if (!e || e->size < offsetof(struct nvtx_event, message) + sizeof(e->message)) return;
    if (e->message_type == NVTX_MESSAGE_ASCII) look(e->message);
    if (e->message_type == NVTX_MESSAGE_REGISTERED && e->message == &registered) mark_iteration();
}

/* ---- functions that NVTX calls --------------------------------------------------------------- */

static void mark_text(const char *text) {
    look(text);
}

static void mark_event(const struct nvtx_event *e) {
    look_at(e);
}

static uint64_t start_text(const char *text) {
    look(text);
    return 0;
}

static uint64_t start_event(const struct nvtx_event *e) {
    look_at(e);
    return 0;
}

static int push_text(const char *text) {
    look(text);
    return NVTX_NOT_TRACKED;
}

static int push_event(const struct nvtx_event *e) {
    look_at(e);
    return NVTX_NOT_TRACKED;
}

static void domain_mark(const void *domain, const struct nvtx_event *e) {
    look_at(e);
}

static uint64_t domain_start(const void *domain, const struct nvtx_event *e) {
    look_at(e);
    return 0;
}

static int domain_push(const void *domain, const struct nvtx_event *e) {
    look_at(e);
    return NVTX_NOT_TRACKED;
}

static const void *domain_register(const void *domain, const char *text) {
    return is_iteration(text) ? &registered : NULL;
}

/* ---- attaching ------------------------------------------------------------------------------- */

static const struct {
    int module;
    unsigned int number;
    nvtx_function function;
} hooks[] = {
    {NVTX_CORE, NVTX_CORE_MARK_EX, (nvtx_function)mark_event},
    {NVTX_CORE, NVTX_CORE_MARK_A, (nvtx_function)mark_text},
    {NVTX_CORE, NVTX_CORE_RANGE_START_EX, (nvtx_function)start_event},
    {NVTX_CORE, NVTX_CORE_RANGE_START_A, (nvtx_function)start_text},
    {NVTX_CORE, NVTX_CORE_RANGE_PUSH_EX, (nvtx_function)push_event},
    {NVTX_CORE, NVTX_CORE_RANGE_PUSH_A, (nvtx_function)push_text},
    {NVTX_CORE2, NVTX_CORE2_MARK_EX, (nvtx_function)domain_mark},
    {NVTX_CORE2, NVTX_CORE2_RANGE_START_EX, (nvtx_function)domain_start},
    {NVTX_CORE2, NVTX_CORE2_RANGE_PUSH_EX, (nvtx_function)domain_push},
    {NVTX_CORE2, NVTX_CORE2_REGISTER_STRING_A, (nvtx_function)domain_register},
};

int InitializeInjectionNvtx2(nvtx_tables tables) {
    const struct nvtx_callbacks *callbacks = tables ? tables(NVTX_TABLE_CALLBACKS) : NULL;
    if (!callbacks || callbacks->bytes < sizeof(*callbacks)) return 0;
    const char *name = getenv("SALUS_ITERATION_RANGE");
    wanted = name && *name ? name : NULL;
    int attached = 0;
    for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++) {
        nvtx_function **table;
        unsigned int count;
        if (!callbacks->functions(hooks[i].module, &table, &count)) continue;
        if (hooks[i].number >= count || !table[hooks[i].number]) continue;
        *table[hooks[i].number] = hooks[i].function;
        attached = 1;
    }
    return attached;
}
