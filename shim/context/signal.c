/* SPDX-License-Identifier: Apache-2.0
 *
 * Signals, by number.
 */
#include "shim/context/signal.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "proto/wire/wire.h"
#include "shim/connection/refuse.h"
#include "shim/connection/reply.h"
#include "shim/connection/submit.h"
#include "shim/connection/wait.h"
#include "shim/context/stream.h"
#include "shim/lock.h"
#include "shim/table.h"

static bool taken[WIRE_SIGNALS];
static pthread_mutex_t signal_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- numbers --------------------------------------------------------------------------------- */

/* Returns WIRE_SIGNALS when no number is free. */
static uint32_t take_number(void) {
    uint32_t i = 0, most = table_most(WIRE_SIGNALS, WIRE_SIGNALS_FIRST);
    lock_enter(&signal_lock);
    while (i < most && taken[i])
        i++;
    if (i < most) taken[i] = true;
    lock_leave(&signal_lock);
    if (i < most) return i;
    refuse_more(REFUSE_SHARED_EVENTS, most);
    return WIRE_SIGNALS;
}

static void give_number(uint32_t i) {
    lock_enter(&signal_lock);
    taken[i] = false;
    lock_leave(&signal_lock);
}

static CUresult ask(uint16_t op, uint32_t number, const uint64_t *key,
                    struct wire_signal_reply *out) {
    struct wire_signal rec = {.rec = {.op = op}, .signal = number};
    struct reply answer;
    if (key) memcpy(rec.key, key, sizeof(rec.key));
    CUresult r = reply_call(&rec, sizeof(rec), NULL, 0, &answer);
    if (!r) memcpy(out, answer.data, sizeof(*out));
    return r;
}

static CUresult begin(uint16_t op, const uint64_t *key, uint32_t *signal) {
    struct wire_signal_reply got;
    uint32_t number = take_number();
    if (number == WIRE_SIGNALS) return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult r = ask(op, number, key, &got);
    if (r)
        give_number(number);
    else
        *signal = number + 1;
    return r;
}

CUresult signal_make(uint32_t *signal) {
    return begin(WIRE_SIGNAL_MAKE, NULL, signal);
}

CUresult signal_open(const uint64_t *key, uint32_t *signal) {
    return begin(WIRE_SIGNAL_OPEN, key, signal);
}

/* Tells the worker before the number can be used again. */
void signal_close(uint32_t signal) {
    struct wire_signal rec = {.rec = {.op = WIRE_SIGNAL_CLOSE}, .signal = signal - 1};
    submit_record(&rec, sizeof(rec), NULL, 0);
    give_number(signal - 1);
}

CUresult signal_key(uint32_t signal, uint64_t *key) {
    struct wire_signal_reply got;
    CUresult r = ask(WIRE_SIGNAL_ASK, signal - 1, NULL, &got);
    if (!r) memcpy(key, got.key, sizeof(got.key));
    return r;
}

/* ---- in streams ------------------------------------------------------------------------------ */

/* Waits until the worker has read all that was sent. A process that hears of the record from this
 * one is then read later. */
static CUresult settle(void) {
    struct wire_ping rec = {.rec = {.op = WIRE_PING}};
    return reply_call(&rec, sizeof(rec), NULL, 0, NULL);
}

CUresult signal_record(uint32_t signal, const struct stream *s, uint32_t event, uint64_t *seq) {
    struct wire_event_record rec = {
        .rec = {.op = WIRE_EVENT_RECORD, .stream = s->id}, .event = event, .signal = signal};
    CUresult r = submit_ordered(&rec, sizeof(rec), NULL, 0, seq);
    return r ? r : settle();
}

static CUresult send_wait(uint32_t signal, const struct stream *s, uint64_t *seq) {
    struct wire_stream_wait rec = {.rec = {.op = WIRE_STREAM_WAIT, .stream = s->id},
                                   .on = WIRE_ON_SIGNAL | (signal - 1)};
    return submit_ordered(&rec, sizeof(rec), NULL, 0, seq);
}

CUresult signal_await(uint32_t signal, const struct stream *s) {
    CUresult r = send_wait(signal, s, NULL);
    return r ? r : settle();
}

CUresult signal_ask(uint32_t signal) {
    struct wire_signal_reply got;
    CUresult r = ask(WIRE_SIGNAL_ASK, signal - 1, NULL, &got);
    if (r) return r;
    return got.done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

/* Waits in a stream of its own, so that no later work queues behind the wait. */
CUresult signal_wait(uint32_t signal, uint32_t owner) {
    CUstream handle;
    uint64_t seq;
    CUresult r = stream_create(owner, CU_STREAM_NON_BLOCKING, STREAM_PRIORITY_LEAST, &handle);
    if (r) return r;
    const struct stream *s = stream_find(handle);
    r = send_wait(signal, s, &seq);
    if (!r) r = wait_stream(s->id, seq);
    stream_close(handle);
    return r;
}
