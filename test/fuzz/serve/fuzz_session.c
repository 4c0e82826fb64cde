/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as an HTTP connection, whole and in pieces: both give the same output, strict readers
 * would accept every accepted request, and buffers stay within their limits. The first byte
 * determines the pieces.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/serve/http/message/session.h"

#define MAX_BODY_BYTES 5000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
    struct session s;
    struct refusal why;
    unsigned char *scratch, *body;
    uint64_t sum; /* checksum of all output */
    bool refused;
};

static void add(struct run *r, const void *data, size_t bytes) {
    const unsigned char *p = data;

    for (size_t i = 0; i < bytes; i++)
        r->sum = (r->sum ^ p[i]) * 1099511628211u;
    r->sum = (r->sum ^ bytes) * 1099511628211u;
}

static void add_text(struct run *r, const char *text) {
    add(r, text, strlen(text));
}

static void expect_strict(const struct head *h) {
    if (!h->method || !h->path) abort();
    if (!h->http10 && !h->fields[HEAD_HOST]) abort();
    if (h->fields[HEAD_BODY_BYTES] && h->fields[HEAD_CODING]) abort();
    if (!h->fields[HEAD_BODY_BYTES] && h->body_bytes) abort();
    for (int i = 0; i < HEAD_FIELDS; i++)
        for (const char *c = h->fields[i]; c && *c; c++)
            if ((*c > 0 && *c < ' ' && *c != '\t') || *c == 127) abort();
}

static void take_head(struct run *r) {
    const struct head *h = &r->s.head;

    expect_strict(h);
    add_text(r, h->method);
    add_text(r, h->path);
    for (int i = 0; i < HEAD_FIELDS; i++)
        add_text(r, h->fields[i] ? h->fields[i] : "\xff");
    add(r, &(uint8_t){(uint8_t)(h->http10 | h->keep_alive << 1 | h->expects << 2)}, 1);
    r->refused = h->fields[HEAD_CODING] || h->body_bytes > MAX_BODY_BYTES;
    if (r->refused) {
        session_answered(&r->s, true);
        return;
    }
    /* A separate block, so that a write beyond it is detected; every third body is skipped. */
    r->body = h->body_bytes % 3 == 2 ? NULL : malloc(h->body_bytes + 1);
    session_body(&r->s, r->body);
}

static void take_all(struct run *r) {
    enum session_next next;

    while ((next = session_next(&r->s, &r->why)) != SESSION_MORE) {
        if (next == SESSION_HEAD) take_head(r);
        if (next == SESSION_BAD) {
            if (r->why.status < 400 || !*r->why.text) abort();
            add_text(r, r->why.text);
        }
        if (next != SESSION_WHOLE) continue;
        if (r->s.body_bytes != r->s.head.body_bytes) abort();
        if (r->body) add(r, r->body, r->s.body_bytes);
        free(r->body);
        r->body = NULL;
        session_answered(&r->s, !r->s.head.keep_alive);
    }
    if (r->why.status && r->s.state != SESSION_OVER) abort();
}

/* `draw` determines the pieces; 0: as much at a time as fits. */
static uint64_t run(const uint8_t *data, size_t bytes, uint32_t draw) {
    struct run r = {.scratch = malloc(HEAD_MAX_BYTES)};

    session_init(&r.s);
    while (bytes) {
        size_t room, n;
        void *at = session_room(&r.s, r.scratch, &room);
        n = room;
        if (draw) {
            draw = draw * 1664525 + 1013904223;
            n = 1 + (draw >> 24 & (draw >> 16 & 1 ? 3 : 255));
        }
        if (n > room) n = room;
        if (n > bytes) n = bytes;
        if (n == 0) abort(); /* every request is answered at once */
        memcpy(at, data, n);
        session_came(&r.s, at, n);
        take_all(&r);
        if (session_keep(&r.s)) abort();
        if (r.s.bytes > HEAD_MAX_BYTES || (r.s.bytes == 0) != !r.s.kept) abort();
        memset(r.scratch, '#', HEAD_MAX_BYTES);
        data += n;
        bytes -= n;
    }
    session_finish(&r.s);
    free(r.body);
    free(r.scratch);
    return r.sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    if (run(data + 1, size - 1, 0) != run(data + 1, size - 1, data[0] + 1u)) abort();
    return 0;
}
