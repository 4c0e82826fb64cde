/* SPDX-License-Identifier: Apache-2.0
 *
 * The user's own settings stay, except those that lead to another libcuda.so.1 or daemon.
 */
#include "daemon/ctl/environment/environment.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fdutil.h"
#include "daemon/ctl/cli/query.h"
#include "daemon/ctl/environment/frameworks.h"
#include "daemon/ctl/environment/last_notice.h"
#include "daemon/ctl/environment/preload.h"
#include "daemon/ctl/files/installation.h"
#include "proto/wire/job.h"
#include "proto/wire/wire.h"

#define LIBRARY "libcuda.so.1"
#define NOTICE_BYTES 1024

/* Inserts `first` before the variable's value. */
static void prepend(const char *variable, const char *first) {
    const char *rest = getenv(variable);
    char *joined;

    if (!rest || !*rest) {
        setenv(variable, first, 1);
    } else if (asprintf(&joined, "%s:%s", first, rest) >= 0) {
        setenv(variable, joined, 1);
        free(joined);
    }
}

static void set_and_free(const char *variable, char *value) {
    if (value) setenv(variable, value, 1);
    free(value);
}

/* Sets ASAN_OPTIONS in any case, because nothing here shows whether the command, or a program that
 * it starts, is linked with AddressSanitizer. */
static void set_preload(const char *library) {
    const char *list = getenv("LD_PRELOAD");

    set_and_free("ASAN_OPTIONS", preload_asan_options(getenv("ASAN_OPTIONS"), list));
    if (!preload_has(list, library)) set_and_free("LD_PRELOAD", preload_add(list, library));
}

static int set_library(struct cli *c) {
    char dir[PATH_MAX], library[PATH_MAX + sizeof(LIBRARY) + 1];

    if (installation_library(dir, sizeof(dir)) < 0)
        return cli_fail(
            c, CLI_FAILED,
            "no " LIBRARY
            " of Salus in %s; build it with 'make', or set SALUS_LIB_DIR to its directory",
            dir);
    if (strpbrk(dir, ": "))
        return cli_fail(c, CLI_FAILED,
                        "the library's path %s contains a colon or a blank, which the dynamic "
                        "linker does not accept; move it, or set SALUS_LIB_DIR",
                        dir);
    snprintf(library, sizeof(library), "%s/" LIBRARY, dir);
    prepend("LD_LIBRARY_PATH", dir);
    set_preload(library);
    /* The library also receives NVTX marks, which show where iterations begin. */
    setenv("NVTX_INJECTION64_PATH", library, 0);
    return CLI_OK;
}

/* Drops CUDA_VISIBLE_DEVICES when the user has named a GPU: CUDA would apply the list to the single
 * GPU that the command then sees. */
static void drop_list(void) {
    const char *gpu = getenv(JOB_GPU_VARIABLE);

    if (gpu && *gpu) unsetenv("CUDA_VISIBLE_DEVICES");
}

static void set_job(const struct cli *c, const struct environment *e) {
    char absolute[PATH_MAX], run[16];

    /* an absolute path, since the command may change its directory */
    setenv("SALUS_RUN_DIR", realpath(c->run_dir, absolute) ? absolute : c->run_dir, 1);
    snprintf(run, sizeof(run), "%u", e->run);
    setenv(JOB_RUN_VARIABLE, run, 1);
    for (int i = 0; i < e->value_count; i++)
        if (e->values[i].value) setenv(e->values[i].variable, e->values[i].value, 1);
    if (e->strict) setenv(JOB_STRICT_VARIABLE, "1", 1);
    drop_list();
}

bool environment_asks_null(const struct environment *e) {
    char why[JOB_WHY_BYTES];
    struct wire_job job;

    job_from_environment(&job, why); /* the library will do the same */
    for (int i = 0; i < e->value_count; i++)
        if (e->values[i].value) job_set(&job, e->values[i].variable, e->values[i].value, why);
    return job.flags & WIRE_JOB_NULL;
}

/* The device is the software GPU, which alone needs a library capability: machine code is useless
 * there, so that NVIDIA's libraries are told a capability for which they have none. */
static bool is_software(const struct wire_view *v, int bytes) {
    return bytes >= (int)offsetof(struct wire_view, processes) && v->magic == WIRE_QUESTION_MAGIC &&
           v->major == WIRE_MAJOR && v->device.library_capability;
}

/* Asks on the job socket, which is open to users who may not use the control socket. */
static bool ask_as_job(const struct cli *c) {
    static struct wire_view v;
    struct wire_question q = {
        .magic = WIRE_QUESTION_MAGIC, .major = WIRE_MAJOR, .minor = WIRE_MINOR};
    char path[sizeof(c->run_dir) + sizeof("/job.sock")];
    int fd, n;

    snprintf(path, sizeof(path), "%s/job.sock", c->run_dir);
    fd = query_connect(path, c->timeout_ms);
    if (fd < 0) return false;
    n = fdutil_send(fd, &q, sizeof(q), NULL, 0);
    if (n == 0) n = fdutil_recv(fd, &v, sizeof(v), NULL, NULL);
    fdutil_close(&fd);
    return is_software(&v, n);
}

bool environment_on_software_gpu(const struct cli *c) {
    struct query q;
    bool soft = false;

    if (!query_silently(c, CTL_V_gpu_list, &q)) return ask_as_job(c);
    for (size_t i = 0; i < q.count; i++) {
        const struct ctl_gpu *gpu = query_record(&q, i);
        soft |= strcmp(gpu->device, "soft") == 0;
    }
    query_finish(&q);
    return soft;
}

/* Prints "CUPY_ACCELERATORS, TRITON_PTXAS_PATH" once instead of at every run. */
static void say(struct cli *c, const struct frameworks_setting *settings, int count) {
    char line[NOTICE_BYTES];
    size_t n = 0;

    for (int i = 0; i < count && n < sizeof(line); i++)
        n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s", i ? ", " : "",
                              settings[i].variable);
    if (!last_notice_is_new(line)) return;
    fprintf(c->err,
            "salusctl: run sets %s, which frameworks need on the software GPU; see salusctl(1), or "
            "use --no-frameworks to set none. This message appears once.\n",
            line);
}

static void set_frameworks(struct cli *c, const struct environment *e) {
    static struct frameworks_setting settings[FRAMEWORKS_MAX];
    /* If nothing is computed, machine code is as good as PTX. */
    bool soft = !environment_asks_null(e) && environment_on_software_gpu(c);
    struct frameworks_choice choice = {e->async, soft};
    int count = frameworks_plan(&choice, settings);

    frameworks_apply(settings, count);
    if (count && !e->quiet) say(c, settings, count);
}

int environment_set(struct cli *c, const struct environment *e) {
    int status = set_library(c);

    if (status != CLI_OK) return status;
    set_job(c, e);
    if (!e->no_frameworks) set_frameworks(c, e);
    return CLI_OK;
}
