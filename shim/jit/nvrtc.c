/* SPDX-License-Identifier: Apache-2.0
 *
 * A library of its own that is preloaded where the device runs PTX and no machine code: who has
 * compiled with NVRTC for this device and asks for the machine code is given the PTX, which the
 * driver loads as well. NVRTC has both at that time. It is found as the next one in the order of
 * symbols; a program that looks it up by itself does not come by here. Any thread.
 */
#include <dlfcn.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

enum { NVRTC_SUCCESS = 0, NVRTC_ERROR_INTERNAL_ERROR = 11 }; /* of enum nvrtcResult */

typedef int get_size(void *program, size_t *bytes);
typedef int get_code(void *program, char *code);

EXPORT int nvrtcGetCUBINSize(void *program, size_t *bytes);
EXPORT int nvrtcGetCUBIN(void *program, char *code);

static int size_by(const char *name, void *program, size_t *bytes) {
    get_size *next = (get_size *)dlsym(RTLD_NEXT, name);
    return next ? next(program, bytes) : NVRTC_ERROR_INTERNAL_ERROR;
}

static int code_by(const char *name, void *program, char *code) {
    get_code *next = (get_code *)dlsym(RTLD_NEXT, name);
    return next ? next(program, code) : NVRTC_ERROR_INTERNAL_ERROR;
}

/* What was compiled for a virtual architecture has no machine code, and is none after all. */
int nvrtcGetCUBINSize(void *program, size_t *bytes) {
    int r = size_by("nvrtcGetCUBINSize", program, bytes);
    return r || !*bytes ? r : size_by("nvrtcGetPTXSize", program, bytes);
}

int nvrtcGetCUBIN(void *program, char *code) {
    size_t bytes = 0;
    int r = size_by("nvrtcGetCUBINSize", program, &bytes);
    if (r) return r;
    return code_by(bytes ? "nvrtcGetPTX" : "nvrtcGetCUBIN", program, code);
}
