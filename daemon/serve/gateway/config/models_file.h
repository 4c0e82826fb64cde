/* SPDX-License-Identifier: Apache-2.0
 *
 * The file that says what salus-serve serves (salus-serve.conf(5)): a section [front], and one
 * [model NAME] for each model. Everything lies in the struct's arena.
 *
 * Owner: the caller. Threads: one; then it is read only.
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
#define MODELS_FILE_TENSORS 64u /* inputs of a model; outputs */
#define MODELS_FILE_WORDS 64u   /* of a program's command */

struct models_file_model {
    char **argv; /* ends with NULL */
    bool salus;  /* its programs are started as jobs under Salus */
    struct job_words job;
    uint32_t workers;
    uint64_t deadline_ns; /* of requests that do not say one */
    uint64_t limit_ns;    /* that a batch may take before its worker is ended */
    uint32_t
        profile_part; /* of the device's time, thousandths, that the profiler may have; 0: none */
    struct plan_config plan;
};

struct models_file {
    struct arena *arena;
    char *address;
    uint16_t port;
    uint32_t connections, count;
    struct model models[MODELS_FILE_MODELS];               /* as the front shows them */
    struct models_file_model settings[MODELS_FILE_MODELS]; /* of each */
};

/* 0; or -errno, with what is wrong in `errors`, a line each. Finish it in any case. */
int models_file_read(struct models_file *f, const char *path, struct buf *errors);
void models_file_finish(struct models_file *f);

#endif
