/* SPDX-License-Identifier: Apache-2.0
 *
 * salusctl as a library: options, the verb table, and what the verbs' handlers share. Data goes to
 * `out`, diagnostics to `err`.
 *
 * Owner: the caller. Threads: one.
 */
#ifndef DAEMON_CTL_CLI_H
#define DAEMON_CTL_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "proto/ctl.h"

/* Exit statuses; those that answer a refusal are in proto/ctl.def. */
enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_NO_DAEMON = 3,
    CLI_NOT_FOUND = 4,
    CLI_NOT_PERMITTED = 5,
    CLI_REFUSED = 6,
    CLI_PROTOCOL = 7,
    CLI_DEGRADED = 8, /* of `status`: the daemon runs, and no job would be served */
    CLI_TIMEOUT = 124,
    CLI_NOT_EXECUTABLE = 126, /* of `run`, as a shell has it */
    CLI_NO_COMMAND = 127,
    CLI_BY_SIGNAL = 256 /* and a signal's number: no exit status, but how this process ends */
};

enum cli_format { CLI_TABLE, CLI_PLAIN, CLI_JSON };

#define CLI_OPTIONS_MAX 16

/* An option of a verb, as it was given; `value` is "" where it takes none. */
struct cli_given {
    const char *name, *value;
};

struct cli {
    FILE *out, *err;
    char run_dir[108], socket[108];
    bool configured; /* by an option or by SALUS_RUN_DIR: a missing daemon is then an error */
    enum cli_format format;
    bool no_header;
    uint64_t timeout_ms;
    uint64_t watch_ms; /* 0: once */
    struct cli_given given[CLI_OPTIONS_MAX];
    int given_count;
};

/* A verb: its words, with a dot between, what may follow (usage.h; NULL: it is none), and either
 * what it asks the daemon, or CTL_V_COUNT and its handler, which gets what follows. */
struct cli_verb {
    const char *name, *usage, *help;
    enum ctl_verb ask;
    int (*handler)(struct cli *c, int argc, char **argv);
};

/* The value of an option of the verb; NULL when it was not given. */
const char *cli_option(const struct cli *c, const char *name);

/* A time with its unit, or plain seconds: 0, or an exit status after a diagnostic. */
int cli_take_time(struct cli *c, const char *what, const char *text, uint64_t *ns);
/* The number of an object of that kind: 0, or an exit status after a diagnostic. */
int cli_take_id(struct cli *c, const char *what, const char *text, uint64_t *out);

/* A user by name or number, the same. */
int cli_take_user(struct cli *c, const char *what, const char *text, uint64_t *uid);

/* The whole program: returns the exit status. */
int cli_main(FILE *out, FILE *err, int argc, char **argv);

/* "salusctl: ..." on c->err; returns `status`. */
int cli_fail(struct cli *c, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* run.c, doctor.c */
int cli_run(struct cli *c, int argc, char **argv);
int cli_environment(struct cli *c, int argc, char **argv);
int cli_doctor(struct cli *c, int argc, char **argv);

/* show.c. cli_ask: asks the daemon and shows what comes, which is all that most verbs do. */
int cli_ask(struct cli *c, enum ctl_verb verb, int argc, char **argv);
int cli_status(struct cli *c, int argc, char **argv);
int cli_version(struct cli *c, int argc, char **argv);
int cli_history(struct cli *c, int argc, char **argv);

/* set.c: verbs that change something and say so in a line */
int cli_job_set(struct cli *c, int argc, char **argv);
int cli_job_pause(struct cli *c, int argc, char **argv);
int cli_job_resume(struct cli *c, int argc, char **argv);
int cli_job_kill(struct cli *c, int argc, char **argv);
int cli_job_wait(struct cli *c, int argc, char **argv);
int cli_gpu_retry(struct cli *c, int argc, char **argv);

/* profile.c, profile_file.c */
int cli_profile_list(struct cli *c, int argc, char **argv);
int cli_profile_show(struct cli *c, int argc, char **argv);
int cli_profile_import(struct cli *c, int argc, char **argv);
int cli_profile_export(struct cli *c, int argc, char **argv);
int cli_profile_forget(struct cli *c, int argc, char **argv);

/* predict.c */
int cli_predict(struct cli *c, int argc, char **argv);

/* top.c, record.c */
int cli_top(struct cli *c, int argc, char **argv);
int cli_record(struct cli *c, int argc, char **argv);

/* Set by SIGINT and SIGTERM once cli_catch_interrupt was called; sleeping ends then. */
void cli_catch_interrupt(void);
bool cli_interrupted(void);
void cli_sleep_ms(uint64_t ms);

#endif
