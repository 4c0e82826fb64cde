/* SPDX-License-Identifier: Apache-2.0
 *
 * `salusctl doctor`: checks the installation, or runs a program and lists its refused calls.
 */
#include "daemon/ctl/doctor/doctor.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "common/text/args.h"
#include "daemon/ctl/cli/render.h"
#include "daemon/ctl/doctor/checks_daemon.h"
#include "daemon/ctl/doctor/checks_frameworks.h"
#include "daemon/ctl/doctor/checks_library.h"
#include "daemon/ctl/doctor/checks_python.h"
#include "daemon/ctl/doctor/checks_system.h"
#include "daemon/ctl/doctor/findings.h"
#include "daemon/ctl/doctor/refused.h"
#include "daemon/ctl/files/temporary.h"
#include "daemon/ctl/run/command.h"
#include "proto/wire/job.h"

/* ---- the installation ------------------------------------------------------------------------ */

static int examine(struct cli *c) {
    static struct findings f;

    f = (struct findings){0};
    bool soft = checks_daemon(c, &f);
    checks_library(&f);
    checks_system(&f);
    if (soft) checks_python(&f);
    checks_frameworks(&f, soft);
    return findings_show(c, &f, NULL);
}

/* ---- a program ------------------------------------------------------------------------------- */

static const char *const what[REFUSED_KINDS] = {"kernel", "module", "call", "symbol"};

static void report_one(const struct refused *r, struct findings *f) {
    bool known = strcmp(r->library, "-") != 0;
    char todo[REFUSED_TODO_BYTES];

    refused_advise(r, todo);
    findings_add(f, FINDINGS_ERROR, what[r->kind], todo, "%s, %" PRIu64 " time%s%s%s%s%s", r->name,
                 r->times, r->times == 1 ? "" : "s", known ? ", by " : "", known ? r->library : "",
                 *r->reason ? ": " : "", r->reason);
}

/* Runtimes look up entry points of every driver version. Only those that are called matter, and
 * these are reported as calls. */
static void report_symbols(const struct refused_list *l, struct findings *f) {
    int names = 0;

    for (int i = 0; i < l->count; i++)
        names += l->items[i].kind == REFUSED_SYMBOL;
    if (names)
        findings_add(f, FINDINGS_OK, "symbol", NULL,
                     "the program looked up %d entry points that Salus does not have, mostly of "
                     "newer drivers or of graphics; --json lists them",
                     names);
}

static void report_program(const struct refused_list *l, int status, struct findings *f) {
    if (status >= CLI_BY_SIGNAL)
        findings_add(f, FINDINGS_WARNING, "program", NULL,
                     "the program was ended by signal %d (SIG%s)", status - CLI_BY_SIGNAL,
                     sigabbrev_np(status - CLI_BY_SIGNAL));
    else
        findings_add(f, status ? FINDINGS_WARNING : FINDINGS_OK, "program", NULL,
                     "the program ended with exit status %d", status);
    if (l->started == 0)
        findings_add(f, FINDINGS_WARNING, "program",
                     "check whether it is linked statically or setuid, or whether its framework "
                     "found no GPU",
                     "the program did not use the GPU, so that doctor saw no call");
    else if (l->times[REFUSED_KERNEL] + l->times[REFUSED_MODULE] + l->times[REFUSED_CALL] == 0)
        findings_add(f, FINDINGS_OK, "refused", NULL, "Salus refused no kernel, module or call");
}

static void report(const struct refused_list *l, int status, struct findings *f) {
    report_program(l, status, f);
    for (int i = 0; i < l->count; i++)
        if (l->items[i].kind != REFUSED_SYMBOL) report_one(&l->items[i], f);
    report_symbols(l, f);
    if (l->omitted)
        findings_add(f, FINDINGS_WARNING, "refused", NULL,
                     "%" PRIu64 " more refusals are not listed", l->omitted);
}

/* The list of refusals as JSON. */
static cJSON *list_refused(const struct refused_list *l) {
    cJSON *root = render_root(), *list = cJSON_AddArrayToObject(root, "refused");
    char todo[REFUSED_TODO_BYTES];

    for (int i = 0; i < l->count; i++) {
        const struct refused *r = &l->items[i];
        cJSON *o = cJSON_CreateObject();

        refused_advise(r, todo);
        cJSON_AddStringToObject(o, "kind", what[r->kind]);
        cJSON_AddStringToObject(o, "name", r->name);
        cJSON_AddNumberToObject(o, "times", (double)r->times);
        cJSON_AddStringToObject(o, "library", r->library);
        cJSON_AddStringToObject(o, "error", r->error);
        cJSON_AddStringToObject(o, "reason", r->reason);
        cJSON_AddStringToObject(o, "do", todo);
        cJSON_AddItemToArray(list, o);
    }
    return root;
}

/* Runs the program with the file of refusals. Returns its exit status. Redirects its output to
 * standard error unless the format is a table, so that JSON stays valid. */
static int run_recorded(struct cli *c, struct command *o, const char *path) {
    struct environment_value value = {JOB_REFUSALS_VARIABLE, path};

    o->environment.values = &value;
    o->environment.value_count = 1;
    o->output_to_error = c->format != CLI_TABLE;
    return command_run(c, o);
}

static int make_file(struct cli *c, char path[PATH_MAX]) {
    char why[TEMPORARY_WHY_BYTES];
    int fd = temporary_open("salus-refusals", path, why);

    if (fd < 0) return cli_fail(c, CLI_FAILED, "%s", why);
    close(fd);
    return CLI_OK;
}

/* Returns the program's exit status, or 1 if it succeeded although a call was refused. */
static int follow(struct cli *c, struct command *o) {
    static struct refused_list l;
    static struct findings f;
    char path[PATH_MAX];
    int status = make_file(c, path), shown, err;

    if (status != CLI_OK) return status;
    f = (struct findings){0};
    l = (struct refused_list){0};
    status = run_recorded(c, o, path);
    err = refused_read(&l, path);
    unlink(path);
    if (err < 0) return cli_fail(c, CLI_FAILED, "%s: %s", path, strerror(-err));
    refused_sort(&l);
    report(&l, status, &f);
    shown = findings_show(c, &f, c->format == CLI_JSON ? list_refused(&l) : NULL);
    return status ? status : shown;
}

int doctor_run(struct cli *c, int argc, char **argv) {
    struct command o = {.private = cli_option(c, "--private") != NULL};

    o.argv = argv;
    return argc ? follow(c, &o) : examine(c);
}
