/* SPDX-License-Identifier: Apache-2.0
 *
 * A preloaded library for devices that run PTX and no machine code. A program that compiles with
 * NVRTC for such a device and asks for the machine code gets the PTX, which the driver loads as
 * well. NVRTC has both at that time. NVRTC itself is found as the next library in the symbol search
 * order; a program that looks the functions up by itself bypasses this library. Any thread.
 */
#include <dlfcn.h>
#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

enum { NVRTC_SUCCESS = 0, NVRTC_ERROR_INTERNAL_ERROR = 11 }; /* values of enum nvrtcResult */

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

/* Code compiled for a virtual architecture has no machine code, and the size stays 0. */
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
