/* SPDX-License-Identifier: Apache-2.0
 *
 * A command line of salusctl: its options, and what the verbs' handlers share. Data goes to `out`,
 * diagnostics to `err`.
 *
 * Owner: the caller. Threads: one.
 */
#ifndef DAEMON_CTL_CLI_CLI_H
#define DAEMON_CTL_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "proto/control/ctl.h"

/* Exit statuses; those for a refused request are in proto/control/ctl.def. */
enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_NO_DAEMON = 3,
    CLI_NOT_FOUND = 4,
    CLI_NOT_PERMITTED = 5,
    CLI_REFUSED = 6,
    CLI_PROTOCOL = 7,
    CLI_DEGRADED = 8, /* `status`: the daemon runs, but no job would be served */
    CLI_TIMEOUT = 124,
    CLI_NOT_EXECUTABLE = 126, /* `run`: as in a shell */
    CLI_NO_COMMAND = 127,
    CLI_BY_SIGNAL =
        256 /* plus a signal's number: no exit status, but the signal that ends this process */
};

enum cli_format { CLI_TABLE, CLI_PLAIN, CLI_JSON };

#define CLI_OPTIONS_MAX 16
#define CLI_RUN_DIR "/run/salus" /* the system's run directory */

/* An option of a verb as given; `value` is "" if it takes none. */
struct cli_given {
    const char *name, *value;
};

struct cli {
    FILE *out, *err;
    char run_dir[108], socket[108];
    bool configured; /* by an option or by SALUS_RUN_DIR; a missing daemon is an error then */
    enum cli_format format;
    bool no_header;
    uint64_t timeout_ms;
    uint64_t watch_ms; /* interval of --watch; 0: once */
    struct cli_given given[CLI_OPTIONS_MAX];
    int given_count;
    bool alias; /* the verb has its deprecated name, and so has the key of its JSON */
    bool help;  /* help was requested: it is printed at the end, and nothing else is done */
};

struct args;

/* Sets the defaults, and the run directory from the environment. Returns 0, or an exit status after
 * a diagnostic. */
int cli_init(struct cli *c, FILE *out, FILE *err);

/* Takes the option that args_next has just returned: one of all verbs, or of the verb with this
 * usage line (usage.h; NULL: no verb yet). Returns the same. */
int cli_take_option(struct cli *c, const char *usage, struct args *a);

/* Returns the value of an option of the verb; NULL: it was not given. */
const char *cli_option(const struct cli *c, const char *name);

/* Reads a time with its unit. Returns 0, or an exit status after a diagnostic. */
int cli_take_time(struct cli *c, const char *what, const char *text, uint64_t *ns);
/* Reads the number of an object of kind `what`. Returns 0, or an exit status after a diagnostic. */
int cli_take_id(struct cli *c, const char *what, const char *text, uint64_t *out);

/* Reads a user's name or number. Returns the same. */
int cli_take_user(struct cli *c, const char *what, const char *text, uint64_t *uid);

/* The argument is "--help" or "-h". */
bool cli_is_help(const struct args *a);

/* Prints "salusctl: ..." to c->err and returns `status`. */
int cli_fail(struct cli *c, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Flushes c->out. Returns CLI_OK, or CLI_FAILED after a diagnostic. */
int cli_flush(struct cli *c);

#endif
