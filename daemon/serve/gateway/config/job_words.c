/* SPDX-License-Identifier: Apache-2.0
 *
 * The library's own function checks the values, as in salusctl.
 */
#include "daemon/serve/gateway/config/job_words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *option, *variable;
} options[JOB_WORDS] = {
#define X(option, variable, kind, field, least, most, sentence) {option, variable},
    JOB_OPTIONS(X)
#undef X
        {"gpu", JOB_GPU_VARIABLE},
};

static int find(const char *name) {
    for (int i = 0; i < JOB_WORDS; i++)
        if (strcmp(options[i].option, name) == 0) return i;
    return -1;
}

static int check(int i, const char *value, char *why) {
    struct wire_job job = {0};
    uint32_t gpu;
    size_t variable = strlen(options[i].variable) + strlen(": ");
    int err = strcmp(options[i].variable, JOB_GPU_VARIABLE) == 0
                  ? job_gpu(value, &gpu, why)
                  : job_set(&job, options[i].variable, value, why);

    /* the file does not contain this prefix */
    if (err) memmove(why, why + variable, strlen(why + variable) + 1);
    return err;
}

static int keep(char **out, struct arena *arena, const char *option, const char *value) {
    char word[256];

    snprintf(word, sizeof(word), "--%s=%s", option, value);
    *out = arena_strdup(arena, word);
    return *out ? 0 : -ENOMEM;
}

int job_words_name(struct job_words *w, struct arena *arena, const char *model) {
    return keep(&w->name, arena, "name", model);
}

int job_words_take(struct job_words *w, struct arena *arena, const char *name, const char *value,
                   char *why) {
    int i = find(name), err = i < 0 ? -ENOENT : 0;

    if (!err && !*value) {
        snprintf(why, JOB_WHY_BYTES, "the value is missing");
        err = -EINVAL;
    }
    if (!err) err = check(i, value, why);
    return err ? err : keep(&w->words[i], arena, name, value);
}

const char *job_words_first(const struct job_words *w) {
    for (int i = 0; i < JOB_WORDS; i++)
        if (w->words[i]) return options[i].option;
    return NULL;
}

uint32_t job_words_put(const struct job_words *w, char **argv) {
    uint32_t count = 0;

    argv[count++] = w->name;
    for (int i = 0; i < JOB_WORDS; i++)
        if (w->words[i]) argv[count++] = w->words[i];
    return count;
}
