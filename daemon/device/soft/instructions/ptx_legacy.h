/* SPDX-License-Identifier: Apache-2.0
 *
 * The defaults of early PTX. Before PTX 1.4, and for targets before sm_20, an opcode could leave
 * out qualifiers that later versions demand. Single precision then flushed subnormal numbers
 * without a qualifier for it. NVIDIA's driver still accepts such modules. Here their opcodes are
 * rewritten in the later spelling before any other code reads them.
 */
#ifndef DAEMON_DEVICE_SOFT_INSTRUCTIONS_PTX_LEGACY_H
#define DAEMON_DEVICE_SOFT_INSTRUCTIONS_PTX_LEGACY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PTX_LEGACY_BYTES 96u

/* Writes the opcode in today's spelling for a module of this version (14 for 1.4) and target.
 * Returns false, without writing `out`, if the opcode needs no change. */
bool ptx_legacy(uint32_t version, uint32_t target, const char *text, size_t len,
                char out[PTX_LEGACY_BYTES]);

#endif
