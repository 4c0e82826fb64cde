/* SPDX-License-Identifier: Apache-2.0
 *
 * The sandbox's result is untrusted: its numbers are only printed, and its verdict is validated.
 */
#include "daemon/sim/verbs/simreplay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "daemon/sched/record/replay.h"
#include "daemon/sim/verbs/sandbox.h"
#include "daemon/sim/verbs/simcli_exit.h"

#define SIMREPLAY_MEMORY_BYTES (1ull << 30)
#define SIMREPLAY_CPU_S 600u

struct outcome {
    struct replay r;
    int how; /* enum replay_how */
};

struct simreplay_said {
    const char *path;
    FILE *out, *err;
};

__attribute__((format(printf, 3, 4))) static int fail(const struct simreplay_said *s, int status,
                                                      const char *fmt, ...) {
    va_list ap;
    fprintf(s->err, "salus-sim: %s", s->path);
    va_start(ap, fmt);
    vfprintf(s->err, fmt, ap);
    va_end(ap);
    fputc('\n', s->err);
    return status;
}

static void work(FILE *in, FILE *out, void *result) {
    struct outcome *o = result;
    o->how = replay_run(&o->r, in, out);
}

static int say(const struct simreplay_said *s, struct outcome *o) {
    struct replay *r = &o->r;
    sandbox_text(r->why, sizeof(r->why));
    switch (o->how) {
    case REPLAY_SAME: break;
    case REPLAY_DIFFERS: return fail(s, SIMCLI_BROKEN, ": the replay differs");
    case REPLAY_DAMAGED: return fail(s, SIMCLI_WORKLOAD, ":%" PRIu64 ": %s", r->line, r->why);
    case REPLAY_BUILD: return fail(s, SIMCLI_WORKLOAD, ": %s", r->why);
    case REPLAY_FAILED: return fail(s, SIMCLI_FAILED, ": %s", r->why);
    default:
        return fail(s, SIMCLI_WORKLOAD,
                    ": its reader ended without a verdict: the file is hostile");
    }
    fprintf(s->out,
            "%s: %" PRIu64 " steps, %" PRIu64 " events, %" PRIu64 " actions, all the same%s\n",
            s->path, r->steps, r->events, r->actions, r->within ? "; it ends within a step" : "");
    return SIMCLI_OK;
}

static int run_apart(const struct simreplay_said *s, struct outcome *o, int in) {
    const struct sandbox box = {.work = work,
                                .result = o,
                                .result_bytes = sizeof(*o),
                                .memory_bytes = SIMREPLAY_MEMORY_BYTES,
                                .cpu_s = SIMREPLAY_CPU_S};
    int detail;
    switch (sandbox_run(&box, in, s->out, &detail)) {
    case SANDBOX_DONE: break;
    case SANDBOX_NONE:
        return fail(s, SIMCLI_FAILED,
                    ": not replayed: this system allows no sandbox (%s). With --trust the file is "
                    "read without one; its author could then run code",
                    strerror(detail));
    case SANDBOX_FORBIDDEN:
        return fail(s, SIMCLI_WORKLOAD,
                    ": its reader was killed at a system call that reading does not need: the "
                    "checkpoint is damaged or hostile");
    case SANDBOX_CRASHED:
        return fail(s, SIMCLI_WORKLOAD,
                    ": its reader crashed in the sandbox (%s): the checkpoint is damaged or "
                    "hostile; --trust allows a debugger",
                    strsignal(detail));
    case SANDBOX_SLOW:
        return fail(s, SIMCLI_WORKLOAD,
                    ": reading took more than %u s of processor time; --trust sets no limit",
                    SIMREPLAY_CPU_S);
    }
    return say(s, o);
}

int simreplay_run(const struct simreplay *what, FILE *out, FILE *err) {
    const struct simreplay_said s = {.path = what->path, .out = out, .err = err};
    struct outcome o = {.r.any_build = what->any_build, .how = -1};
    FILE *f = strcmp(what->path, "-") == 0 ? stdin : fopen(what->path, "re");
    int status;
    if (!f) return fail(&s, SIMCLI_FAILED, ": %s", strerror(errno));
    if (what->trust) {
        work(f, out, &o);
        status = say(&s, &o);
    } else {
        status = run_apart(&s, &o, fileno(f));
    }
    if (f != stdin) fclose(f);
    return status;
}
