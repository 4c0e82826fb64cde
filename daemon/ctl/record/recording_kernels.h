/* SPDX-License-Identifier: Apache-2.0
 *
 * What a recording of kernels adds to the lines of a workload: a job's sequence, and its words.
 */
#ifndef DAEMON_CTL_RECORD_RECORDING_KERNELS_H
#define DAEMON_CTL_RECORD_RECORDING_KERNELS_H

#include "daemon/ctl/record/kernel_trace.h"

#define RECORDING_KERNELS_LINES 2000000u /* in all: the file stays readable */

/* How long the sequence of its usual iteration takes, the host's part included; UINT64_MAX: none
 * was seen, or it is longer than a workload may have it (1000 h). `requests`: the job waits between
 * its iterations. What its host does before the first operation and behind the last one is then
 * part of its think time, and not of the sequence. */
uint64_t recording_kernels_ns(const struct kernel_trace *t, uint64_t id, bool requests);

/* The sequence of the job's usual iteration; of a job without boundaries (`whole` false), all that
 * it did. `soft`: with what it uses of a device that is shared in slices. False, and nothing is
 * written: there is none. *lines: of all jobs so far. */
bool recording_kernels_write(const struct kernel_trace *t, bool soft, uint64_t id, bool whole,
                             bool requests, uint32_t *lines, FILE *out);
/* " kernels=..." and what its program does around its iterations, of a job that was written. */
/* True if what the job did before the first boundary was less than an iteration: its preparations,
 * which the daemon counts as one. */
bool recording_kernels_prepares(const struct kernel_trace *t, uint64_t id);

void recording_kernels_job(const struct kernel_trace *t, uint64_t id, bool requests, FILE *out);

#endif
