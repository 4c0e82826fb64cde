/* SPDX-License-Identifier: Apache-2.0
 *
 * Encodes and decodes control messages. This is the only user of msgpack. Input passes a bounded
 * scan before msgpack sees it, because msgpack-c allocates as much as a header claims (five bytes
 * can ask for 64 GiB).
 *
 * Owner: the caller, of every struct; the caller destroys ctl_out. Threads: any, one at a time.
 */
#ifndef PROTO_CONTROL_CTL_MSG_H
#define PROTO_CONTROL_CTL_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/control/ctl.h"

#define CTL_MSG_DEPTH 8
#define CTL_MSG_REQUEST_ITEMS 256
#define CTL_MSG_REPLY_ITEMS 32768
#define CTL_MSG_WHY_BYTES 160

/* Returns 0 if the bytes are exactly one msgpack object no deeper than CTL_MSG_DEPTH and with at
 * most `items` objects in total; else -EINVAL and the reason. Reads each byte at most once,
 * allocates nothing. */
int ctl_msg_scan(const void *bytes, size_t n, unsigned items, char *why, size_t cap);

/* ---- requests -------------------------------------------------------------------------------- */

struct ctl_request {
    enum ctl_verb verb;
    uint64_t given; /* bit n: argument n, an enum ctl_arg, is given */
    struct ctl_args args;
};
_Static_assert(CTL_A_COUNT <= 64, "a bit each");

static inline bool ctl_msg_given(const struct ctl_request *r, enum ctl_arg arg) {
    return r->given >> arg & 1;
}

/* Set an argument: a number, or a text, which is truncated to CTL_ARG_BYTES - 1. */
void ctl_msg_put(struct ctl_request *r, enum ctl_arg arg, int64_t number);
void ctl_msg_put_text(struct ctl_request *r, enum ctl_arg arg, const char *text);

int ctl_msg_request_encode(const struct ctl_request *r, void *out, size_t cap, size_t *bytes);

/* Returns 0, or -EINVAL with the error to answer in *error and the reason in `why`. */
int ctl_msg_request_decode(const void *bytes, size_t n, struct ctl_request *out,
                           enum ctl_error *error, char *why, size_t cap);

/* ---- replies: written by the daemon ---------------------------------------------------------- */

struct ctl_out;

struct ctl_out *ctl_msg_create(void);
void ctl_msg_destroy(struct ctl_out *o);

/* Adds a record to the list. Returns false, with nothing added, if the message would become too
 * long. */
bool ctl_msg_add(struct ctl_out *o, enum ctl_record kind, const void *record);

/* Return the whole message, which `o` owns, or -ENOMEM if an allocation failed. */
int ctl_msg_reply(struct ctl_out *o, uint64_t next, const void **bytes, size_t *n);
int ctl_msg_refusal(struct ctl_out *o, enum ctl_error error, const char *text, const char *hint,
                    const void **bytes, size_t *n);

/* ---- replies: read by the client ------------------------------------------------------------- */

struct ctl_reply {
    bool ok;
    char code[64]; /* code of a refusal */
    char text[CTL_TEXT_BYTES], hint[CTL_TEXT_BYTES];
    uint64_t next;
};

/* Decodes a reply and calls `item` for each record. Returns 0, or -EINVAL and the reason if it is
 * no reply. */
int ctl_msg_reply_decode(const void *bytes, size_t n, enum ctl_record kind, struct ctl_reply *out,
                         void (*item)(void *arg, const void *record), void *arg, char *why,
                         size_t cap);

#endif
