/* SPDX-License-Identifier: Apache-2.0
 *
 * Options and error messages.
 */
#include "daemon/ctl/cli/cli.h"

#include <math.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "common/standard_output.h"
#include "common/text/args.h"
#include "common/text/units.h"
#include "daemon/ctl/cli/usage.h"

#define DEFAULT_TIMEOUT_MS 5000

int cli_fail(struct cli *c, int status, const char *fmt, ...) {
    va_list ap;

    fputs("salusctl: ", c->err);
    va_start(ap, fmt);
    vfprintf(c->err, fmt, ap);
    va_end(ap);
    fputc('\n', c->err);
    return status;
}

int cli_flush(struct cli *c) {
    return standard_output_flush(c->out, c->err, "salusctl") ? CLI_OK : CLI_FAILED;
}

bool cli_is_help(const struct args *a) {
    return args_is(a, "--help") || args_is(a, "-h");
}

/* ---- options --------------------------------------------------------------------------------- */

static int take_path(struct cli *c, const char *option, const char *value, char *out, size_t cap) {
    if (!*value || strlen(value) >= cap)
        return cli_fail(c, CLI_USAGE, "%s: the path must have 1 to %zu bytes", option, cap - 1);
    snprintf(out, cap, "%s", value);
    return CLI_OK;
}

static int set_run_dir(struct cli *c, const char *option, const char *dir) {
    int status =
        take_path(c, option, dir, c->run_dir, sizeof(c->run_dir) - sizeof("/job.sock") + 1);

    if (status == CLI_OK) snprintf(c->socket, sizeof(c->socket), "%.98s/ctl.sock", c->run_dir);
    return status;
}

/* Sets the run directory to the directory of the control socket. */
static int set_socket(struct cli *c, const char *path) {
    const char *slash = strrchr(path, '/');
    int status = take_path(c, "--socket", path, c->socket, sizeof(c->socket));

    if (!slash)
        strcpy(c->run_dir, ".");
    else
        snprintf(c->run_dir, sizeof(c->run_dir), "%.*s", slash > path ? (int)(slash - path) : 1,
                 path);
    return status;
}

static int take_seconds(struct cli *c, const char *option, const char *value, uint64_t *ms) {
    char *end;
    double s = strtod(value, &end);

    if (end == value || *end || !isfinite(s) || s < 0.001 || s > 1e6)
        return cli_fail(c, CLI_USAGE,
                        "%s: '%s' is not a number of seconds from 0.001 to 1000000, such as 2.5",
                        option, value);
    *ms = (uint64_t)(s * 1000);
    return CLI_OK;
}

static int set_value(struct cli *c, const char *option, const char *value) {
    if (strcmp(option, "--timeout") == 0) return take_seconds(c, option, value, &c->timeout_ms);
    if (strcmp(option, "--watch") == 0 || strcmp(option, "-w") == 0)
        return take_seconds(c, option, value, &c->watch_ms);
    c->configured = true;
    if (strcmp(option, "--socket") == 0) return set_socket(c, value);
    return set_run_dir(c, option, value);
}

static bool has_value(const char *option) {
    static const char *const names[] = {"--socket", "--run-dir", "--timeout", "--watch", "-w"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(option, names[i]) == 0) return true;
    return false;
}

int cli_init(struct cli *c, FILE *out, FILE *err) {
    const char *dir = getenv("SALUS_RUN_DIR");

    *c = (struct cli){.out = out, .err = err, .timeout_ms = DEFAULT_TIMEOUT_MS};
    if (!dir || !*dir) return set_run_dir(c, "run directory", CLI_RUN_DIR);
    c->configured = true;
    return set_run_dir(c, "SALUS_RUN_DIR", dir);
}

/* Takes an option of the verb with this usage line. */
static int take_given(struct cli *c, const char *usage, struct args *a) {
    struct cli_given *g = &c->given[c->given_count];
    bool value;

    if (!usage || !usage_option(usage, a->name, &value))
        return cli_fail(c, CLI_USAGE, "unknown option %s; see 'salusctl --help'", args_whole(a));
    if (c->given_count == CLI_OPTIONS_MAX)
        return cli_fail(c, CLI_USAGE, "%s: at most %d options can be given", a->name,
                        CLI_OPTIONS_MAX);
    if (!value && a->value)
        return cli_fail(c, CLI_USAGE, "%s takes no value: write it without '='", a->name);
    *g = (struct cli_given){a->name, value ? args_value(a) : ""};
    if (!g->value) return cli_fail(c, CLI_USAGE, "%s needs a value", a->name);
    c->given_count++;
    return CLI_OK;
}

const char *cli_option(const struct cli *c, const char *name) {
    for (int i = c->given_count - 1; i >= 0; i--) /* the last one wins */
        if (strcmp(c->given[i].name, name) == 0) return c->given[i].value;
    return NULL;
}

int cli_take_option(struct cli *c, const char *usage, struct args *a) {
    if (has_value(a->name)) {
        const char *value = args_value(a);

        if (!value) return cli_fail(c, CLI_USAGE, "%s needs a value", a->name);
        return set_value(c, a->name, value);
    }
    if (args_is(a, "--json"))
        c->format = CLI_JSON;
    else if (args_is(a, "--plain"))
        c->format = CLI_PLAIN;
    else if (args_is(a, "--no-header"))
        c->no_header = true;
    else
        return take_given(c, usage, a);
    return CLI_OK;
}

/* ---- arguments of several verbs ------------------------------------------------------------- */

int cli_take_time(struct cli *c, const char *what, const char *text, uint64_t *ns) {
    if (units_parse(UNITS_TIME, text, ns) == 0) return CLI_OK;
    return cli_fail(c, CLI_USAGE,
                    "%s: '%s' is not a time; give a number and a unit, such as 30s or 5min", what,
                    text);
}

int cli_take_id(struct cli *c, const char *what, const char *text, uint64_t *out) {
    if (units_parse(UNITS_NONE, text, out) == 0 && *out <= INT64_MAX) return CLI_OK;
    return cli_fail(c, CLI_USAGE, "%s '%s' is not a number; see 'salusctl %s list'", what, text,
                    what);
}

int cli_take_user(struct cli *c, const char *what, const char *text, uint64_t *uid) {
    const struct passwd *p = getpwnam(text);

    if (p) {
        *uid = p->pw_uid;
        return CLI_OK;
    }
    if (units_parse(UNITS_NONE, text, uid) == 0 && *uid < UINT32_MAX) return CLI_OK;
    return cli_fail(c, CLI_USAGE, "%s: no user has the name or number '%s'; see 'getent passwd'",
                    what, text);
}
