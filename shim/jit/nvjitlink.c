/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that replace nvJitLink's: a program that links for the software GPU and asks for
 * machine code gets an image of PTX. The original library need not exist; linker.h says when it is
 * used. Programs and NVIDIA's libraries call the names that end in a version, Python's bindings the
 * plain ones.
 */
#include <stdlib.h>
#include <string.h>

#include "shim/code/code_file.h"
#include "shim/jit/linker.h"

#define EXPORT __attribute__((visibility("default")))

/* Each versioned name is an alias of the plain name. */
#define VERSION(function, version) \
    EXPORT __typeof__(function) __##function##_##version __attribute__((alias(#function)));
#define FIVE(f, major, a, b, c, d, e) \
    VERSION(f, major##_##a)           \
    VERSION(f, major##_##b) VERSION(f, major##_##c) VERSION(f, major##_##d) VERSION(f, major##_##e)
#define TEN(f, major) FIVE(f, major, 0, 1, 2, 3, 4) FIVE(f, major, 5, 6, 7, 8, 9)
#define VERSIONS(f) TEN(f, 12) TEN(f, 13)

EXPORT int nvJitLinkCreate(struct linker **handle, uint32_t count, const char *const *options);
EXPORT int nvJitLinkDestroy(struct linker **handle);
EXPORT int nvJitLinkAddData(struct linker *l, int type, const void *data, size_t bytes,
                            const char *name);
EXPORT int nvJitLinkAddFile(struct linker *l, int type, const char *path);
EXPORT int nvJitLinkComplete(struct linker *l);
EXPORT int nvJitLinkGetLinkedCubinSize(struct linker *l, size_t *bytes);
EXPORT int nvJitLinkGetLinkedCubin(struct linker *l, void *cubin);
EXPORT int nvJitLinkGetLinkedPtxSize(struct linker *l, size_t *bytes);
EXPORT int nvJitLinkGetLinkedPtx(struct linker *l, char *text);
EXPORT int nvJitLinkGetErrorLogSize(struct linker *l, size_t *bytes);
EXPORT int nvJitLinkGetErrorLog(struct linker *l, char *text);
EXPORT int nvJitLinkGetInfoLogSize(struct linker *l, size_t *bytes);
EXPORT int nvJitLinkGetInfoLog(struct linker *l, char *text);
EXPORT int nvJitLinkVersion(unsigned *major, unsigned *minor);

VERSIONS(nvJitLinkCreate)
VERSIONS(nvJitLinkDestroy)
VERSIONS(nvJitLinkAddData)
VERSIONS(nvJitLinkAddFile)
VERSIONS(nvJitLinkComplete)
VERSIONS(nvJitLinkGetLinkedCubinSize)
VERSIONS(nvJitLinkGetLinkedCubin)
VERSIONS(nvJitLinkGetLinkedPtxSize)
VERSIONS(nvJitLinkGetLinkedPtx)
VERSIONS(nvJitLinkGetErrorLogSize)
VERSIONS(nvJitLinkGetErrorLog)
VERSIONS(nvJitLinkGetInfoLogSize)
VERSIONS(nvJitLinkGetInfoLog)

int nvJitLinkCreate(struct linker **handle, uint32_t count, const char *const *options) {
    int result;
    if (!handle || (count && !options)) return NVJITLINK_ERROR_NULL_INPUT;
    *handle = linker_create(count, options, &result);
    return result;
}

int nvJitLinkDestroy(struct linker **handle) {
    if (!handle || !*handle) return NVJITLINK_ERROR_NULL_INPUT;
    linker_destroy(*handle);
    *handle = NULL;
    return NVJITLINK_SUCCESS;
}

int nvJitLinkAddData(struct linker *l, int type, const void *data, size_t bytes, const char *name) {
    if (!l || !data) return NVJITLINK_ERROR_NULL_INPUT;
    return linker_add(l, type, data, bytes, name);
}

int nvJitLinkAddFile(struct linker *l, int type, const char *path) {
    size_t bytes;
    CUresult error;
    if (!l || !path) return NVJITLINK_ERROR_NULL_INPUT;
    void *data = code_file_read(path, &bytes, &error);
    if (!data) {
        buf_printf(&l->log, "%s: the file does not exist or cannot be read\n", path);
        return NVJITLINK_ERROR_INVALID_INPUT;
    }
    int result = linker_add(l, type, data, bytes, path);
    free(data);
    return result;
}

int nvJitLinkComplete(struct linker *l) {
    return l ? linker_complete(l) : NVJITLINK_ERROR_NULL_INPUT;
}

/* ---- results --------------------------------------------------------------------------------- */

int nvJitLinkGetLinkedCubinSize(struct linker *l, size_t *bytes) {
    if (!l || !bytes) return NVJITLINK_ERROR_NULL_INPUT;
    return linker_image(l, bytes) ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_INTERNAL;
}

int nvJitLinkGetLinkedCubin(struct linker *l, void *cubin) {
    size_t bytes;
    if (!l || !cubin) return NVJITLINK_ERROR_NULL_INPUT;
    const void *image = linker_image(l, &bytes);
    if (!image) return NVJITLINK_ERROR_INTERNAL;
    memcpy(cubin, image, bytes);
    return NVJITLINK_SUCCESS;
}

/* Returns the original's PTX: without -lto and -ptx there is none. */
int nvJitLinkGetLinkedPtxSize(struct linker *l, size_t *bytes) {
    if (!l || !bytes) return NVJITLINK_ERROR_NULL_INPUT;
    return l->ptx && l->any_lto ? l->original->ptx_size(l->handle, bytes)
                                : NVJITLINK_ERROR_INTERNAL;
}

int nvJitLinkGetLinkedPtx(struct linker *l, char *text) {
    if (!l || !text) return NVJITLINK_ERROR_NULL_INPUT;
    return l->ptx && l->any_lto ? l->original->ptx(l->handle, text) : NVJITLINK_ERROR_INTERNAL;
}

/* ---- logs ------------------------------------------------------------------------------------ */

int nvJitLinkGetErrorLogSize(struct linker *l, size_t *bytes) {
    if (!l || !bytes) return NVJITLINK_ERROR_NULL_INPUT;
    *bytes = l->log.len ? l->log.len + 1 : 0;
    return NVJITLINK_SUCCESS;
}

int nvJitLinkGetErrorLog(struct linker *l, char *text) {
    if (!l || !text) return NVJITLINK_ERROR_NULL_INPUT;
    if (l->log.len) memcpy(text, buf_str(&l->log), l->log.len + 1);
    return NVJITLINK_SUCCESS;
}

int nvJitLinkGetInfoLogSize(struct linker *l, size_t *bytes) {
    if (!l || !bytes) return NVJITLINK_ERROR_NULL_INPUT;
    *bytes = 0;
    return NVJITLINK_SUCCESS;
}

int nvJitLinkGetInfoLog(struct linker *l, char *text) {
    return l && text ? NVJITLINK_SUCCESS : NVJITLINK_ERROR_NULL_INPUT;
}

/* Returns the version of the original library; without one, the newest version whose functions
 * exist here. */
int nvJitLinkVersion(unsigned *major, unsigned *minor) {
    const struct original *original = original_find();
    if (!major || !minor) return NVJITLINK_ERROR_NULL_INPUT;
    if (original) return original->version(major, minor);
    *major = 13;
    *minor = 5;
    return NVJITLINK_SUCCESS;
}
