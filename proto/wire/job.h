/* SPDX-License-Identifier: Apache-2.0
 *
 * A job's options, from the environment to wire_job. One table serves `salusctl run`, which sets
 * the variables, the library, which reads them into its hello, and the daemon, which trusts none of
 * them. Pure.
 */
#ifndef PROTO_WIRE_JOB_H
#define PROTO_WIRE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wire/wire.h"

#define JOB_WEIGHT_MAX 1000u
#define JOB_PRIORITY_MAX 1000
#define JOB_BYTES_MAX (1ull << 46)
#define JOB_NS_MAX (1ull << 60) /* about 36 years */
#define JOB_ITERATIONS_MAX (1ull << 40)
#define JOB_WHY_BYTES 160

/* X(option of `salusctl run`, variable, kind, field of wire_job, least, most, sentence) */
/* clang-format off */
#define JOB_OPTIONS(X)                                                                      \
    X("persistent", "SALUS_PERSISTENT", BYTES, persistent_bytes, 0, JOB_BYTES_MAX,          \
      "persistent device memory: what the job keeps over iterations")                       \
    X("ephemeral", "SALUS_EPHEMERAL", BYTES, ephemeral_bytes, 0, JOB_BYTES_MAX,             \
      "ephemeral device memory: the peak within an iteration beside the persistent one")    \
    X("weight", "SALUS_WEIGHT", COUNT, weight, 1, JOB_WEIGHT_MAX,                           \
      "weight that the job's share of device time is proportional to, 1 to the user's max_weight")\
    X("priority", "SALUS_PRIORITY", SIGNED, priority, 0, JOB_PRIORITY_MAX,                  \
      "priority, -1000 to the user's max_priority; jobs of higher priority go first")       \
    X("group", "SALUS_GROUP", TEXT, group, 0, 0,                                            \
      "name of the job's group; jobs of one group never share a lane")                      \
    X("iterations", "SALUS_ITERATIONS", COUNT, iterations, 0, JOB_ITERATIONS_MAX,           \
      "number of iterations that the job runs in all; 0: unknown")                          \
    X("duration", "SALUS_DURATION", TIME, duration_ns, 0, JOB_NS_MAX,                       \
      "device time that the job needs in all; 0: unknown")                                  \
    X("request", "SALUS_REQUEST", TIME, request_ns, 0, JOB_NS_MAX,                          \
      "latency of a request of the job alone; 0: learned")                                  \
    X("slo", "SALUS_SLO", TIME, slo_ns, 0, JOB_NS_MAX,                                      \
      "latency target of the job's requests, which a controller enforces; 0: none")         \
    X("slo-of", "SALUS_SLO_OF", SLO_OF, slo_of, 0, 0,                                       \
      "statistic that --slo bounds: mean, p50, p95 or p99")                                 \
    X("admit-timeout", "SALUS_ADMIT_TIMEOUT", TIME, admit_timeout_ns, 0, JOB_NS_MAX,        \
      "refuse the job when it has waited this long for admission; 0: never")                \
    X("capability", "SALUS_CAPABILITY", CAPABILITY, capability, 0, 0,                       \
      "compute capability that the software GPU reports to the job, such as 12.0")          \
    X("device-mode", "SALUS_DEVICE_MODE", MODE, flags, 0, 0,                                \
      "compute: kernels are executed; null: they take an estimated time and compute nothing") \
    X("savepoints", "SALUS_SAVEPOINTS", SWITCH, flags, 0, WIRE_JOB_SAVEPOINTS,             \
      "whether savepoints are made of the job, to which it returns when the GPU fails: yes, no")
/* clang-format on */

/* The number of the requested GPU, as `salusctl gpu list` shows it. */
#define JOB_GPU_VARIABLE "SALUS_GPU"
/* Returns 0 with *gpu as in wire_hello (0: `value` is NULL or empty), or -EINVAL and the reason. */
int job_gpu(const char *value, uint32_t *gpu, char *why);

/* Set by `salusctl run`, which recognises its job by this number. */
#define JOB_RUN_VARIABLE "SALUS_RUN"

/* Set by `salusctl run`: a file of its own. The library of a job that was refused appends the
 * reason to it, one line; see shim/connection/refusals.h. */
#define JOB_REFUSED_VARIABLE "SALUS_REFUSED"

/* "1": the library ends the process at the first refusal, with this exit status. Otherwise "0". */
#define JOB_STRICT_VARIABLE "SALUS_STRICT"
#define JOB_STRICT_EXIT 9
/* Returns 0 with *strict (false: `value` is NULL or empty), or -EINVAL and the reason. */
int job_strict(const char *value, bool *strict, char *why);

/* A file to which refusals are written as well; see shim/connection/refusals.h. */
#define JOB_REFUSALS_VARIABLE "SALUS_REFUSALS"

/* Sets the field of `variable`; sizes and times have units ("512MiB", "10s"). Returns 0; -EINVAL
 * with the error in `why` (JOB_WHY_BYTES); -ENOENT if there is no such variable. */
int job_set(struct wire_job *job, const char *variable, const char *value, char *why);

/* Reads the environment of this process: zeroes *job, then calls job_set for each variable that is
 * set and not empty. Variables with errors are left out; returns their number, and the first one's
 * reason in `why`. The caller fills `profile`. */
int job_from_environment(struct wire_job *job, char *why);

/* A tag shown after the name of a job whose kernels are not computed, and after its device's
 * name. */
#define JOB_TAG "(not computed)"
/* Appends the tag to a name in `cap` bytes (more than those of the tag). The name is truncated if
 * both do not fit. */
void job_tag(char *name, size_t cap);

/* Checks options from a client. Returns 0, or -EINVAL and the reason. Zeroes parts that are not
 * given. */
int job_check(struct wire_job *job, char *why);

#endif
