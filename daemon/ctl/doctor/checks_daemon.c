/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of the daemon as programs and its user see it.
 */
#include "daemon/ctl/doctor/checks_daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "common/text/units.h"
#include "daemon/ctl/cli/advice.h"
#include "daemon/ctl/cli/query.h"
#include "daemon/ctl/files/installation.h"
#include "daemon/ctl/run/command.h"
#include "proto/version.h"

static void no_daemon(const struct cli *c, struct findings *f) {
    char path[4096], advice[ADVICE_BYTES];

    advice_start(c, advice);
    if (advice_wants_daemon(c))
        findings_add(f, FINDINGS_ERROR, "daemon", advice,
                     "salusd is configured to serve in %s and does not answer there", c->run_dir);
    else if (installation_daemon(path, sizeof(path)) < 0)
        findings_add(f, FINDINGS_ERROR, "daemon", "install it with 'make install'",
                     "no salusd runs, and 'salusctl run' finds none to start in %.300s", path);
    else
        findings_add(f, FINDINGS_OK, "daemon", NULL,
                     "no salusd runs in %s: 'salusctl run' starts a private one for each command",
                     c->run_dir);
}

static void explain_socket(const struct cli *c, const char *path, int err, struct findings *f) {
    struct stat st;

    if (err == -EACCES || err == -EPERM)
        findings_add(f, FINDINGS_ERROR, "job socket",
                     "see 'ls -ld' of its directory and 'ls -l' of the socket",
                     "you may not connect to %s%s", path,
                     stat(path, &st) < 0 ? ": you may not search its directory" : "");
    else
        findings_add(f, FINDINGS_ERROR, "job socket", advice_log(c), "%s: %s", path,
                     strerror(-err));
}

/* Checks whether programs can connect. */
static bool look_at_job_socket(const struct cli *c, struct findings *f) {
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/job.sock", c->run_dir);
    fd = query_connect(path, c->timeout_ms);
    if (fd >= 0)
        findings_add(f, FINDINGS_OK, "job socket", NULL, "%s accepts connections", path);
    else if (fd == -ENOENT || fd == -ECONNREFUSED)
        no_daemon(c, f);
    else
        explain_socket(c, path, fd, f);
    if (fd < 0) return false;
    fdutil_close(&fd);
    return true;
}

static void look_at_version(const struct cli *c, struct findings *f) {
    const struct ctl_version *v;
    struct query q;

    if (!query_silently(c, CTL_V_version, &q)) {
        findings_add(f, FINDINGS_WARNING, "control",
                     "only members of the socket's group may list jobs and set policies; running "
                     "programs does not need it",
                     "salusctl gets no answer from %s", c->socket);
        return;
    }
    v = q.count ? query_record(&q, 0) : NULL;
    if (v && strcmp(v->version, VERSION_TEXT) == 0)
        findings_add(f, FINDINGS_OK, "version", NULL, "salusd and salusctl have version %s",
                     VERSION_TEXT);
    else if (v)
        findings_add(f, FINDINGS_WARNING, "version",
                     "restart salusd, so that the installed version runs",
                     "salusd has version %s, salusctl has version %s", v->version, VERSION_TEXT);
    query_finish(&q);
}

static void look_at_status(const struct cli *c, struct findings *f) {
    const struct ctl_status *s;
    char todo[128];
    struct query q;

    if (!query_silently(c, CTL_V_status, &q)) return;
    s = q.count ? query_record(&q, 0) : NULL;
    snprintf(todo, sizeof(todo), "%s; 'salusctl gpu retry 0' restarts the worker of GPU 0",
             advice_log(c));
    if (s && strcmp(s->state, "ok") == 0)
        findings_add(f, FINDINGS_OK, "worker", NULL, "all GPUs can serve jobs");
    else if (s)
        findings_add(f, strcmp(s->state, "failed") == 0 ? FINDINGS_ERROR : FINDINGS_WARNING,
                     "worker", todo, "no GPU can serve a job now: %s", s->trouble);
    query_finish(&q);
}

static void look_at_gpu(const struct ctl_gpu *g, struct findings *f) {
    bool soft = strcmp(g->device, "soft") == 0;
    char memory[32];

    if (strcmp(g->state, "ready") != 0) {
        findings_add(f, FINDINGS_WARNING, "device", "see the line about the worker",
                     "GPU %" PRIu64 " has no worker that serves jobs (%s)", g->id, g->state);
        return;
    }
    units_print_bytes(g->memory_bytes, memory, sizeof(memory));
    findings_add(f, FINDINGS_OK, "device", NULL, "%s, capability %s, %s%s", g->name, g->compute,
                 memory, soft ? ": runs PTX, no machine code" : "");
}

static bool look_at_gpus(const struct cli *c, struct findings *f) {
    bool soft = false;
    struct query q;

    if (!query_silently(c, CTL_V_gpu_list, &q)) return false;
    for (size_t i = 0; i < q.count; i++) {
        const struct ctl_gpu *g = query_record(&q, i);

        look_at_gpu(g, f);
        soft |= strcmp(g->device, "soft") == 0;
    }
    query_finish(&q);
    return soft;
}

bool checks_daemon(const struct cli *c, struct findings *f) {
    findings_add(f, FINDINGS_OK, "salusctl", NULL, "version %s", VERSION_TEXT);
    if (!look_at_job_socket(c, f)) return !advice_wants_daemon(c);
    look_at_version(c, f);
    look_at_status(c, f);
    return look_at_gpus(c, f);
}
