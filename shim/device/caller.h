/* SPDX-License-Identifier: Apache-2.0
 *
 * The compute capability that a caller is told. NVIDIA's libraries (cuBLAS, cuDNN and others) have
 * machine code for the devices that they know, and PTX only for newer ones; run-time compilers know
 * no newer device. So on a device that runs only PTX, these libraries are told of a newer device,
 * and the code that they load is chosen for it, unless the job asked for one capability.
 *
 * The file also tells whether a runtime is calling: a runtime passes on some results unchanged that
 * the driver does not give to programs. Any thread, once state_ready.
 */
#ifndef SHIM_DEVICE_CALLER_H
#define SHIM_DEVICE_CALLER_H

#include <stdbool.h>
#include <stdint.h>

/* Returns 90 for 9.0. `caller`: an address in the calling code. */
uint32_t caller_capability(const void *caller);

/* The capability for code that `caller` loads; 0: the one that every caller is told. */
uint32_t caller_image_capability(const void *caller);

/* Called when `caller` asked for something that only runtimes ask for: its file contains a runtime.
 */
void caller_note_runtime(const void *caller);
/* True when the current call came from such a file. Slow: for errors only. */
bool caller_is_runtime(void);

/* True when a file of this name ("/x/libcublasLt.so.13") is one of NVIDIA's libraries. */
bool caller_is_library(const char *path);

#endif
