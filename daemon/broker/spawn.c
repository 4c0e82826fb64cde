/* SPDX-License-Identifier: Apache-2.0
 *
 * Starting salus-gpu: where it is, and the configuration as its command line.
 */
#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "daemon/broker/broker.h"

#define WORKER_FD "3"
#define NUMBER_BYTES 24

/* Beside our own binary (a build tree), else where `make install` puts it. */
static int find_worker(const struct config *config, char *out, size_t cap) {
    static const char *const places[] = {"salus-gpu", "../libexec/salus/salus-gpu"};
    char self[PATH_MAX];
    ssize_t n;

    if (*config->worker) {
        snprintf(out, cap, "%s", config->worker);
        return access(out, X_OK) < 0 ? -errno : 0;
    }
    n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (n < 0) return -errno;
    self[n] = '\0';
    dirname(self);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (snprintf(out, cap, "%s/%s", self, places[i]) >= (int)cap) return -ENAMETOOLONG;
        if (access(out, X_OK) == 0) return 0;
    }
    return -ENOENT;
}

int spawn_worker(struct server *s, int fd, uv_exit_cb on_exit) {
    const struct config *c = &s->config;
    char path[PATH_MAX + 32], memory[NUMBER_BYTES], sms[NUMBER_BYTES], threads[NUMBER_BYTES];
    char timeout[NUMBER_BYTES], cap[NUMBER_BYTES];
    char *args[] = {
        path,    "--broker-fd",    WORKER_FD, "--device",  (char *)c->device, "--device-memory",
        memory,  "--sm-count",     sms,       "--threads", threads,           "--kernel-timeout-ns",
        timeout, "--inflight-cap", cap,       NULL};
    uv_stdio_container_t stdio[] = {{.flags = UV_IGNORE},
                                    {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
                                    {.flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO},
                                    {.flags = UV_INHERIT_FD, .data.fd = fd}};
    uv_process_options_t options = {.file = path,
                                    .args = args,
                                    .exit_cb = on_exit,
                                    .cwd = "/",
                                    .stdio = stdio,
                                    .stdio_count = sizeof(stdio) / sizeof(stdio[0])};
    int rc = find_worker(c, path, sizeof(path));

    if (rc < 0) return rc;
    snprintf(memory, sizeof(memory), "%" PRIu64, c->device_memory);
    snprintf(sms, sizeof(sms), "%" PRIu64, c->sm_count);
    snprintf(threads, sizeof(threads), "%" PRIu64, c->device_threads);
    snprintf(timeout, sizeof(timeout), "%" PRIu64, c->kernel_timeout);
    snprintf(cap, sizeof(cap), "%" PRIu64, c->inflight_cap);
    s->supervise.process.data = s;
    s->supervise.process_open = true; /* even a failed start leaves a handle to close */
    return uv_spawn(&s->loop, &s->supervise.process, &options); /* libuv's errors are -errno */
}
