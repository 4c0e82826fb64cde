/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals of the worker's: what is behind events that several processes of a user see. Processes
 * tell each other by other ways that they recorded one, or wait for it; so both return when the
 * worker has read of it. Any thread, with no lock held.
 */
#ifndef SHIM_CONTEXT_SIGNAL_H
#define SHIM_CONTEXT_SIGNAL_H

#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

struct stream;

/* Numbers begin at 1, so that 0 is none. A new one, or that of whoever has this key:
 * CUDA_ERROR_NOT_FOUND. CUDA_ERROR_OUT_OF_MEMORY when there are too many. */
CUresult signal_make(uint32_t *signal);
CUresult signal_open(const uint64_t *key, uint32_t *signal);
void signal_close(uint32_t signal);

CUresult signal_key(uint32_t signal, uint64_t *key);

/* Behind all that was sent to the stream, of which it is `seq`. `event`: see wire_event_record. */
CUresult signal_record(uint32_t signal, const struct stream *s, uint32_t event, uint64_t *seq);
/* What is sent to the stream later waits for what was recorded last. */
CUresult signal_await(uint32_t signal, const struct stream *s);

/* CUDA_ERROR_NOT_READY unless what was recorded last is complete; until it is. `owner`: index of
 * the context. */
CUresult signal_ask(uint32_t signal);
CUresult signal_wait(uint32_t signal, uint32_t owner);

#endif
