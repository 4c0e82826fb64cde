/* SPDX-License-Identifier: Apache-2.0
 *
 * Arguments and results of functions that are not PTX.
 */
#ifndef DAEMON_DEVICE_SOFT_RUNTIME_NATIVE_CALL_H
#define DAEMON_DEVICE_SOFT_RUNTIME_NATIVE_CALL_H

#include <stdint.h>

#include "daemon/device/soft/launch/warp.h"

/* Reads the first `bytes` bytes of the lane's k-th argument; zeros if the argument is shorter. */
void native_bytes(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint32_t k,
                  void *out, uint32_t bytes);
uint64_t native_argument(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint32_t k);
void native_result(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t v);

/* Read and write the client's memory with a range check. Return false after a fault. */
bool native_read(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t addr,
                 void *out, uint32_t bytes);
bool native_write(struct warp_ctx *x, const struct code_inst *i, uint32_t lane, uint64_t addr,
                  const void *from, uint32_t bytes);

#endif
