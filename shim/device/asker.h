/* SPDX-License-Identifier: Apache-2.0
 *
 * Which compute capability who asks is told. NVIDIA's libraries (cuBLAS, cuDNN and others) have
 * machine code for the devices that they know and PTX for newer ones alone; compilers at run time
 * know no such device. So on a device that runs PTX only these libraries are told of a newer one,
 * and what they load is chosen for it, unless the job asked for one capability. Any thread, once
 * state_ready.
 *
 * And whether it is a runtime that asks: it hands some results on unchanged that the driver does
 * not give to programs.
 */
#ifndef SHIM_DEVICE_ASKER_H
#define SHIM_DEVICE_ASKER_H

#include <stdbool.h>
#include <stdint.h>

/* 90 for 9.0. `caller`: an address in the code that asks. */
uint32_t asker_capability(const void *caller);

/* For what `caller` loads: 0 where that is what everybody is told. */
uint32_t asker_image_capability(const void *caller);

/* `caller` asked for what only runtimes ask for: one lies in its file. */
void asker_note_runtime(const void *caller);
/* The call that is being answered came from such a file. Slow: for errors. */
bool asker_is_runtime(void);

/* Whether a file of this name ("/x/libcublasLt.so.13") is one of these libraries. */
bool asker_is_library(const char *path);

#endif
