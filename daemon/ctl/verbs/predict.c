/* SPDX-License-Identifier: Apache-2.0
 *
 * Predicts what a model will need. Other programs read models, so that this one needs neither their
 * libraries nor their parser. This file asks the daemon what it measured of a job of that name.
 */
#include "daemon/ctl/verbs/predict.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/text/word_list.h"
#include "daemon/ctl/cli/ask.h"
#include "daemon/ctl/cli/query.h"
#include "daemon/ctl/files/installation.h"

#define WORDS_MAX (2 * CLI_OPTIONS_MAX + 8)

struct predict_call {
    char path[512], measured[128];
    char *argv[WORDS_MAX];
    struct word_list words; /* words in `argv` */
};

static void put(struct predict_call *p, const char *word) {
    word_list_add(&p->words, word);
}

/* Takes the largest needs of our jobs of that name, and the latest known demand. */
static int ask_history(struct cli *c, const char *name, struct predict_call *p) {
    struct ctl_request r = {.verb = CTL_V_history_list};
    uint64_t runs = 0, demand = 0, persistent = 0, ephemeral = 0;
    struct query q;
    int status = query_send(c, &r, false, &q);

    if (status != CLI_OK) return status;
    for (size_t i = 0; i < q.count; i++) {
        const struct ctl_ended *e = query_record(&q, i);

        if (strcmp(e->name, name) != 0 || e->uid != getuid() || e->iterations == 0) continue;
        runs++;
        if (e->demand_milli) demand = e->demand_milli;
        if (e->persistent_peak_bytes > persistent) persistent = e->persistent_peak_bytes;
        if (e->ephemeral_peak_bytes > ephemeral) ephemeral = e->ephemeral_peak_bytes;
    }
    query_finish(&q);
    snprintf(p->measured, sizeof(p->measured), "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, runs,
             demand, persistent, ephemeral);
    return CLI_OK;
}

static int execute(struct cli *c, struct predict_call *p) {
    if (word_list_check(&p->words) < 0)
        return cli_fail(c, CLI_USAGE, "predict: at most %d options and values can be given",
                        WORDS_MAX - 1);
    fflush(c->out);
    fflush(c->err);
    execv(p->path, p->argv);
    return cli_fail(c, CLI_FAILED, "%s: %s", p->path, strerror(errno));
}

static int find(struct cli *c, const char *program, struct predict_call *p) {
    if (installation_predict(program, p->path, sizeof(p->path)))
        return cli_fail(c, CLI_FAILED, "%s is not installed in %s; install it with 'make install'",
                        program, p->path);
    p->words = WORD_LIST_OF(p->argv);
    put(p, program);
    return CLI_OK;
}

static int train(struct cli *c, const char *table, int argc) {
    struct predict_call p = {0};
    int status = argc ? cli_fail(c, CLI_USAGE,
                                 "--train takes a table of measurements and no model: write "
                                 "'salusctl predict --train TABLE.csv -o FILE'")
                      : find(c, "salus-predict-train", &p);

    if (status != CLI_OK) return status;
    for (int i = 0; i < c->given_count; i++) {
        const char *name = c->given[i].name;

        if (strcmp(name, "--train") == 0) continue;
        if (strcmp(name, "-o") != 0 && strcmp(name, "--device") != 0 &&
            strcmp(name, "--about") != 0)
            return cli_fail(
                c, CLI_USAGE,
                "%s cannot be combined with --train, which takes -o, --device and --about", name);
        put(&p, name);
        put(&p, c->given[i].value);
    }
    put(&p, table);
    return execute(c, &p);
}

/* Passes options to salus-predict; --name is handled here. */
static int predict(struct cli *c, const char *model, struct predict_call *p) {
    const char *job = cli_option(c, "--name");
    int status = find(c, "salus-predict", p);

    for (int i = 0; i < c->given_count && status == CLI_OK; i++) {
        const struct cli_given *g = &c->given[i];

        if (strcmp(g->name, "--name") == 0) continue;
        if (strcmp(g->name, "-o") == 0 || strcmp(g->name, "--about") == 0)
            return cli_fail(c, CLI_USAGE, "%s needs --train", g->name);
        put(p, g->name);
        if (*g->value) put(p, g->value);
    }
    if (status == CLI_OK && job) {
        status = ask_history(c, job, p);
        put(p, "--job");
        put(p, job);
        put(p, "--measured");
        put(p, p->measured);
    }
    if (c->format == CLI_JSON) put(p, "--json");
    put(p, model);
    return status;
}

int predict_run(struct cli *c, int argc, char **argv) {
    const char *table = cli_option(c, "--train");
    struct predict_call p = {0};
    int status;

    if (table) return train(c, table, argc);
    if (argc == 0)
        return cli_fail(c, CLI_USAGE,
                        "predict: an ONNX file is missing: write 'salusctl predict MODEL.onnx', or "
                        "--train TABLE.csv");
    status = predict(c, argv[0], &p);
    return status == CLI_OK ? execute(c, &p) : status;
}
