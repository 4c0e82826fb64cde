/* SPDX-License-Identifier: Apache-2.0
 *
 * Decides which share of how many GPUs each trial of a tuning job gets, so that a group of trials
 * ends as soon as possible (Fluid: thesis, chapter 3 and appendix B). This is a separate, installed
 * library, libsalus-fluid.so, for C, C++ and foreign-function interfaces: plain structs with
 * members of fixed width, and no pointer of the caller is kept. It needs no other part of the
 * project.
 *
 * The library decides but does not act. It uses no clock, no thread and no system call, and
 * allocates memory only in salus_fluid_create. Time arrives with events. The answer is a plan: the
 * share and the GPUs of every trial. The caller starts, resizes and measures the trials.
 *
 *     salus_fluid_create(&f, &config, why, sizeof(why));
 *     salus_fluid_step(f, now_ns, events, count, &plan);     whenever something happens
 *     for (i = 0; i < plan.count; i++) ... plan.trials[i] ...
 *     salus_fluid_destroy(f);
 *
 * An invalid event changes nothing; the plan names it with the reason. All other events of the step
 * apply. A trial that joined is never lost: it is in every plan, waiting or running, until its END.
 * The same events give the same plans on every machine of one architecture.
 *
 * Owner: the caller of salus_fluid_create. Thread: the owner's; several threads need a lock, or one
 * state each.
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
/* A packing overhead alpha for trials that fill a GPU alone: p of them take p times as long. No
 * constant alpha of (3.2) expresses that. Appendix B assumes it in its ideal situation, where
 * trials keep their area. */
#define SALUS_FLUID_EVEN 0.0

struct salus_fluid;

/* Options where the thesis leaves a choice. 0: as printed, with the details that the comments in
 * daemon/tune/ explain. docs/results/2026-11-tuning.md measures the options. */
enum {
    /* Shares below one GPU are the exact fractions of (3.1), at least 1/c. Without this flag they
     * are 1/c, because Algorithm 3.1 takes the floor before the maximum. */
    SALUS_FLUID_FRACTIONS = 1,
    /* GPUs that the floors leave idle go, one by one, to the trial that would end last. */
    SALUS_FLUID_FILL = 2,
    /* Running trials are never resized: StaticFluid only. */
    SALUS_FLUID_STATIC = 4,
    /* Scales down as Algorithm 3.2 prints it, even if the group then ends later. */
    SALUS_FLUID_DOWN_ANY = 8,
    /* Disables Fluid: each trial gets one whole GPU, in the order of joining. */
    SALUS_FLUID_FIFO = 16,
    /* While trials wait, a running trial with more than its share gives up the excess. This helps
     * where trials join one by one: the first one gets all GPUs, and the thesis lets it keep
     * them. */
    SALUS_FLUID_ROOM = 32,
};

/* Zero selects the default that each member names. */
struct salus_fluid_config {
    uint32_t gpus;        /* GPUs 0 to gpus - 1 exist at the beginning; may be 0 */
    uint32_t gpus_most;   /* upper limit of GPU numbers; 0: as `gpus` */
    uint32_t trials_most; /* most trials at a time; 0: 4096 */
    uint32_t packed_most; /* c, most trials on one GPU, for trials that set none; 0: 1 */
    uint32_t spread_most; /* d, most GPUs of one trial, for trials that set none; 0: 1 */
    uint32_t flags;
    int64_t change_ns; /* epsilon: time that a trial loses when it is resized over whole GPUs */
};

enum salus_fluid_event_kind {
    SALUS_FLUID_JOIN, /* id, trial: a new trial of a group */
    SALUS_FLUID_LEFT, /* id, left_ns: rest of the budget; without this event it is estimated */
    /* id: the trial completed, was stopped or failed for good; its GPUs are free. */
    SALUS_FLUID_END,
    SALUS_FLUID_DIED, /* id: the trial does not run any more, and has to be started again */
    /* id: the resize of the plan is done, and the trial has left the GPUs it had to leave. */
    SALUS_FLUID_SETTLED,
    SALUS_FLUID_GPU_CAME, /* gpu: has become available */
    SALUS_FLUID_GPU_GONE, /* gpu: is no longer available */
    SALUS_FLUID_TIME,     /* only the time advances */
    SALUS_FLUID_KNOWN,    /* id, alpha, beta, packed_most, spread_most: new measurements */
    SALUS_FLUID_EVENTS
};

/* The events of one step are applied in the array's order. Trials of one group that join in one
 * step are planned together (StaticFluid); groups are planned one after the other. */
struct salus_fluid_event {
    uint32_t kind;
    uint32_t gpu;
    uint64_t id; /* the caller's name for the trial */
    /* For JOIN. */
    uint64_t group;
    int64_t left_ns; /* h_{i,1}: run time on one GPU, alone; > 0. For LEFT: >= 0 */
    /* For JOIN and KNOWN. */
    /* Packing and scaling overhead of (3.2); each 1 or more, or SALUS_FLUID_EVEN for alpha. */
    double alpha, beta;
    uint32_t packed_most; /* c; 0: the configuration's. Never more than alpha allows */
    uint32_t spread_most; /* d; 0: the configuration's. Never more than beta allows */
};

enum salus_fluid_state {
    SALUS_FLUID_WAITING, /* on no GPU */
    SALUS_FLUID_RUNNING,
    SALUS_FLUID_RESIZING, /* being resized until SETTLED; the trial is left alone meanwhile */
};

struct salus_fluid_trial {
    uint64_t id, group;
    double share; /* w, planned: below 1: a share of one GPU; else whole GPUs; waiting: 0 */
    /* Actual share of its GPU, beside the other sharers; for whole GPUs equal to `share`. */
    double part;
    int64_t left_ns;  /* h_{i,1} of the remaining work */
    int64_t end_ns;   /* when the trial ends if nothing changes; waiting: INT64_MAX */
    uint32_t state;   /* enum salus_fluid_state */
    uint32_t changed; /* 1: state, share, part or GPUs differ from the previous plan */
    /* Index in plan.gpus of its first GPU; GPUs that it has to leave are not included. */
    uint32_t gpu_first;
    uint32_t gpu_count;
    uint32_t deaths, reserved;
};

/* Reasons why an event is invalid: X(NAME, text). */
/* clang-format off */
#define SALUS_FLUID_FAULTS(X)                                           \
    X(NONE, "")                                                         \
    X(KIND, "the event's kind is unknown")                           \
    X(NO_TRIAL, "the trial is unknown")                               \
    X(TWICE, "the trial exists already")                           \
    X(FULL, "there are as many trials as are allowed")                         \
    X(BUDGET, "the budget must be above 0 and the rest of it not negative, both within 100 years")    \
    X(OVERHEAD, "an overhead must be a number from 1 to 1000 (alpha also 0)")   \
    X(WAITS, "the trial does not run")                                  \
    X(SETTLED, "the trial is not being resized")                        \
    X(GPU, "the GPU's number is too large")                                  \
    X(GPU_TWICE, "the GPU exists already")                         \
    X(NO_GPU, "the GPU is unknown")
/* clang-format on */
enum salus_fluid_fault {
#define X(name, text) SALUS_FLUID_FAULT_##name,
    SALUS_FLUID_FAULTS(X)
#undef X
};

struct salus_fluid_refusal {
    uint32_t index; /* index of the event in the array */
    uint32_t fault; /* enum salus_fluid_fault */
};

/* Points to memory of the library, valid until the next step. */
struct salus_fluid_plan {
    const struct salus_fluid_trial *trials;
    const uint32_t *gpus; /* GPU numbers of all trials, one trial after the other */
    const struct salus_fluid_refusal *refusals;
    uint32_t count, refused, waiting;
    uint32_t idle;    /* GPUs without a trial */
    uint64_t resizes; /* number of changes so far that cost epsilon */
    int64_t end_ns;   /* when the last running trial ends if nothing changes; 0 if none runs */
};

/* Creates a state. Returns 0, -ENOMEM, or -EINVAL for an invalid configuration with a sentence in
 * `why` (why_bytes; may be NULL). */
int32_t salus_fluid_create(struct salus_fluid **out, const struct salus_fluid_config *config,
                           char *why, size_t why_bytes);
void salus_fluid_destroy(struct salus_fluid *f);

/* Applies events and computes the plan. Returns 0, or -E2BIG above 2 * trials_most events, with
 * nothing changed. A time before the latest step's counts as the latest step's. */
int32_t salus_fluid_step(struct salus_fluid *f, int64_t now_ns,
                         const struct salus_fluid_event *events, uint32_t count,
                         struct salus_fluid_plan *out);

/* A static string; "?" for an unknown number. */
const char *salus_fluid_fault_text(uint32_t fault);

/* Checks the invariants. Returns NULL, or a static sentence about a violated one. */
const char *salus_fluid_check(const struct salus_fluid *f);

/* ---- the formulas alone ---------------------------------------------------------------------- */

/* (3.2): run time on a share, for work that takes `alone_ns` on one GPU. share > 0. */
double salus_fluid_run_ns(double alone_ns, double share, double alpha, double beta);

/* (3.1): marginal benefit of the p-th trial on a GPU, from the mean iteration times with p and with
 * p - 1 trials. p > 1. */
double salus_fluid_benefit(uint32_t p, double mean_p, double mean_before);

/* c: the most trials on a GPU such that the benefit of each is above the threshold. `mean` has the
 * mean iteration times with 1, 2, ... `count` trials. Returns 0 if a time is invalid. */
uint32_t salus_fluid_packed_most(const double *mean, uint32_t count, double threshold);

/* Estimate alpha from the same times, and beta from the times on 1, 2, ... `count` GPUs. The fit is
 * least squares over the logarithms of (3.2), at least 1. Return 0 if a time is invalid. */
double salus_fluid_alpha(const double *mean, uint32_t count);
double salus_fluid_beta(const double *mean, uint32_t count);

/* The largest c and d that an overhead allows (lemmas 4 and 6), up to 1024. */
uint32_t salus_fluid_packed_by(double alpha);
uint32_t salus_fluid_spread_by(double beta);

#ifdef __cplusplus
}
#endif

#endif
