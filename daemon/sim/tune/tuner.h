/* SPDX-License-Identifier: Apache-2.0
 *
 * Tuning algorithms, from the view of the code that runs trials: an algorithm returns the next run,
 * if any, and receives its outcome. A run trains a configuration from one epoch to another and
 * becomes a trial of a TrialGroup. Stages of synchronous algorithms form one group each; all runs
 * of an asynchronous algorithm form one group.
 *
 * To add an algorithm, write a file with a struct tuner_kind and add a line to tuners.def.
 *
 * Owner: the caller. Thread: any.
 */
#ifndef DAEMON_SIM_TUNE_TUNER_H
#define DAEMON_SIM_TUNE_TUNER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/sim/tune/work.h"

#define TUNER_ETA 3u
#define TUNER_NONE UINT32_MAX

struct tuner_run {
    uint32_t config;   /* index in tuner.configs */
    uint32_t from, to; /* epochs */
    uint64_t group;
};

/* A configuration and its accuracy so far. */
struct tuner_point {
    uint32_t config;
    double accuracy;
    bool promoted;
};

struct tuner_points {
    struct tuner_point *at;
    uint32_t count, room;
};

struct tuner {
    const struct work *work;
    const struct tuner_kind *kind;
    uint32_t trials; /* for algorithms with a fixed number of trials */
    struct work_config *configs;
    uint32_t config_count, config_room;
    struct tuner_points seen; /* used by the model: each configuration with its latest accuracy */
    uint64_t group;
    void *own; /* the algorithm's state */
    int err;   /* -ENOMEM: no further run follows */
};

struct tuner_kind {
    const char *name;
    bool model; /* draws near good configurations */
    bool async; /* the caller limits the concurrent runs; else the algorithm does */
    uint64_t own_bytes;
    void (*finish)(struct tuner *t); /* NULL: only `own` is freed */
    /* Returns the next run that may begin now. False: none before another run has ended, or, if
     * none is running, none at all. */
    bool (*next)(struct tuner *t, struct tuner_run *out);
    void (*told)(struct tuner *t, const struct tuner_run *run, double accuracy);
};

/* Returns 0 or -ENOMEM. */
int tuner_init(struct tuner *t, const struct tuner_kind *kind, const struct work *work,
               uint32_t trials);
void tuner_finish(struct tuner *t);
bool tuner_next(struct tuner *t, struct tuner_run *out);
void tuner_told(struct tuner *t, const struct tuner_run *run, double accuracy);

/* ---- for the algorithms ---------------------------------------------------------------------- */

/* Draws a new configuration, with the model if the algorithm uses one. Returns its index, or
 * TUNER_NONE with t->err. */
uint32_t tuner_draw(struct tuner *t);
uint32_t tuner_draw_lattice(struct tuner *t);
uint32_t tuner_draw_near(struct tuner *t, uint32_t config);

/* Returns false with t->err if memory is short. */
bool tuner_push(struct tuner *t, struct tuner_points *points, uint32_t config, double accuracy);
/* Sorts the best first; among equals the older configuration first. */
void tuner_sort(struct tuner_points *points);

#endif
