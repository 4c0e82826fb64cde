/* SPDX-License-Identifier: Apache-2.0
 *
 * Slots for answers. A slot whose request was sent and never answered is not used again: the worker
 * could still write to it.
 */
#include "shim/connection/reply.h"

#include <sched.h>
#include <string.h>

#include "common/err.h"
#include "shim/connection/state.h"
#include "shim/connection/submit.h"
#include "shim/connection/wait.h"

_Static_assert(WIRE_REPLIES == 64, "one bit a slot");

static _Atomic uint64_t busy_slots;
static _Atomic uint64_t last_ticket;

static CUresult take_slot(uint32_t *slot) {
    for (;;) {
        uint64_t busy = atom_load_relaxed(&busy_slots);
        if (~busy) {
            uint32_t free_slot = (uint32_t)__builtin_ctzll(~busy);
            if (atom_cas(&busy_slots, &busy, busy | 1ull << free_slot)) {
                *slot = free_slot;
                return CUDA_SUCCESS;
            }
            continue;
        }
        CUresult r = state_fault();
        if (r) return r;
        sched_yield();
    }
}

static void give_slot(uint32_t slot) {
    uint64_t busy = atom_load_relaxed(&busy_slots);
    while (!atom_cas(&busy_slots, &busy, busy & ~(1ull << slot))) {
    }
}

struct awaited {
    uint32_t slot;
    uint64_t ticket;
};

static bool answered(const void *arg) {
    const struct awaited *a = arg;
    return atom_load_acquire(&state.conn.completion->replies[a->slot].ticket) == a->ticket;
}

static CUresult take_answer(uint32_t slot, struct reply *out) {
    const struct wire_reply *from = &state.conn.completion->replies[slot];
    struct reply copy = {.result = from->result, .cuda = from->cuda, .bytes = from->bytes};
    if (copy.bytes > sizeof(copy.data)) copy.bytes = sizeof(copy.data);
    memcpy(copy.data, from->data, copy.bytes);
    give_slot(slot);
    if (out) *out = copy;
    if (copy.cuda) return (CUresult)copy.cuda;
    return copy.result < 0 ? (CUresult)err_cuda(copy.result) : CUDA_SUCCESS;
}

CUresult reply_call_by(CUresult (*send)(void *arg, uint32_t slot, uint64_t ticket), void *arg,
                       struct reply *out) {
    struct awaited a = {.ticket = atom_add(&last_ticket, 1) + 1};
    CUresult r = take_slot(&a.slot);
    if (r) return r;
    r = send(arg, a.slot, a.ticket);
    if (r) {
        give_slot(a.slot); /* no request was sent, so the worker will not write to the slot */
        return r;
    }
    r = wait_until(answered, &a);
    return r ? r : take_answer(a.slot, out);
}

struct record {
    void *head;
    const void *tail;
    uint32_t head_bytes, tail_bytes;
};

static CUresult send_record(void *arg, uint32_t slot, uint64_t ticket) {
    const struct record *s = arg;
    struct wire_record *rec = s->head;
    rec->reply = (uint16_t)slot;
    rec->ticket = ticket;
    return submit_record(s->head, s->head_bytes, s->tail, s->tail_bytes);
}

CUresult reply_call(void *head, uint32_t head_bytes, const void *tail, uint32_t tail_bytes,
                    struct reply *out) {
    struct record s = {head, tail, head_bytes, tail_bytes};
    return reply_call_by(send_record, &s, out);
}
