/* SPDX-License-Identifier: Apache-2.0
 *
 * The configuration of salus-serve (salus-serve.conf(5)): a section [front], and one section [model
 * NAME] per model. All memory is in the struct's arena.
 *
 * Owner: the caller. Threads: one while reading; then read-only.
 */
#ifndef DAEMON_SERVE_GATEWAY_CONFIG_MODELS_FILE_H
#define DAEMON_SERVE_GATEWAY_CONFIG_MODELS_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/arena.h"
#include "daemon/serve/gateway/config/job_words.h"
#include "daemon/serve/infer/model.h"
#include "daemon/serve/plan/plan.h"

#define MODELS_FILE_MODELS 64u
#define MODELS_FILE_TENSORS 64u /* most inputs and most outputs of a model */
#define MODELS_FILE_WORDS 64u   /* most words of a program's command */

struct models_file_model {
    char **argv; /* ends with NULL */
    bool salus;  /* the programs are started as jobs under Salus */
    struct job_words job;
    uint32_t workers;
    uint64_t deadline_ns;  /* default deadline of requests */
    uint64_t limit_ns;     /* time limit of a batch; then its worker is killed */
    uint32_t profile_part; /* limit of the profiler's device time, in thousandths; 0: no profiler */
    struct plan_config plan;
};

struct models_file {
    struct arena *arena;
    char *address;
    uint16_t port;
    uint32_t connections, count;
    struct model models[MODELS_FILE_MODELS];               /* the models as the front shows them */
    struct models_file_model settings[MODELS_FILE_MODELS]; /* per model */
};

/* Returns 0, or -errno with one line per error in `errors`. models_file_finish is required in
 * either case. */
int models_file_read(struct models_file *f, const char *path, struct buf *errors);
void models_file_finish(struct models_file *f);

#endif
