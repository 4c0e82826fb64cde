/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals of the worker, which implement events that several processes of a user share. Processes
 * tell each other in other ways that they recorded an event or wait for it. So signal_record and
 * signal_await return only when the worker has read their record. Any thread, with no lock held.
 */
#ifndef SHIM_CONTEXT_SIGNAL_H
#define SHIM_CONTEXT_SIGNAL_H

#include <stdint.h>

#include "proto/cuda/cuda_abi.h"

struct stream;

/* Creates a signal, or opens the one with this key (CUDA_ERROR_NOT_FOUND). Numbers begin at 1; 0
 * stands for no signal. CUDA_ERROR_OUT_OF_MEMORY when there are too many. */
CUresult signal_make(uint32_t *signal);
CUresult signal_open(const uint64_t *key, uint32_t *signal);
void signal_close(uint32_t signal);

CUresult signal_key(uint32_t signal, uint64_t *key);

/* Records the signal behind all that was sent to the stream; `seq`: the position of the record
 * there. `event`: see wire_event_record. */
CUresult signal_record(uint32_t signal, const struct stream *s, uint32_t event, uint64_t *seq);
/* Makes later work of the stream wait for the signal's last record. */
CUresult signal_await(uint32_t signal, const struct stream *s);

/* signal_ask gives CUDA_ERROR_NOT_READY unless the last record is complete; signal_wait waits until
 * it is complete. `owner`: index of the context. */
CUresult signal_ask(uint32_t signal);
CUresult signal_wait(uint32_t signal, uint32_t owner);

#endif
