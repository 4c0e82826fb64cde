/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program may tell Salus about itself. Installed; needs nothing else of the project.
 *
 *     for (int step = 0; step < steps; step++) {
 *         if (salus_iteration) salus_iteration();
 *         ...
 *     }
 *
 * The symbol is weak: where the program does not run under Salus it is NULL, so that one binary,
 * linked with nothing, runs anywhere.
 */
#ifndef SALUS_H
#define SALUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* An iteration begins: of a training loop, or a request. What is sent to the device from now on
 * belongs to it, and device memory that was allocated since the last one and is still alive is
 * taken to be needed further on. Any thread; does nothing before CUDA was initialised. */
__attribute__((weak, visibility("default"))) void salus_iteration(void);

/* How long the device has worked for this process, in nanoseconds: the time of its kernels and
 * copies that are complete, without what they waited for others. The difference between two calls
 * is what the work between them took. -1: not known, before CUDA was initialised or after an error
 * that ended the job. Any thread; costs nothing. */
__attribute__((weak, visibility("default"))) long long salus_device_ns(void);

#ifdef __cplusplus
}
#endif

#endif
