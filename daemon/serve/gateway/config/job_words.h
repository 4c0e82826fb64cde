/* SPDX-License-Identifier: Apache-2.0
 *
 * What a model's section of the file says about the jobs that its programs are: the options of
 * `salusctl run` by the list in proto/wire/job.h, with the same values. Owner: the model's
 * settings; texts lie in the file's arena. Threads: one; then it is read only.
 */
#ifndef DAEMON_SERVE_GATEWAY_CONFIG_JOB_WORDS_H
#define DAEMON_SERVE_GATEWAY_CONFIG_JOB_WORDS_H

#include "common/arena.h"
#include "proto/wire/job.h"

/* One for each of the list's, and the GPU. */
#define X(option, variable, kind, field, least, most, sentence) +1
enum { JOB_WORDS = 1 JOB_OPTIONS(X) };
#undef X

struct job_words {
    char *name;             /* "--name=...": the jobs have the model's */
    char *words[JOB_WORDS]; /* "--option=value", by the list's order; NULL: not said */
};

/* 0 or -ENOMEM. */
int job_words_name(struct job_words *w, struct arena *arena, const char *model);

/* What `name` is said to be; the latest counts. 0; -ENOENT: there is no such option; -EINVAL, and
 * what is wrong with the value in `why` (JOB_WHY_BYTES); -ENOMEM. */
int job_words_take(struct job_words *w, struct arena *arena, const char *name, const char *value,
                   char *why);

/* An option that was said, without its dashes and its value; NULL: none was. */
const char *job_words_first(const struct job_words *w);

/* The name, and those that were said, to `argv`, of which JOB_WORDS + 1 are free: how many. */
uint32_t job_words_put(const struct job_words *w, char **argv);

#endif
