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

#ifdef __cplusplus
}
#endif

#endif
