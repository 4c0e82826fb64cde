/* SPDX-License-Identifier: Apache-2.0
 *
 * Options may precede, follow or separate the words of a verb, but not follow those of a command.
 */
#include "daemon/ctl/salusctl.h"

#include <string.h>

#include "common/text/args.h"
#include "daemon/ctl/run/run.h"
#include "daemon/ctl/verb_table.h"
#include "daemon/policy/policies_help.h"

static void print_help(FILE *out) {
    fputs("usage: salusctl [OPTION]... VERB [ARG]...\n\n", out);
    verb_table_help(out);
    run_help(out);
    fputc('\n', out);
    policies_help(out);
    fputs(
        "\nOptions of all verbs:\n"
        "  --run-dir DIR        directory of the daemon's sockets (SALUS_RUN_DIR, else "
        "/run/salus)\n"
        "  --socket PATH        its control socket\n"
        "  --json               print one JSON object; with -w one per line\n"
        "  --plain              print tab-separated values, numbers without units\n"
        "  --no-header          print tables without their header line\n"
        "  -w, --watch SECONDS  repeat until interrupted\n"
        "  --timeout SECONDS    seconds to wait for the daemon (5)\n"
        "  -h, --help, --version\n"
        "\n"
        "Exit status: 0 done, 1 failed, 2 usage, 3 no daemon, 4 no such object, 5 not permitted,\n"
        "6 refused, 7 protocol mismatch, 8 `status`: no worker is ready, 124 timeout. `run` exits\n"
        "with its command's status, or with 6 if a job of it was refused.\n",
        out);
}

/* The remaining words belong to a command: those behind `run`, and a word that follows `doctor`.
 * The words behind `environment` are options of `run`. */
static bool begins_command(int n, char **words) {
    return (n == 1 && (strcmp(words[0], "run") == 0 || strcmp(words[0], "environment") == 0)) ||
           (n == 2 && strcmp(words[0], "doctor") == 0);
}

static int interpret(struct cli *c, int argc, char **argv) {
    struct args a = {.rest = argv + 1};
    char **words = argv; /* the verb and its arguments, moved over the options */
    enum args_kind kind;
    int n = 0;

    while ((kind = args_next(&a)) != ARGS_END) {
        if (cli_is_help(&a)) {
            c->help = true;
            return CLI_OK;
        }
        if (args_is(&a, "--version")) {
            words[n++] = (char *)"version";
        } else if (n && strcmp(words[0], "doctor") == 0 && args_is(&a, "--")) {
            break;
        } else if (kind == ARGS_OPTION) {
            int status = cli_take_option(c, verb_table_usage(n, words), &a);

            if (status) return status;
        } else {
            words[n++] = a.name;
            if (begins_command(n, words)) break;
        }
    }
    for (; *a.rest; a.rest++)
        words[n++] = *a.rest;
    words[n] = NULL;
    return verb_table_call(c, n, words);
}

int salusctl_main(FILE *out, FILE *err, int argc, char **argv) {
    struct cli c;
    int status = cli_init(&c, out, err), flushed;

    if (status == CLI_OK) status = interpret(&c, argc, argv);
    if (status >= CLI_BY_SIGNAL)
        return status; /* status of a command, which wrote to our output itself */
    if (status == CLI_OK && c.help) print_help(out);
    flushed = cli_flush(&c);
    return status ? status : flushed;
}
