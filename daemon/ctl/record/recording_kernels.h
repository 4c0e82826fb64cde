/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of a recorded job in a workload: its sequence, and the words of its job line.
 */
#ifndef DAEMON_CTL_RECORD_RECORDING_KERNELS_H
#define DAEMON_CTL_RECORD_RECORDING_KERNELS_H

#include "daemon/ctl/record/kernel_trace.h"

#define RECORDING_KERNELS_LINES \
    2000000u /* limit of all sequences together, which keeps the file readable */

/* Duration of the sequence of the job's usual iteration, with host time. UINT64_MAX: none was seen,
 * or it exceeds the limit of a workload (1000 h). `requests`: the job waits between its iterations;
 * host time before the first operation and after the last one then belongs to its think time, not
 * to the sequence. */
uint64_t recording_kernels_ns(const struct kernel_trace *t, uint64_t id, bool requests);

/* Writes the sequence of the job's usual iteration; for a job without boundaries (`whole` false),
 * of all that it did. `soft`: with its use of a device that is shared in slices. Returns false and
 * writes nothing if there is none. *lines: lines of all jobs so far. */
bool recording_kernels_write(const struct kernel_trace *t, bool soft, uint64_t id, bool whole,
                             bool requests, uint32_t *lines, FILE *out);

/* The job's work before its first boundary is less than an iteration: a preparation, which the
 * daemon counts as an iteration. */
bool recording_kernels_prepares(const struct kernel_trace *t, uint64_t id);

/* Writes " kernels=..." for a job whose sequence was written, and the times around its iterations.
 */
void recording_kernels_job(const struct kernel_trace *t, uint64_t id, bool requests, FILE *out);

#endif
