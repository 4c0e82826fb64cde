/* SPDX-License-Identifier: Apache-2.0
 *
 * Job options in a model's section: the options of `salusctl run` listed in proto/wire/job.h, with
 * the same values. They apply to the jobs of the model's programs. Owner: the model's settings;
 * strings are in the file's arena. Threads: one while reading; then read-only.
 */
#ifndef DAEMON_SERVE_GATEWAY_CONFIG_JOB_WORDS_H
#define DAEMON_SERVE_GATEWAY_CONFIG_JOB_WORDS_H

#include "common/arena.h"
#include "proto/wire/job.h"

/* Number of options in the list, plus one for the GPU. */
#define X(option, variable, kind, field, least, most, sentence) +1
enum { JOB_WORDS = 1 JOB_OPTIONS(X) };
#undef X

struct job_words {
    char *name;             /* "--name=...": each job has the model's name */
    char *words[JOB_WORDS]; /* "--option=value", in the order of the list; NULL: not given */
};

/* Returns 0 or -ENOMEM. */
int job_words_name(struct job_words *w, struct arena *arena, const char *model);

/* Sets option `name`; the latest value counts. Returns 0, -ENOENT for an unknown option, -EINVAL
 * with the error in `why` (JOB_WHY_BYTES), or -ENOMEM. */
int job_words_take(struct job_words *w, struct arena *arena, const char *name, const char *value,
                   char *why);

/* The name of one given option, without dashes and value; NULL if none was given. */
const char *job_words_first(const struct job_words *w);

/* Writes the name and the given options to `argv`, which has space for JOB_WORDS + 1. Returns their
 * number. */
uint32_t job_words_put(const struct job_words *w, char **argv);

#endif
