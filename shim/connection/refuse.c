/* SPDX-License-Identifier: Apache-2.0
 *
 * Logs refusals, and ends a strict job.
 */
#include "shim/connection/refuse.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/atomics.h"
#include "common/err.h"
#include "common/log.h"
#include "proto/cuda/code_owner.h"
#include "proto/wire/job.h"
#include "shim/connection/logbook.h"
#include "shim/connection/refusals.h"
#include "shim/connection/state.h"

#define REFUSE_REASON_MAX 400 /* bytes shown of a reason, and of a name: a line holds both */

/* Ends the process of a strict job. A library must not end its program unless the user asked for
 * it. It ends at once, because the thread may hold locks that the program's destructors take. */
static void end_if_strict(void) {
    if (!state.strict) return;
    log_error("shim", "what=\"the program ends, because its job is strict (--strict)\" status=%d",
              JOB_STRICT_EXIT);
    _exit(JOB_STRICT_EXIT);
}

static enum log_level first_or_warn(_Atomic uint32_t *said) {
    return atom_exchange(said, 1) ? LOG_WARN : LOG_ERROR;
}

int refuse_is_code(int err) {
    return err == ERR_INVALID_IMAGE || err == ERR_INVALID_PTX || err == ERR_UNSUPPORTED_PTX ||
           err == ERR_NO_BINARY;
}

static bool has_newer_ptx(const char *reason, size_t bytes) {
    static const char words[] = "the PTX is for sm_";
    return memmem(reason, bytes, words, sizeof(words) - 1) != NULL;
}

static const char *remedy(const char *kernel, const void *code, int err, const char *reason,
                          size_t reason_bytes) {
    char file[REFUSALS_FILE_BYTES];
    if (err != ERR_NO_BINARY) return "see REFUSED CODE in salusctl(1)";
    if (has_newer_ptx(reason, reason_bytes))
        return "run the program with a newer device (salusctl run --capability), or compile it for "
               "an older one (nvcc -gencode arch=compute_75,code=compute_75); see COMPUTE "
               "CAPABILITY in salusctl(1)";
    refusals_file(code, file);
    return code_remedy(code_owner(kernel, file));
}

static int shown(size_t bytes) {
    return bytes < REFUSE_REASON_MAX ? (int)bytes : REFUSE_REASON_MAX;
}

void refuse_kernel(const char *name, const void *code, int err, const char *reason,
                   size_t reason_bytes) {
    static _Atomic uint32_t said;
    refusals_note("kernel", name, code, err, reason, reason_bytes);
    logbook_add(CU_LOG_LEVEL_ERROR, "the kernel %.80s was refused: %.*s", name, shown(reason_bytes),
                reason);
    log_write("shim", first_or_warn(&said),
              "what=\"a kernel was refused: its results will be missing\" kernel=%.*s "
              "reason=\"%.*s\" do=\"%s\"",
              REFUSE_REASON_MAX, name, shown(reason_bytes), reason,
              remedy(name, code, err, reason, reason_bytes));
    end_if_strict();
}

void refuse_module(size_t image_bytes, const void *code, int err, const char *reason,
                   size_t reason_bytes) {
    static _Atomic uint32_t said;
    char size[32];
    snprintf(size, sizeof(size), "%zu bytes", image_bytes);
    refusals_note("module", size, code, err, reason, reason_bytes);
    logbook_add(CU_LOG_LEVEL_ERROR, "a module of %s was refused: %.*s", size, shown(reason_bytes),
                reason);
    log_write("shim", first_or_warn(&said),
              "what=\"a module was refused: its kernels cannot run\" bytes=%zu "
              "reason=\"%.*s\" do=\"%s\"",
              image_bytes, shown(reason_bytes), reason,
              remedy("", code, err, reason, reason_bytes));
    end_if_strict();
}

void refuse_memory(size_t bytes, const char *reason, size_t reason_bytes) {
    static _Atomic uint32_t said;
    logbook_add(CU_LOG_LEVEL_ERROR, "%zu bytes of device memory were refused: %.*s", bytes,
                shown(reason_bytes), reason);
    log_write("shim", first_or_warn(&said),
              "what=\"device memory was refused\" bytes=%zu reason=\"%.*s\"", bytes,
              shown(reason_bytes), reason);
}

void refuse_more(enum refuse_thing what, uint64_t most) {
    static const char *const names[] = {
#define X(name, text) text,
        REFUSE_THINGS(X)
#undef X
    };
    static _Atomic uint32_t said[sizeof(names) / sizeof(names[0])];
    log_write("shim", first_or_warn(&said[what]),
              "what=\"a job can have at most %llu %s at a time\" do=\"free those that are no "
              "longer used\"",
              (unsigned long long)most, names[what]);
}

void refuse_addresses(uint64_t bytes, uint64_t window_bytes) {
    static _Atomic uint32_t said;
    log_write("shim", first_or_warn(&said),
              "what=\"%llu MiB of device addresses do not fit into the window of %llu MiB\" "
              "do=\"free those that are no longer used; or raise window_alloc_bytes (twice this "
              "window) in salus.conf\"",
              (unsigned long long)bytes >> 20, (unsigned long long)window_bytes >> 20);
}

void refuse_export(const char *reason, size_t reason_bytes) {
    static _Atomic uint32_t said;
    logbook_add(CU_LOG_LEVEL_ERROR, "a descriptor of device memory was refused: %.*s",
                shown(reason_bytes), reason);
    log_write("shim", first_or_warn(&said),
              "what=\"a descriptor of device memory was refused\" reason=\"%.*s\"",
              shown(reason_bytes), reason);
}

CUresult refuse_registered(const char *reason) {
    static _Atomic uint32_t said;
    refusals_note("call", "cuMemHostGetDevicePointer_v2", NULL, 0, reason, strlen(reason));
    logbook_add(CU_LOG_LEVEL_ERROR, "the device cannot map registered memory: %s", reason);
    log_write("shim", first_or_warn(&said),
              "what=\"the device cannot map registered memory\" reason=\"%s\" do=\"allocate the "
              "memory with cudaHostAlloc, get its device pointer before other threads start, or "
              "allow userfaultfd\"",
              reason);
    end_if_strict();
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult refuse_call(const char *name) {
    static _Atomic uint32_t said;
    bool few = atom_add(&said, 1) < REFUSE_CALLS;
    logbook_add(CU_LOG_LEVEL_ERROR, "%s is not supported", name);
    log_write("shim", few ? LOG_ERROR : LOG_WARN,
              "what=\"the program uses a part of CUDA that is not supported\" call=%s do=\"see "
              "REFUSED CODE in salusctl(1)\"",
              name);
    end_if_strict();
    return CUDA_ERROR_NOT_SUPPORTED;
}

void refuse_slot_name(const unsigned char *uuid, unsigned int slot, char *out) {
    for (int i = 0; i < 16; i++)
        out += sprintf(out, "%02x", uuid[i]);
    sprintf(out, "[%u]", slot);
}
