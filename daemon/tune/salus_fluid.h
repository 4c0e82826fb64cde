/* SPDX-License-Identifier: Apache-2.0
 *
 * Which part of how many GPUs each trial of a tuning job gets, so that a group of trials ends
 * soonest (Fluid: thesis, chapter 3 and appendix B). A library of its own, libsalus-fluid.so, for
 * C, C++ and whoever loads it (plain structs of fixed width, no pointer that the caller owns is
 * kept). Installed; needs nothing else of the project.
 *
 * It decides and does nothing: no clock, no threads, no system call, no memory but at create. Time
 * arrives with events, the answer is a plan: of every trial its share and the GPUs that it is on.
 * Starting, resizing and measuring trials are the caller's.
 *
 *     salus_fluid_create(&f, &config, why, sizeof(why));
 *     salus_fluid_step(f, now_ns, events, count, &plan);     as often as something happens
 *     for (i = 0; i < plan.count; i++) ... plan.trials[i] ...
 *     salus_fluid_destroy(f);
 *
 * An event that cannot be changes nothing and is named in the plan with the reason; all other
 * events of the step count. No trial that joined is ever lost: it is in every plan, waiting or
 * running, until END. The same events give the same plans on every machine of one architecture.
 *
 * Owner: who created it. Thread: its owner's; several need a lock, or one each.
 */
#ifndef SALUS_FLUID_H
#define SALUS_FLUID_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SALUS_FLUID_VERSION 1u

#define SALUS_FLUID_GPUS_MOST 1024u
#define SALUS_FLUID_TRIALS_MOST 65536u
/* A packing overhead alpha of trials that fill a GPU alone: p of them take p times as long. No
 * constant alpha of (3.2) says that; appendix B's ideal situation does (its trials keep their
 * area). */
#define SALUS_FLUID_EVEN 0.0

struct salus_fluid;

/* Where the thesis leaves a choice; 0: as it is printed, and what daemon/tune/ says above the
 * code. docs/results/2026-11-tuning.md measures them. */
enum {
    /* Shares below one GPU are (3.1)'s own fractions, at least 1/c; not: 1/c, since the floor
     * comes before the maximum in Algorithm 3.1. */
    SALUS_FLUID_FRACTIONS = 1,
    /* GPUs that floors leave idle go to whoever would end last, one by one. */
    SALUS_FLUID_FILL = 2,
    /* What is running is never resized: StaticFluid alone. */
    SALUS_FLUID_STATIC = 4,
    /* Scales down as Algorithm 3.2 prints it, even where the group then ends later. */
    SALUS_FLUID_DOWN_ANY = 8,
    /* No Fluid at all: a whole GPU a trial, in the order in which they joined. */
    SALUS_FLUID_FIFO = 16,
    /* While trials wait, those that run and have more than their share beside them give it up, as
     * where trials join one by one: the first of them has all GPUs, and the thesis lets it keep
     * these. */
    SALUS_FLUID_ROOM = 32,
};

/* Zero: what is said of it. */
struct salus_fluid_config {
    uint32_t gpus;        /* numbers 0 to gpus - 1 are there at the beginning; may be 0 */
    uint32_t gpus_most;   /* numbers are below it; 0: as many as `gpus` */
    uint32_t trials_most; /* at a time; 0: 4096 */
    uint32_t packed_most; /* c, trials on one GPU, where a trial says nothing; 0: 1 */
    uint32_t spread_most; /* d, GPUs of one trial, where a trial says nothing; 0: 1 */
    uint32_t flags;
    int64_t change_ns; /* epsilon: what it costs a trial to be resized over whole GPUs */
};

enum salus_fluid_event_kind {
    SALUS_FLUID_JOIN,     /* id, trial: a trial of a group, not there yet */
    SALUS_FLUID_LEFT,     /* id, left_ns: what is left of its budget; without it that is reckoned */
    SALUS_FLUID_END,      /* id: complete, stopped or given up; its GPUs are free */
    SALUS_FLUID_DIED,     /* id: it does not run any more, and is to be started again */
    SALUS_FLUID_SETTLED,  /* id: it was resized as the plan said, and has left what it was to leave
                           */
    SALUS_FLUID_GPU_CAME, /* gpu: is there */
    SALUS_FLUID_GPU_GONE, /* gpu: is not */
    SALUS_FLUID_TIME,     /* nothing but the time */
    SALUS_FLUID_KNOWN,    /* id, alpha, beta, packed_most, spread_most: measured meanwhile */
    SALUS_FLUID_EVENTS
};

/* Simultaneous events are taken in the array's order. Trials of one group that join in one step are
 * planned together (StaticFluid), those of several groups one group after the other. */
struct salus_fluid_event {
    uint32_t kind;
    uint32_t gpu;
    uint64_t id; /* the caller's name for the trial */
    /* JOIN */
    uint64_t group;
    int64_t left_ns; /* h_{i,1}: its run time on one GPU, alone; > 0. LEFT: >= 0 */
    /* JOIN, KNOWN */
    double alpha, beta;   /* packing and scaling overhead of (3.2); each 1 or more, or
                             SALUS_FLUID_EVEN for alpha */
    uint32_t packed_most; /* c; 0: the configuration's. Never more than alpha allows */
    uint32_t spread_most; /* d; 0: the configuration's. Never more than beta allows */
};

enum salus_fluid_state {
    SALUS_FLUID_WAITING, /* on no GPU */
    SALUS_FLUID_RUNNING,
    SALUS_FLUID_RESIZING, /* to be resized, until SETTLED; no other decision about it meanwhile */
};

struct salus_fluid_trial {
    uint64_t id, group;
    double share;    /* w: planned; below 1: of one GPU; else whole GPUs; waiting: 0 */
    double part;     /* what it has of its GPU now, beside the others on it; whole GPUs: as share */
    int64_t left_ns; /* h_{i,1} */
    int64_t end_ns;  /* when it ends if nothing changes; waiting: INT64_MAX */
    uint32_t state;  /* enum salus_fluid_state */
    uint32_t changed;   /* 1: state, share, part or GPUs differ from the plan before */
    uint32_t gpu_first; /* of plan.gpus: where it is to run; what it has to leave is not in it */
    uint32_t gpu_count;
    uint32_t deaths, reserved;
};

/* Why an event cannot be: X(NAME, text). */
/* clang-format off */
#define SALUS_FLUID_FAULTS(X)                                           \
    X(NONE, "")                                                         \
    X(KIND, "there is no such kind of event")                           \
    X(NO_TRIAL, "there is no such trial")                               \
    X(TWICE, "there is such a trial already")                           \
    X(FULL, "there is no room for more trials")                         \
    X(BUDGET, "a budget is above 0, what is left of it not below, and within 100 years")    \
    X(OVERHEAD, "an overhead is a number from 1 to 1000, or alpha 0")   \
    X(WAITS, "the trial does not run")                                  \
    X(SETTLED, "the trial is not being resized")                        \
    X(GPU, "there can be no such GPU")                                  \
    X(GPU_TWICE, "there is such a GPU already")                         \
    X(NO_GPU, "there is no such GPU")
/* clang-format on */
enum salus_fluid_fault {
#define X(name, text) SALUS_FLUID_FAULT_##name,
    SALUS_FLUID_FAULTS(X)
#undef X
};

struct salus_fluid_refusal {
    uint32_t index; /* of the event in the array */
    uint32_t fault; /* enum salus_fluid_fault */
};

/* The library's, valid until the next step. */
struct salus_fluid_plan {
    const struct salus_fluid_trial *trials;
    const uint32_t *gpus; /* of all trials, one after the other */
    const struct salus_fluid_refusal *refusals;
    uint32_t count, refused, waiting;
    uint32_t idle;    /* GPUs that nobody is on */
    uint64_t resizes; /* so far: changes that cost epsilon */
    int64_t end_ns;   /* when the last of the running ones ends if nothing changes; none: 0 */
};

/* 0; -ENOMEM; -EINVAL and a sentence in `why` (why_bytes, or NULL) when the configuration cannot
 * be. */
int32_t salus_fluid_create(struct salus_fluid **out, const struct salus_fluid_config *config,
                           char *why, size_t why_bytes);
void salus_fluid_destroy(struct salus_fluid *f);

/* 0, or -E2BIG above 2 * trials_most events, with nothing changed. A time before that of the latest
 * step is taken for that. */
int32_t salus_fluid_step(struct salus_fluid *f, int64_t now_ns,
                         const struct salus_fluid_event *events, uint32_t count,
                         struct salus_fluid_plan *out);

/* Static; "?" for a number that is none. */
const char *salus_fluid_fault_text(uint32_t fault);

/* The invariants: NULL, or which one does not hold. */
const char *salus_fluid_check(const struct salus_fluid *f);

/* ---- the formulas alone ---------------------------------------------------------------------- */

/* (3.2): run time on a share of what takes `alone_ns` on one GPU. share > 0. */
double salus_fluid_run_ns(double alone_ns, double share, double alpha, double beta);

/* (3.1): the marginal benefit of the p-th trial on a GPU, from the mean times of an iteration with
 * p and with p - 1 of them. p > 1. */
double salus_fluid_benefit(uint32_t p, double mean_p, double mean_before);

/* c: from mean times of an iteration with 1, 2, ... `count` trials on a GPU, the most of them such
 * that each one's benefit is above the threshold. 0 where a time is no time. */
uint32_t salus_fluid_packed_most(const double *mean, uint32_t count, double threshold);

/* alpha from the same times, beta from times on 1, 2, ... `count` GPUs: by least squares over the
 * logarithms of (3.2), at least 1. 0 where a time is no time. */
double salus_fluid_alpha(const double *mean, uint32_t count);
double salus_fluid_beta(const double *mean, uint32_t count);

/* The largest c and d that an overhead allows (lemmas 4 and 6), up to 1024. */
uint32_t salus_fluid_packed_by(double alpha);
uint32_t salus_fluid_spread_by(double beta);

#ifdef __cplusplus
}
#endif

#endif
