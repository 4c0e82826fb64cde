/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores the records in an array, which restarts at its beginning when all were sent.
 */
#include "shim/memory/backlog.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/err.h"
#include "shim/connection/state.h"
#include "shim/connection/submit.h"
#include "shim/lock.h"

union record {
    struct wire_record rec;
    struct wire_mem mem;
    struct wire_segment segment;
};

/* Protected by the lock of the allocators (mem.c). */
static struct {
    union record *records;
    uint32_t first, count, cap;
    uint32_t backs; /* pending MEM_BACK, MEM_SHOW, HOST_SHOW: memory the worker does not know yet */
} backlog;
static __thread bool must_tell __attribute__((tls_model("initial-exec")));

/* Stores a record. Without memory for it the client is lost: the program has none for its own calls
 * either. */
static void keep_back(const union record *rec) {
    if (backlog.count == backlog.cap) {
        uint32_t cap = backlog.cap ? backlog.cap * 2 : 64;
        union record *more = realloc(backlog.records, cap * sizeof(*more));
        if (!more) {
            state_lose(ERR_NO_MEMORY);
            return;
        }
        backlog.records = more;
        backlog.cap = cap;
    }
    backlog.records[backlog.count++] = *rec;
    backlog.backs += rec->rec.op == WIRE_MEM_BACK || rec->rec.op == WIRE_MEM_SHOW ||
                     rec->rec.op == WIRE_HOST_SHOW;
    must_tell = true;
}

static uint32_t length_of(const union record *rec) {
    bool segment = rec->rec.op >= WIRE_MEM_MAKE && rec->rec.op != WIRE_HOST_SHOW;
    return segment ? sizeof(rec->segment) : sizeof(rec->mem);
}

static void tell_record(union record *rec) {
    uint64_t credit;
    if (state_fault()) return;
    if (backlog.count > 0 || !submit_try(rec, length_of(rec), &credit)) keep_back(rec);
}

void backlog_tell(uint16_t op, uint64_t addr, uint64_t bytes) {
    union record rec = {.mem = {.rec = {.op = op}, .addr = addr, .bytes = bytes}};
    tell_record(&rec);
}

void backlog_tell_segment(const struct wire_segment *segment) {
    union record rec = {.segment = *segment};
    tell_record(&rec);
}

void backlog_need_memory(void) {
    must_tell |= backlog.backs > 0;
}

/* Sends the stored records; true when none is left. The caller holds the lock of the allocators. */
static bool send_kept(uint64_t *credit) {
    while (backlog.first < backlog.count) {
        union record *rec = &backlog.records[backlog.first];
        if (!submit_try(rec, length_of(rec), credit)) return false;
        backlog.first++;
    }
    backlog.first = backlog.count = backlog.backs = 0;
    return true;
}

void backlog_send(pthread_mutex_t *books) {
    uint64_t credit = 0;
    lock_assert_none();
    while (must_tell) {
        lock_enter(books);
        must_tell = !send_kept(&credit);
        lock_leave(books);
        if (must_tell && submit_wait(credit)) must_tell = false;
    }
}

void backlog_send_all(pthread_mutex_t *books) {
    must_tell = true;
    backlog_send(books);
}
