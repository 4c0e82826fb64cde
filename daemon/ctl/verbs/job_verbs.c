/* SPDX-License-Identifier: Apache-2.0
 *
 * The daemon makes changes; signals are sent from here.
 */
#include "daemon/ctl/verbs/job_verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "common/text/units.h"
#include "daemon/ctl/cli/ask.h"
#include "daemon/ctl/cli/interrupt.h"
#include "daemon/ctl/cli/query.h"
#include "daemon/ctl/cli/render.h"

#define WAIT_MS 200

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Sends the request, and prints a line about the job, or shows it as `job show` does. */
static int change_job(struct cli *c, const struct ctl_request *r, const char *what) {
    const struct ctl_job *j;
    struct query q;
    int status = query_send(c, r, false, &q);

    if (status != CLI_OK) return status;
    j = q.count ? query_record(&q, 0) : NULL;
    if (c->format == CLI_TABLE && j)
        fprintf(c->out, "job %" PRIu64 " (%s) %s: %s, weight %" PRIu64 ", priority %" PRId64 "\n",
                j->id, j->name, what, j->state, j->weight, j->priority);
    else
        status = render_one(c, &q, "job");
    query_finish(&q);
    return status;
}

static int change(struct cli *c, enum ctl_verb verb, int argc, char **argv, const char *what) {
    struct ctl_request r;
    int status = ask_build(c, verb, argc, argv, &r);

    return status == CLI_OK ? change_job(c, &r, what) : status;
}

int job_verbs_set(struct cli *c, int argc, char **argv) {
    return change(c, CTL_V_job_set, argc, argv, "changed");
}

int job_verbs_pause(struct cli *c, int argc, char **argv) {
    return change(c, CTL_V_job_pause, argc, argv, "paused");
}

int job_verbs_resume(struct cli *c, int argc, char **argv) {
    return change(c, CTL_V_job_resume, argc, argv, "resumed");
}

/* ---- kill ------------------------------------------------------------------------------------ */

/* Returns 0 when there is no such signal. */
static int signal_number(const char *text) {
    uint64_t n;

    if (units_parse(UNITS_NONE, text, &n) == 0) return n < (uint64_t)NSIG ? (int)n : 0;
    if (strncmp(text, "SIG", 3) == 0) text += 3;
    for (int i = 1; i < NSIG; i++)
        if (sigabbrev_np(i) && strcmp(sigabbrev_np(i), text) == 0) return i;
    return 0;
}

/* Returns a pidfd of the job's process, or -1 after a diagnostic. It surely refers to the job's
 * process: the daemon confirms that the job exists after the pidfd was opened. */
static int hold_process(struct cli *c, uint64_t id) {
    struct query q;
    int fd = -1;

    if (query_ask(c, CTL_V_job_show, id, false, &q) != CLI_OK) return -1;
    if (q.count)
        fd = (int)syscall(SYS_pidfd_open, ((const struct ctl_job *)query_record(&q, 0))->pid, 0);
    query_finish(&q);
    if (fd < 0)
        cli_fail(c, CLI_FAILED, "job %" PRIu64 ": cannot send a signal to its process: %s", id,
                 strerror(errno));
    return fd;
}

/* The daemon ends the job's use of the GPU. The signal is sent from here, so that the kernel checks
 * the caller's permission. */
int job_verbs_kill(struct cli *c, int argc, char **argv) {
    const char *name = cli_option(c, "--signal");
    int number = name ? signal_number(name) : 0, fd = -1, status;
    uint64_t id;

    if (name && number == 0)
        return cli_fail(
            c, CLI_USAGE,
            "--signal: '%s' is not a signal; give a name or a number, such as TERM or 15", name);
    status = cli_take_id(c, "job", argv[0], &id);
    if (status != CLI_OK) return status;
    if (name && (fd = hold_process(c, id)) < 0) return CLI_FAILED;
    status = change(c, CTL_V_job_kill, argc, argv, "ended");
    if (status == CLI_OK && fd >= 0 && syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) < 0 &&
        errno != ESRCH)
        status = cli_fail(c, errno == EPERM ? CLI_NOT_PERMITTED : CLI_FAILED,
                          "job %" PRIu64 ": cannot send SIG%s to its process: %s", id,
                          sigabbrev_np(number), strerror(errno));
    fdutil_close(&fd);
    return status;
}

/* ---- wait ------------------------------------------------------------------------------------ */

/* Searches the list instead of asking for the job: a missing job is no error here. */
static int is_there(struct cli *c, uint64_t id, bool *found) {
    struct query q;
    int status = query_ask(c, CTL_V_job_list, 0, false, &q);

    *found = false;
    if (status != CLI_OK) return status;
    for (size_t i = 0; i < q.count && !*found; i++)
        *found = ((const struct ctl_job *)query_record(&q, i))->id == id;
    query_finish(&q);
    return CLI_OK;
}

/* The job's result. It existed, so it is in the history unless the history has dropped it. */
static int outcome(struct cli *c, uint64_t id) {
    int status = CLI_OK;
    struct query q;

    if (!query_silently(c, CTL_V_history_list, &q)) return CLI_OK;
    for (size_t i = 0; i < q.count; i++) {
        const struct ctl_ended *e = query_record(&q, i);

        if (e->id != id || strcmp(e->how, "refused") != 0) continue;
        status =
            cli_fail(c, CLI_REFUSED, "job %" PRIu64 " (%s) was refused: %s", id, e->name, e->why);
    }
    query_finish(&q);
    return status;
}

int job_verbs_wait(struct cli *c, int argc, char **argv) {
    struct query q;
    bool found = true;
    uint64_t id;
    int status = cli_take_id(c, "job", argv[0], &id);

    if (status == CLI_OK) status = query_ask(c, CTL_V_job_show, id, false, &q);
    if (status != CLI_OK) return status;
    query_finish(&q);
    while (status == CLI_OK && found) {
        interrupt_sleep_ms(WAIT_MS);
        status = is_there(c, id, &found);
    }
    return status == CLI_OK ? outcome(c, id) : status;
}
