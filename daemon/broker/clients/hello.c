/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks the magic number first, then the major version, and only then the fields of that version.
 * Another major version may have another layout, and must still be told which versions exist.
 */
#include "daemon/broker/clients/hello.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "common/err.h"
#include "common/utf8.h"
#include "daemon/broker/printable.h"
#include "proto/wire/job.h"
#include "proto/wire/wire.h"

#define HELLO_NULL_PROFILE 0x6e756c6c6e756c6cull

/* Makes a name printable, and free of characters that would end the quotes around it. */
static void take_name(const char *name, size_t cap, char *out) {
    snprintf(out, HELLO_NAME_BYTES, "%.*s", (int)cap, name);
    printable_quote(out, HELLO_NAME_BYTES);
    if (!*out) strcpy(out, "?");
}

static int check_version(uint16_t major, uint16_t minor, char *why, size_t cap) {
    if (major == WIRE_MAJOR) return 0;
    snprintf(why, cap,
             "the client's library speaks protocol %u.%u, this salusd %d.%d; install both from "
             "one release",
             major, minor, WIRE_MAJOR, WIRE_MINOR);
    return ERR_VERSION;
}

/* Marks a null job, which computes nothing, by its name wherever users see it. Its measurements are
 * used for null jobs only. */
static void mark_null(struct hello *h) {
    if (!(h->job.flags & WIRE_JOB_NULL)) return;
    job_tag(h->name, sizeof(h->name));
    if (h->job.profile) h->job.profile ^= HELLO_NULL_PROFILE;
}

int hello_check(const void *msg, size_t bytes, struct hello *out, char *why, size_t cap) {
    struct wire_hello h = {0};
    char reason[JOB_WHY_BYTES];
    int err;

    memcpy(&h, msg, bytes < sizeof(h) ? bytes : sizeof(h));
    if (bytes < offsetof(struct wire_hello, spec_hash) || h.magic != WIRE_MAGIC) {
        snprintf(why, cap,
                 "not a Salus client: its first message does not begin with the "
                 "protocol's magic number");
        return ERR_PROTOCOL;
    }
    err = check_version(h.major, h.minor, why, cap);
    if (err < 0) return err;
    if (bytes != sizeof(h) && bytes != WIRE_HELLO_BYTES_1_7) {
        snprintf(why, cap, "the hello message has %zu bytes instead of %zu", bytes, sizeof(h));
        return ERR_PROTOCOL;
    }
    take_name(h.name, sizeof(h.name), out->name);
    out->minor = h.minor;
    out->spec_hash = h.spec_hash;
    out->gpu = h.gpu;
    out->job = h.job;
    if (job_check(&out->job, reason) == 0) {
        mark_null(out);
        return 0;
    }
    snprintf(why, cap, "%s", reason);
    return ERR_PROTOCOL;
}

static uint32_t magic_of(const void *msg, size_t bytes) {
    uint32_t magic = 0;

    memcpy(&magic, msg, bytes < sizeof(magic) ? bytes : sizeof(magic));
    return magic;
}

bool hello_asks(const void *msg, size_t bytes) {
    return magic_of(msg, bytes) == WIRE_QUESTION_MAGIC;
}

bool hello_tells_exit(const void *msg, size_t bytes) {
    return magic_of(msg, bytes) == WIRE_EXIT_MAGIC;
}

bool hello_is_command(const void *msg, size_t bytes) {
    return magic_of(msg, bytes) == WIRE_COMMAND_MAGIC;
}

int hello_check_exit(const void *msg, size_t bytes, struct wire_exit *out, char *why, size_t cap) {
    struct wire_exit e = {0};
    int err;

    memcpy(&e, msg, bytes < sizeof(e) ? bytes : sizeof(e));
    err = check_version(e.major, e.minor, why, cap);
    if (err < 0) return err;
    if (bytes != sizeof(e) || e.run == 0 || e.status > UINT8_MAX || e.signal >= _NSIG ||
        (e.status && e.signal)) {
        snprintf(why, cap, "the message about a command's exit is malformed");
        return ERR_PROTOCOL;
    }
    *out = e;
    return 0;
}

int hello_check_command(const void *msg, size_t bytes, char out[WIRE_COMMAND_BYTES], char *why,
                        size_t cap) {
    struct wire_command c = {0};

    memcpy(&c, msg, bytes < sizeof(c) ? bytes : sizeof(c));
    if (bytes != sizeof(c) || c.pad || !memchr(c.text, 0, sizeof(c.text))) {
        snprintf(why, cap, "the message with the command line is malformed");
        return ERR_PROTOCOL;
    }
    snprintf(out, WIRE_COMMAND_BYTES, "%s", c.text);
    utf8_clean(out, strlen(out));
    return 0;
}

int hello_check_question(const void *msg, size_t bytes, uint32_t *gpu, char *why, size_t cap) {
    struct wire_question q = {0};
    int err;

    memcpy(&q, msg, bytes < sizeof(q) ? bytes : sizeof(q));
    err = check_version(q.major, q.minor, why, cap);
    if (err < 0) return err;
    *gpu = q.gpu;
    if (bytes == sizeof(q) && q.reserved == 0) return 0;
    snprintf(why, cap, "the question about a GPU is malformed");
    return ERR_PROTOCOL;
}

int hello_check_answer(const void *msg, size_t bytes, bool *accepted, char *why, size_t cap) {
    struct wire_answer a = {0};

    memcpy(&a, msg, bytes < sizeof(a) ? bytes : sizeof(a));
    if (bytes != sizeof(a) || a.magic != WIRE_MAGIC || a.accepted > 1) {
        snprintf(why, cap, "the answer to the offered windows is malformed");
        return ERR_PROTOCOL;
    }
    *accepted = a.accepted;
    return 0;
}

int hello_check_file(const void *msg, size_t bytes, struct wire_file *out, char *why, size_t cap) {
    struct wire_file f = {0};

    memcpy(&f, msg, bytes < sizeof(f) ? bytes : sizeof(f));
    if (bytes != sizeof(f) || (f.magic != WIRE_FILE_MAGIC && f.magic != WIRE_KEEP_MAGIC)) {
        snprintf(why, cap, "the client sent a message of an unknown kind after the handshake");
        return ERR_PROTOCOL;
    }
    if (f.file >= (f.magic == WIRE_KEEP_MAGIC ? WIRE_SEGMENTS : WIRE_FILES) ||
        f.reply >= WIRE_REPLIES || f.pad || !f.ticket) {
        snprintf(why, cap, "the message about a file descriptor is malformed");
        return ERR_PROTOCOL;
    }
    *out = f;
    return 0;
}
