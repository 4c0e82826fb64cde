/* SPDX-License-Identifier: Apache-2.0
 *
 * Tuning algorithms as whoever runs trials sees them: they say which run is next, if any is, and
 * are told what came out of it. A run trains a configuration from one epoch to another, which makes
 * a trial of a TrialGroup; the groups are stages of synchronous algorithms, all of an asynchronous
 * one.
 *
 * Adding one: a file with a struct tuner_kind, and a line of tuners.def.
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
    uint32_t config;   /* its index in the tuner's */
    uint32_t from, to; /* epochs */
    uint64_t group;
};

/* A configuration that was trained so far. */
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
    uint32_t trials; /* of those who try a fixed number */
    struct work_config *configs;
    uint32_t config_count, config_room;
    struct tuner_points seen; /* by the model: each configuration with its latest accuracy */
    uint64_t group;
    void *own; /* the kind's */
    int err;   /* -ENOMEM: there is no next one any more */
};

struct tuner_kind {
    const char *name;
    bool model; /* draws near what was good so far */
    bool async; /* as many runs at a time as it is told, else as many as it has */
    uint64_t own_bytes;
    void (*finish)(struct tuner *t); /* NULL: nothing but `own` */
    /* The next run that may begin now. False: none before another has ended; none at all if none is
     * under way. */
    bool (*next)(struct tuner *t, struct tuner_run *out);
    void (*told)(struct tuner *t, const struct tuner_run *run, double accuracy);
};

/* 0 or -ENOMEM. */
int tuner_init(struct tuner *t, const struct tuner_kind *kind, const struct work *work,
               uint32_t trials);
void tuner_finish(struct tuner *t);
bool tuner_next(struct tuner *t, struct tuner_run *out);
void tuner_told(struct tuner *t, const struct tuner_run *run, double accuracy);

/* ---- for the kinds --------------------------------------------------------------------------- */

/* A new configuration, by the model where the kind has one; its index, or TUNER_NONE with t->err.
 */
uint32_t tuner_draw(struct tuner *t);
uint32_t tuner_draw_lattice(struct tuner *t);
uint32_t tuner_draw_near(struct tuner *t, uint32_t config);

/* False with t->err: there is no memory. */
bool tuner_push(struct tuner *t, struct tuner_points *points, uint32_t config, double accuracy);
/* The best first; of equal ones the older configuration. */
void tuner_sort(struct tuner_points *points);

#endif
