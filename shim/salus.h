/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls by which a program tells Salus about itself. This header is installed; it needs no other
 * file of the project.
 *
 *     for (int step = 0; step < steps; step++) {
 *         if (salus_iteration) salus_iteration();
 *         ...
 *     }
 *
 * The symbols are weak: where the program does not run under Salus they are NULL. So one binary,
 * linked with nothing, runs anywhere.
 */
#ifndef SALUS_H
#define SALUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Marks the beginning of an iteration: of a training loop, or a request. All later work that is
 * sent to the device belongs to it. Device memory that was allocated since the last mark and is
 * still alive is taken for persistent memory. Any thread; does nothing before CUDA was initialised.
 */
__attribute__((weak, visibility("default"))) void salus_iteration(void);

/* Returns how long the device has worked for this process, in nanoseconds: the time of its
 * completed kernels and copies, without the time that they waited for other work. The difference
 * between two calls is the time of the work between them. -1: unknown, before CUDA was initialised
 * or after an error that ended the job. Any thread; costs next to nothing. */
__attribute__((weak, visibility("default"))) long long salus_device_ns(void);

#ifdef __cplusplus
}
#endif

#endif
