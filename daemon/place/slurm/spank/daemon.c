/* SPDX-License-Identifier: Apache-2.0
 *
 * salusctl runs as a separate process: its libraries stay out of Slurm's process, and only salusctl
 * has to know the environment of a program.
 */
#include "daemon/place/slurm/spank/daemon.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/text/word_list.h"
#include "daemon/place/slurm/job_note.h"
#include "daemon/place/slurm/spank/child.h"

#define WORDS_MOST 32

struct command {
    char *argv[WORDS_MOST];
    struct word_list words; /* points into `argv` */
    char run_dir[PATH_MAX], gpu[16];
    struct ask_words ask;
};

static void add(struct command *c, const char *word) {
    word_list_add(&c->words, word);
}

/* Starts a command with "salusctl --run-dir DIR". */
static void begin(struct command *c, const struct settings *s, const char *node) {
    const char *dir = settings_run_dir(s, node, c->run_dir);

    c->words = WORD_LIST_OF(c->argv);
    add(c, s->salusctl);
    if (!dir) return;
    add(c, "--run-dir");
    add(c, dir);
}

static void add_task(struct command *c, const struct daemon_task *t) {
    ask_words(t->ask, &c->ask);
    for (int i = 0; i < c->ask.count; i++)
        add(c, c->ask.text[i]);
    if (t->gpu != NOTE_ANY_GPU) {
        snprintf(c->gpu, sizeof(c->gpu), "%" PRIu32, t->gpu);
        add(c, "--gpu");
        add(c, c->gpu);
    }
    add(c, "--name");
    add(c, t->name);
}

/* Sets each NAME=value; a NUL ends each. An incomplete last one is ignored. */
static void set_all(const struct daemon_task *t, char *text, size_t bytes) {
    char *end = text + bytes;

    while (text < end) {
        char *next = text + strlen(text) + 1, *value = strchr(text, '=');

        if (next > end) return;
        if (value) {
            *value = '\0';
            t->set(t->self, text, value + 1);
        }
        text = next;
    }
}

/* Copies salusctl's error without the advice after the semicolon, which is for salusctl's own
 * users. */
static int failed(const struct settings *s, const struct child_output *c, char *why) {
    const char *said = strstr(c->err, "salusctl: ");

    if (c->status == 0) return 0;
    said = said ? said + strlen("salusctl: ") : c->err;
    if (*said)
        snprintf(why, DAEMON_WHY_BYTES, "%.*s", (int)strcspn(said, ";\n"), said);
    else
        snprintf(why, DAEMON_WHY_BYTES, "%s ended with status %d", s->salusctl, c->status);
    return -ECONNREFUSED;
}

static int run(const struct settings *s, struct command *c, char *const *env,
               struct child_output *out, char *why) {
    int err = word_list_check(&c->words);

    if (err == 0) err = child_run(c->argv, env, CHILD_LIMIT_MS, out);
    if (err < 0) {
        snprintf(why, DAEMON_WHY_BYTES, "%s: %s", s->salusctl, strerror(-err));
        return err;
    }
    err = failed(s, out, why);
    if (err < 0) child_finish(out);
    return err;
}

int daemon_environment(const struct settings *s, const struct daemon_task *task, char *why) {
    struct child_output out;
    struct command c;
    int err;

    begin(&c, s, task->node);
    add(&c, "environment");
    add(&c, "--null");
    add(&c, "--quiet"); /* otherwise every task would repeat the messages about frameworks */
    add_task(&c, task);
    err = run(s, &c, task->env, &out, why);
    if (err < 0) return err;
    set_all(task, out.out, out.out_bytes);
    child_finish(&out);
    return 0;
}

int daemon_answers(const struct settings *s, const char *node, char *why) {
    char *const env[] = {NULL};
    struct child_output out;
    struct command c;
    int err;

    begin(&c, s, node);
    add(&c, "status");
    err = run(s, &c, env, &out, why);
    if (err == 0) child_finish(&out);
    return err;
}
