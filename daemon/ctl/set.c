/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs that change the policy, a job or a GPU's worker.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "common/units.h"
#include "daemon/ctl/cli.h"
#include "daemon/ctl/query.h"
#include "daemon/ctl/render.h"

#define WAIT_MS 200

/* ---- key=value ------------------------------------------------------------------------------- */

/* How a key is written; what it may be is the daemon's to say. */
enum style { COUNT, SIGNED, TIME, PART, SWITCH, AUTO };

struct key {
    const char *name;
    enum ctl_arg arg;
    enum style style;
};

static const struct key job_keys[] = {
    {"weight", CTL_A_weight, COUNT},         {"priority", CTL_A_priority, SIGNED},
    {"iterations", CTL_A_iterations, COUNT}, {"duration", CTL_A_duration_ns, TIME},
    {"request", CTL_A_request_ns, TIME},     {0}};
static const struct key policy_keys[] = {
#define X(field, style, argument, shown, key, option, sentence) {#key, CTL_A_##field, style},
    CHOICE_NUMBERS(X)
#undef X
        {0}};

static bool parse(enum style style, const char *text, int64_t *out) {
    bool negative = style == SIGNED && *text == '-';
    uint64_t n;

    if (style == SWITCH || style == AUTO) {
        *out = strcmp(text, "yes") == 0 ? 1 : strcmp(text, "no") == 0 ? 0 : -1;
        return *out >= 0 || (style == AUTO && strcmp(text, "auto") == 0);
    }
    enum units units = style == TIME ? UNITS_TIME : style == PART ? UNITS_PART : UNITS_NONE;
    if (units_parse(units, text + negative, &n) < 0 || n > INT64_MAX) return false;
    *out = negative ? -(int64_t)n : (int64_t)n;
    return true;
}

static const char *expected(enum style style) {
    switch (style) {
    case COUNT:
    case SIGNED: return "a whole number";
    case TIME: return "a time such as 30s";
    case PART: return "a percentage such as 2.5%";
    case SWITCH: return "yes or no";
    case AUTO: return "yes, no or auto";
    }
    return "a value";
}

static int take_key(struct cli *c, const struct key *keys, const char *word,
                    struct ctl_request *r) {
    const char *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : 0;
    int64_t value;

    if (!equals) return cli_fail(c, CLI_USAGE, "'%s' is not KEY=VALUE", word);
    for (const struct key *k = keys; k->name; k++) {
        if (strlen(k->name) != n || memcmp(k->name, word, n) != 0) continue;
        if (!parse(k->style, equals + 1, &value))
            return cli_fail(c, CLI_USAGE, "%s: '%s' is not %s", k->name, equals + 1,
                            expected(k->style));
        ctl_msg_put(r, k->arg, value);
        return CLI_OK;
    }
    fprintf(c->err, "salusctl: unknown key '%.*s'; there are", (int)n, word);
    for (const struct key *k = keys; k->name; k++)
        fprintf(c->err, "%s %s", k == keys ? "" : ",", k->name);
    fputc('\n', c->err);
    return CLI_USAGE;
}

/* ---- policy ---------------------------------------------------------------------------------- */

int cli_policy_set(struct cli *c, int argc, char **argv) {
    struct ctl_request r = {.verb = CTL_V_policy_set};
    const char *lane = cli_option(c, "--lane"), *kernel = cli_option(c, "--kernel");
    struct query q;
    int rc = CLI_OK;

    if (lane) ctl_msg_put_text(&r, CTL_A_lane, lane);
    if (kernel) ctl_msg_put_text(&r, CTL_A_kernel, kernel);
    if (cli_option(c, "--dry-run")) ctl_msg_put(&r, CTL_A_dry_run, 1);
    for (int i = 0; i < argc && rc == CLI_OK; i++)
        rc = take_key(c, policy_keys, argv[i], &r);
    if (rc == CLI_OK) rc = query_send(c, &r, false, &q);
    if (rc != CLI_OK) return rc;
    rc = render_one(c, &q, "policy");
    query_finish(&q);
    return rc;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Asks, and says in a line what has become of the job, or shows it as `job show` does. */
static int change_job(struct cli *c, const struct ctl_request *r, const char *what) {
    const struct ctl_job *j;
    struct query q;
    int rc = query_send(c, r, false, &q);

    if (rc != CLI_OK) return rc;
    j = q.count ? query_record(&q, 0) : NULL;
    if (c->format == CLI_TABLE && j)
        fprintf(c->out, "job %" PRIu64 " (%s) %s: %s, weight %" PRIu64 ", priority %" PRId64 "\n",
                j->id, j->name, what, j->state, j->weight, j->priority);
    else
        rc = render_one(c, &q, "job");
    query_finish(&q);
    return rc;
}

static int simple(struct cli *c, enum ctl_verb verb, const char *text, const char *what) {
    struct ctl_request r = {.verb = verb};
    uint64_t id;
    int rc = cli_take_id(c, "job", text, &id);

    if (rc != CLI_OK) return rc;
    ctl_msg_put(&r, CTL_A_id, (int64_t)id);
    return change_job(c, &r, what);
}

int cli_job_set(struct cli *c, int argc, char **argv) {
    struct ctl_request r = {.verb = CTL_V_job_set};
    uint64_t id;
    int rc = cli_take_id(c, "job", argv[0], &id);

    if (rc == CLI_OK) ctl_msg_put(&r, CTL_A_id, (int64_t)id);
    for (int i = 1; i < argc && rc == CLI_OK; i++)
        rc = take_key(c, job_keys, argv[i], &r);
    return rc == CLI_OK ? change_job(c, &r, "changed") : rc;
}

int cli_job_pause(struct cli *c, int argc, char **argv) {
    return simple(c, CTL_V_job_pause, argv[0], "paused");
}

int cli_job_resume(struct cli *c, int argc, char **argv) {
    return simple(c, CTL_V_job_resume, argv[0], "resumed");
}

/* ---- kill ------------------------------------------------------------------------------------ */

/* 0 when there is no such signal. */
static int signal_number(const char *text) {
    uint64_t n;

    if (units_parse(UNITS_NONE, text, &n) == 0) return n < (uint64_t)NSIG ? (int)n : 0;
    if (strncmp(text, "SIG", 3) == 0) text += 3;
    for (int i = 1; i < NSIG; i++)
        if (sigabbrev_np(i) && strcmp(sigabbrev_np(i), text) == 0) return i;
    return 0;
}

/* The job's process, while it is surely that one: the daemon says that the job is there after we
 * have got hold of the process. -1 after a diagnostic. */
static int hold_process(struct cli *c, uint64_t id) {
    struct query q;
    int fd = -1;

    if (query_ask(c, CTL_V_job_show, id, false, &q) != CLI_OK) return -1;
    if (q.count)
        fd = (int)syscall(SYS_pidfd_open, ((const struct ctl_job *)query_record(&q, 0))->pid, 0);
    query_finish(&q);
    if (fd < 0) cli_fail(c, CLI_FAILED, "job %" PRIu64 ": its process: %s", id, strerror(errno));
    return fd;
}

/* The daemon takes the GPU away; the signal is ours, so that the kernel says whether we may. */
int cli_job_kill(struct cli *c, int argc, char **argv) {
    const char *name = cli_option(c, "--signal");
    int number = name ? signal_number(name) : 0, fd = -1, rc;
    uint64_t id;

    if (name && number == 0) return cli_fail(c, CLI_USAGE, "--signal: '%s' is no signal", name);
    rc = cli_take_id(c, "job", argv[0], &id);
    if (rc != CLI_OK) return rc;
    if (name && (fd = hold_process(c, id)) < 0) return CLI_FAILED;
    rc = simple(c, CTL_V_job_kill, argv[0], "ended");
    if (rc == CLI_OK && fd >= 0 && syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) < 0 &&
        errno != ESRCH)
        rc = cli_fail(c, errno == EPERM ? CLI_NOT_PERMITTED : CLI_FAILED,
                      "job %" PRIu64 ": SIG%s: %s", id, sigabbrev_np(number), strerror(errno));
    fdutil_close(&fd);
    return rc;
}

/* ---- wait ------------------------------------------------------------------------------------ */

/* The list, not the job: that a job is gone is no error here. */
static int is_there(struct cli *c, uint64_t id, bool *found) {
    struct query q;
    int rc = query_ask(c, CTL_V_job_list, 0, false, &q);

    *found = false;
    if (rc != CLI_OK) return rc;
    for (size_t i = 0; i < q.count && !*found; i++)
        *found = ((const struct ctl_job *)query_record(&q, i))->id == id;
    query_finish(&q);
    return CLI_OK;
}

int cli_job_wait(struct cli *c, int argc, char **argv) {
    struct query q;
    bool found = true;
    uint64_t id;
    int rc = cli_take_id(c, "job", argv[0], &id);

    if (rc == CLI_OK) rc = query_ask(c, CTL_V_job_show, id, false, &q);
    if (rc != CLI_OK) return rc;
    query_finish(&q);
    while (rc == CLI_OK && found) {
        cli_sleep_ms(WAIT_MS);
        rc = is_there(c, id, &found);
    }
    return rc;
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

int cli_gpu_retry(struct cli *c, int argc, char **argv) {
    struct ctl_request r = {.verb = CTL_V_gpu_retry};
    const struct ctl_gpu *g;
    struct query q;
    uint64_t id;
    int rc = cli_take_id(c, "gpu", argv[0], &id);

    if (rc == CLI_OK) ctl_msg_put(&r, CTL_A_id, (int64_t)id);
    if (rc == CLI_OK) rc = query_send(c, &r, false, &q);
    if (rc != CLI_OK) return rc;
    g = q.count ? query_record(&q, 0) : NULL;
    if (c->format == CLI_TABLE && g)
        fprintf(c->out, "gpu %" PRIu64 " is %s\n", g->id,
                strcmp(g->state, "down") == 0 ? "being started" : g->state);
    else
        rc = render_one(c, &q, "gpu");
    query_finish(&q);
    return rc;
}
