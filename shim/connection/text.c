/* SPDX-License-Identifier: Apache-2.0
 *
 * Drains the worker's byte ring of text into stdio, so that it keeps its place among what the
 * program itself prints.
 */
#include "shim/connection/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "shim/connection/state.h"
#include "shim/connection/wait.h"
#include "shim/lock.h"

#define TEXT_PIECE 4096

static pthread_mutex_t text_lock = PTHREAD_MUTEX_INITIALIZER;

static void copy_out(uint64_t at, void *to, size_t bytes) {
    const char *ring = state.conn.completion->text;
    size_t offset = at % WIRE_TEXT_BYTES, first = WIRE_TEXT_BYTES - offset;
    if (first > bytes) first = bytes;
    memcpy(to, ring + offset, first);
    memcpy((char *)to + first, ring, bytes - first);
}

static void show(uint64_t at, uint64_t bytes, FILE *to) {
    char piece[TEXT_PIECE];
    while (bytes > 0) {
        size_t n = bytes < sizeof(piece) ? bytes : sizeof(piece);
        copy_out(at, piece, n);
        fwrite(piece, 1, n, to);
        at += n;
        bytes -= n;
    }
    fflush(to);
}

/* Up to `written`; a length that cannot be ends it, because nothing after it can be believed. */
static uint64_t show_all(uint64_t read, uint64_t written) {
    struct {
        uint32_t bytes, to_stderr;
    } head;
    if (written - read > WIRE_TEXT_BYTES) return written;
    while (written - read >= sizeof(head)) {
        copy_out(read, &head, sizeof(head));
        if (head.bytes > written - read - sizeof(head)) return written;
        show(read + sizeof(head), head.bytes, head.to_stderr ? stderr : stdout);
        read += sizeof(head) + head.bytes;
    }
    return written;
}

void text_flush(void) {
    const struct wire_completion *comp = state.conn.completion;
    struct wire_submission *sub = state.conn.submission;
    if (atom_load_acquire(&comp->text_written) == atom_load_relaxed(&sub->text_read)) return;
    int saved = errno;
    lock_enter(&text_lock);
    uint64_t written = atom_load_acquire(&comp->text_written);
    uint64_t read = show_all(atom_load_relaxed(&sub->text_read), written);
    atom_store_release(&sub->text_read, read);
    lock_leave(&text_lock);
    errno = saved;
}

/* After main: what the last kernels wrote. */
static __attribute__((destructor)) void drain_at_exit(void) {
    if (state_ready()) return;
    wait_follow();
    text_flush();
}
