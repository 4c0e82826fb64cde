/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that link device code at run time. The kind of a part is detected when the part is added;
 * the worker checks at the end whether all parts fit together.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "proto/gen/prototypes.h"
#include "shim/code/code_file.h"
#include "shim/code/image.h"
#include "shim/code/jit.h"
#include "shim/code/link.h"
#include "shim/connection/refuse.h"
#include "shim/connection/state.h"
#include "shim/context/ctx.h"
#include "shim/device/caller.h"
#include "shim/handle.h"
#include "shim/lock.h"
#include "shim/table.h"

/* A link in progress. The option values belong to the program until the link is destroyed; the
 * options themselves are copied. */
struct link_state {
    struct table_item place;
    CUlinkState handle; /* NULL while the place is free */
    uint16_t generation;
    struct link link;
    uint32_t image_capability; /* capability of the code for the caller that began the link, as in
                                  struct image */
    struct jit jit;
    CUjit_option *options;
    struct image_log errors, info;
};

static struct table states = {.bytes = sizeof(struct link_state)};
static pthread_mutex_t states_lock =
    PTHREAD_MUTEX_INITIALIZER; /* protects the use of the table's places */

/* ---- the table ------------------------------------------------------------------------------- */

static struct link_state *take_state(void) {
    lock_enter(&states_lock);
    struct link_state *s = table_take(&states, TABLE_MOST);
    if (s)
        s->handle =
            (CUlinkState)(uintptr_t)handle_make(HANDLE_LINK, ++s->generation, s->place.number);
    lock_leave(&states_lock);
    return s;
}

static void give_state(struct link_state *s) {
    link_finish(&s->link);
    free(s->options);
    lock_enter(&states_lock);
    *s = (struct link_state){.place = s->place, .generation = s->generation};
    table_give(&states, s);
    lock_leave(&states_lock);
}

static struct link_state *find(CUlinkState handle) {
    struct link_state *s = table_at(&states, handle_index(HANDLE_LINK, handle));
    return s && s->handle == handle ? s : NULL;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Returns the free rest of a log's buffer. */
static struct image_log rest_of(const struct image_log *log) {
    size_t used = log->text ? strnlen(log->text, log->cap) : 0;
    return (struct image_log){log->text ? log->text + used : NULL, log->cap - used};
}

static void write_log(const struct link_state *s, const char *why) {
    struct image_log rest = rest_of(&s->errors);
    if (rest.cap) snprintf(rest.text, rest.cap, "%s\n", why);
    jit_close_log(&s->jit, CU_JIT_ERROR_LOG_BUFFER, &s->errors);
}

/* Adds an input. When the device lacks something that the input needs, the refusal is logged for
 * the user as well. */
static CUresult add(struct link_state *s, CUjitInputType type, const void *data, size_t bytes,
                    const char *name) {
    char why[LINK_WHY_BYTES];
    CUresult r = link_add(&s->link, type, data, bytes, name, why);
    if (!r) return r;
    write_log(s, why);
    if (r == CUDA_ERROR_NO_BINARY_FOR_GPU)
        refuse_module(bytes, NULL, ERR_NO_BINARY, why, sizeof(why));
    return r;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static CUresult begin(struct link_state *s, unsigned int count, const CUjit_option *options,
                      void **values, const void *caller) {
    link_init(&s->link, caller_capability(caller));
    s->image_capability = caller_image_capability(caller);
    s->options = calloc(count ? count : 1, sizeof(*options));
    if (!s->options) return CUDA_ERROR_OUT_OF_MEMORY;
    if (count) memcpy(s->options, options, count * sizeof(*options));
    s->jit = (struct jit){count, s->options, values};
    s->errors = jit_open_log(&s->jit, CU_JIT_ERROR_LOG_BUFFER);
    s->info = jit_open_log(&s->jit, CU_JIT_INFO_LOG_BUFFER);
    jit_close_log(&s->jit, CU_JIT_ERROR_LOG_BUFFER, &s->errors);
    jit_close_log(&s->jit, CU_JIT_INFO_LOG_BUFFER, &s->info);
    return CUDA_SUCCESS;
}

CUresult cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options, void **optionValues,
                         CUlinkState *stateOut) {
    CUresult r = ctx_enter();
    if (r) return r;
    if (!stateOut || (numOptions && (!options || !optionValues))) return CUDA_ERROR_INVALID_VALUE;
    struct link_state *s = take_state();
    if (!s) refuse_more(REFUSE_LINKS, TABLE_MOST);
    if (!s) return CUDA_ERROR_OUT_OF_MEMORY;
    r = begin(s, numOptions, options, optionValues, __builtin_return_address(0));
    if (r)
        give_state(s);
    else
        *stateOut = s->handle;
    return r;
}

/* Every call about a link enters here. Options of a single input are ignored. */
static CUresult enter(CUlinkState handle, struct link_state **s) {
    CUresult r = ctx_enter_device();
    if (r) return r;
    *s = find(handle);
    return *s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLinkAddData_v2(CUlinkState link, CUjitInputType type, void *data, size_t size,
                          const char *name, unsigned int numOptions, CUjit_option *options,
                          void **optionValues) {
    struct link_state *s;
    CUresult r = enter(link, &s);
    if (r) return r;
    if (!data || !size || (numOptions && (!options || !optionValues)))
        return CUDA_ERROR_INVALID_VALUE;
    return add(s, type, data, size, name);
}

CUresult cuLinkAddFile_v2(CUlinkState link, CUjitInputType type, const char *path,
                          unsigned int numOptions, CUjit_option *options, void **optionValues) {
    struct link_state *s;
    size_t bytes;
    CUresult r = enter(link, &s);
    if (r) return r;
    if (numOptions && (!options || !optionValues)) return CUDA_ERROR_INVALID_VALUE;
    void *data = code_file_read(path, &bytes, &r);
    if (!r) r = add(s, type, data, bytes, path);
    free(data);
    return r;
}

/* Loads the code and unloads it again: symbols that do not match are an error of the link, not of a
 * later load. */
CUresult cuLinkComplete(CUlinkState link, void **cubinOut, size_t *sizeOut) {
    struct link_state *s;
    struct image *tried;
    size_t bytes;
    CUresult r = enter(link, &s);
    if (r) return r;
    if (!cubinOut) return CUDA_ERROR_INVALID_VALUE;
    const void *image = link_image(&s->link, &bytes);
    if (!image) return s->link.image.failed ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
    struct image_log rest = rest_of(&s->errors);
    struct image_source from = {.code = image,
                                .capability = s->image_capability,
                                .library = true,
                                .preserved = true,
                                .now = true};
    r = image_create(&from, &rest, &tried);
    jit_close_log(&s->jit, CU_JIT_ERROR_LOG_BUFFER, &s->errors);
    if (r) return r;
    image_destroy(tried);
    *cubinOut = (void *)(uintptr_t)image;
    if (sizeOut) *sizeOut = bytes;
    return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState link) {
    CUresult r = state_ready();
    if (r) return r;
    struct link_state *s = find(link);
    if (!s) return CUDA_ERROR_INVALID_HANDLE;
    give_state(s);
    return CUDA_SUCCESS;
}
