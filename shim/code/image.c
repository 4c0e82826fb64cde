/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of images: stores the code, sends it to the worker, unloads it.
 */
#include "shim/code/image.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "common/log.h"
#include "proto/wire/record.h"
#include "shim/code/fatbin.h"
#include "shim/code/function.h"
#include "shim/code/program_memory.h"
#include "shim/connection/refuse.h"
#include "shim/connection/reply.h"
#include "shim/connection/submit.h"
#include "shim/context/ctx.h"
#include "shim/handle.h"
#include "shim/lock.h"
#include "shim/memory/identity.h"
#include "shim/memory/mem.h"
#include "shim/transfer/stray.h"

#define IMAGE_WHY_BYTES 4096u
#define TILE_WHY "it is Tile IR, which the software GPU does not compile"

struct image_global {
    struct image_global *next;
    uint64_t addr, bytes;
    char name[];
};

static struct table images = {.bytes = sizeof(struct image)};
static uint32_t
    first_unused;            /* all images below are used; changed by the thread that has entered */
static uint32_t image_limit; /* indices from here on were never used; grows with the lock held */
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER; /* not counted in lock.h, see image.h */
/* Protects the data that any thread looks up: which images are used, their kernels and variables.
 * Only the thread that has entered changes them, with the lock held. */
static pthread_mutex_t image_lock = PTHREAD_MUTEX_INITIALIZER;

void image_enter(void) {
    pthread_mutex_lock(&loading);
}

void image_leave(void) {
    pthread_mutex_unlock(&loading);
}

static struct image *nth(uint32_t index) {
    return table_at(&images, index);
}

/* ---- handles --------------------------------------------------------------------------------- */

static struct image *find(enum handle_kind kind, const void *handle) {
    uint32_t index = handle_index(kind, handle);
    struct image *image = table_at(&images, index);
    if (!image || !image->used ||
        handle_make(kind, image->generation, index) != (uint64_t)(uintptr_t)handle)
        return NULL;
    return image;
}

struct image *image_of_module(CUmodule handle) {
    return find(HANDLE_MODULE, handle);
}

struct image *image_of_library(CUlibrary handle) {
    struct image *image = find(HANDLE_LIBRARY, handle);
    return image && image->library ? image : NULL;
}

CUmodule image_module(const struct image *image) {
    return (CUmodule)(uintptr_t)handle_make(HANDLE_MODULE, image->generation, image->index);
}

CUlibrary image_library(const struct image *image) {
    return (CUlibrary)(uintptr_t)handle_make(HANDLE_LIBRARY, image->generation, image->index);
}

/* ---- sending --------------------------------------------------------------------------------- */

static void explain(const struct image *image, int err, const char *why,
                    const struct image_log *log) {
    if (image->unasked && err == ERR_NO_BINARY) return;
    if (log && log->text && log->cap) snprintf(log->text, log->cap, "%s", why);
    if (refuse_is_code(err))
        refuse_module(image->bytes, image->origin, err, why, IMAGE_WHY_BYTES);
    else
        log_warn("shim", "what=\"the GPU worker did not load a module\" bytes=%zu reason=\"%s\"",
                 image->bytes, why);
}

static CUresult send(struct image *image, uint64_t at, const struct image_log *log) {
    char *why = (char *)(uintptr_t)(at + image->bytes);
    struct wire_module_load rec = {
        .rec = {.op = WIRE_MODULE_LOAD},
        .module = image->index,
        .capability = image->capability,
        .image = at,
        .image_bytes = image->bytes,
        .why = at + image->bytes,
        .why_bytes = IMAGE_WHY_BYTES,
    };
    struct reply reply = {0};
    if (program_memory_read((void *)(uintptr_t)at, image->data, image->bytes))
        return CUDA_ERROR_INVALID_IMAGE;
    *why = '\0';
    CUresult r = reply_call(&rec, sizeof(rec), NULL, 0, &reply);
    if (r) {
        why[IMAGE_WHY_BYTES - 1] = '\0';
        explain(image, reply.result, why, log);
        return r;
    }
    struct wire_module_reply counts = {0};
    memcpy(&counts, reply.data, reply.bytes < sizeof(counts) ? reply.bytes : sizeof(counts));
    image->function_count = counts.functions;
    image->loaded = true;
    return CUDA_SUCCESS;
}

CUresult image_load(struct image *image, const struct image_log *log) {
    uint64_t at;
    if (image->loaded) return CUDA_SUCCESS;
    CUresult r = state_fault();
    if (!r) r = mem_take(MEM_OWN, 0, 0, image->bytes + IMAGE_WHY_BYTES, &at);
    if (r) return r;
    r = send(image, at, log);
    mem_give(at);
    return r;
}

static void forget_globals(struct image *image) {
    lock_enter(&image_lock);
    for (struct image_global *g = image->globals, *next; g; g = next) {
        next = g->next;
        stray_remove(g->addr, g->bytes);
        free(g);
    }
    image->globals = NULL;
    lock_leave(&image_lock);
}

static void unload(struct image *image) {
    if (!image->loaded) return;
    struct wire_module_unload rec = {.rec = {.op = WIRE_MODULE_UNLOAD}, .module = image->index};
    image->loaded = false;
    forget_globals(image);
    for (struct function *f = image->functions; f; f = f->next)
        function_forget(f);
    if (state_fault() == CUDA_SUCCESS) submit_record(&rec, sizeof(rec), NULL, 0);
}

/* ---- life ------------------------------------------------------------------------------------ */

static struct image *take_slot(void) {
    uint32_t most = table_most(WIRE_MODULES, WIRE_MODULES_FIRST), i = first_unused;
    while (i < image_limit && nth(i)->used)
        i++;
    struct image *image = i < most ? table_reach(&images, i) : NULL;
    if (!image) refuse_more(REFUSE_MODULES, most);
    if (!image) return NULL;
    uint16_t generation = (uint16_t)(image->generation + 1);
    lock_enter(&image_lock);
    *image = (struct image){.used = true, .index = i, .generation = generation};
    if (i == image_limit) image_limit++;
    lock_leave(&image_lock);
    first_unused = i + 1;
    return image;
}

/* Refuses data that is not known as code. Every driver refuses garbage, so only code that NVIDIA's
 * driver would accept is explained. */
static CUresult refuse_unknown(const struct image *image, const void *code,
                               const struct image_log *log) {
    if (code && fatbin_is_tile(code)) explain(image, ERR_INVALID_IMAGE, TILE_WHY, log);
    return CUDA_ERROR_INVALID_IMAGE;
}

static CUresult keep_code(struct image *image, const struct image_source *from,
                          const struct image_log *log) {
    image->bytes = fatbin_measure(from->code);
    if (!image->bytes) return refuse_unknown(image, from->code, log);
    if (image->bytes > RECORD_IMAGE_MAX) return CUDA_ERROR_OUT_OF_MEMORY;
    image->origin = from->code;
    image->data = from->preserved ? fatbin_in_place(from->code) : NULL;
    if (image->data) return CUDA_SUCCESS;
    image->copy = malloc(image->bytes);
    if (!image->copy) return CUDA_ERROR_OUT_OF_MEMORY;
    image->data = image->copy;
    return fatbin_copy(from->code, image->copy, image->bytes) ? CUDA_ERROR_INVALID_IMAGE
                                                              : CUDA_SUCCESS;
}

static void forget_functions(struct image *image) {
    lock_enter(&image_lock);
    for (struct function *f = image->functions, *next; f; f = next) {
        next = f->next;
        function_free(f);
    }
    image->functions = NULL;
    image->used = false;
    if (image->index < first_unused) first_unused = image->index;
    lock_leave(&image_lock);
}

static void end(struct image *image) {
    unload(image);
    forget_functions(image);
    free(image->copy);
    image->copy = NULL;
}

static void describe(struct image *image, const struct image_source *from) {
    image->library = from->library;
    image->capability = from->capability;
    if (!from->library) image->owner = ctx_current()->index;
}

/* Loads an image at once. A library without code for this device still loads, as with NVIDIA's
 * driver, whose runtime loads all of a program's code when told to (EAGER). The error appears when
 * one of its kernels is asked for. */
static CUresult load_now(struct image *image, const struct image_log *log) {
    image->unasked = image->library && fatbin_is_one(image->data);
    CUresult r = image_load(image, log);
    bool lacks = image->unasked && r == CUDA_ERROR_NO_BINARY_FOR_GPU;
    image->unasked = false;
    return lacks ? CUDA_SUCCESS : r;
}

CUresult image_create(const struct image_source *from, const struct image_log *log,
                      struct image **out) {
    image_enter();
    struct image *image = take_slot();
    if (image) describe(image, from);
    CUresult r = image ? keep_code(image, from, log) : CUDA_ERROR_OUT_OF_MEMORY;
    if (!r && from->now) r = load_now(image, log);
    if (r && image) end(image);
    image_leave();
    *out = image;
    return r;
}

void image_destroy(struct image *image) {
    image_enter();
    if (image->used) end(image);
    image_leave();
}

void image_release(uint32_t owner) {
    image_enter();
    for (uint32_t i = 0; i < image_limit; i++) {
        struct image *image = nth(i);
        if (!image->used) continue;
        if (!image->library && image->owner == owner)
            end(image);
        else if (image->library && owner == CTX_PRIMARY)
            unload(image);
    }
    image_leave();
}

/* Loads the images in the order of their indices, as programs load them, so that each variable gets
 * its old address. */
void image_restore_managed(void) {
    image_enter();
    for (uint32_t i = 0; i < image_limit; i++) {
        struct image *image = nth(i);
        if (image->used && image->managed) image_load(image, NULL);
    }
    image_leave();
}

/* ---- kernels --------------------------------------------------------------------------------- */

struct function *image_function(struct image *image, const char *name) {
    lock_enter(&image_lock);
    struct function *f = image->functions;
    while (f && strcmp(f->name, name) != 0)
        f = f->next;
    lock_leave(&image_lock);
    return f;
}

void image_add(struct image *image, struct function *f) {
    lock_enter(&image_lock);
    f->next = image->functions;
    image->functions = f;
    lock_leave(&image_lock);
}

/* ---- variables ------------------------------------------------------------------------------- */

/* Notes the address of a variable. An address that a driver chose may be in use in this program. */
static CUresult note_place(const char *name, const struct wire_global_reply *g) {
    if (conn_in_device(&state.conn, g->addr) || conn_in_host(&state.conn, g->addr))
        return CUDA_SUCCESS;
    int err = stray_add(g->addr, g->bytes);
    if (!err) return CUDA_SUCCESS;
    log_error("shim",
              "what=\"the driver placed the variable %.100s at an address that this program uses\" "
              "address=0x%llx error=%s do=\"start the program again\"",
              name, (unsigned long long)g->addr, err_name(err));
    return err == -EEXIST ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult ask_global(struct image *image, const char *name, size_t name_bytes,
                           struct image_global **out) {
    struct wire_global_get rec = {
        .rec = {.op = WIRE_GLOBAL_GET}, .module = image->index, .name_bytes = (uint32_t)name_bytes};
    struct reply reply;
    CUresult r = reply_call(&rec, sizeof(rec), name, (uint32_t)name_bytes, &reply);
    if (r) return r;
    struct wire_global_reply found;
    if (reply.bytes != sizeof(found)) return CUDA_ERROR_UNKNOWN;
    memcpy(&found, reply.data, sizeof(found));
    r = note_place(name, &found);
    if (r) return r;
    struct image_global *g = malloc(sizeof(*g) + name_bytes);
    if (!g) return CUDA_ERROR_OUT_OF_MEMORY;
    image->managed |= conn_in_host(&state.conn, found.addr);
    *g = (struct image_global){image->globals, found.addr, found.bytes};
    memcpy(g->name, name, name_bytes);
    identity_forget(found.addr, found.bytes);
    lock_enter(&image_lock);
    image->globals = g;
    lock_leave(&image_lock);
    *out = g;
    return CUDA_SUCCESS;
}

CUresult image_global(struct image *image, const char *name, uint64_t *addr, uint64_t *bytes) {
    size_t name_bytes = strlen(name) + 1;
    if (name_bytes < 2 || name_bytes > FUNCTION_NAME_MAX) return CUDA_ERROR_NOT_FOUND;
    CUresult r = image_load(image, NULL);
    struct image_global *g = image->globals;
    while (!r && g && strcmp(g->name, name) != 0)
        g = g->next;
    if (!r && !g) r = ask_global(image, name, name_bytes, &g);
    if (r) return r;
    if (addr) *addr = g->addr;
    if (bytes) *bytes = g->bytes;
    return CUDA_SUCCESS;
}

static const struct image_global *global_at(uint64_t addr) {
    for (uint32_t i = 0; i < image_limit; i++) {
        if (!nth(i)->used) continue;
        for (const struct image_global *g = nth(i)->globals; g; g = g->next) {
            if (addr - g->addr < g->bytes) return g;
        }
    }
    return NULL;
}

bool image_global_at(uint64_t addr, uint64_t *base, uint64_t *bytes) {
    bool ours = conn_in_device(&state.conn, addr) || conn_in_host(&state.conn, addr);
    if (!ours && !stray_has(addr, 1)) return false;
    lock_enter(&image_lock);
    const struct image_global *g = global_at(addr);
    if (g) {
        *base = g->addr;
        *bytes = g->bytes;
    }
    lock_leave(&image_lock);
    return g != NULL;
}
