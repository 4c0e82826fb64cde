/* SPDX-License-Identifier: Apache-2.0
 *
 * Every message length is written in five bytes, so that one pass suffices.
 */
#include "daemon/predict/onnx/slim.h"

#include <errno.h>
#include <onnx.pb-c.h>
#include <stdbool.h>
#include <string.h>

#define LENGTH_BYTES 5u

enum wire { WIRE_VARINT = 0, WIRE_EIGHT = 1, WIRE_BYTES = 2, WIRE_FOUR = 5 };

struct span {
    const unsigned char *at, *end;
};

struct slim {
    struct buf *out;
    struct complaint *why;
};

/* One field of a message in the file. */
struct field {
    uint32_t number;
    enum wire wire;
    struct span whole, content; /* with tag and length; without */
};

static bool take_varint(struct span *s, uint64_t *out) {
    *out = 0;
    for (unsigned shift = 0; shift < 64 && s->at < s->end; shift += 7) {
        unsigned char c = *s->at++;

        *out |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80)) return true;
    }
    return false;
}

static bool take_bytes(struct span *s, uint64_t count) {
    if (count > (uint64_t)(s->end - s->at)) return false;
    s->at += count;
    return true;
}

static bool take_field(struct span *s, struct field *f) {
    uint64_t tag, length;

    f->whole.at = s->at;
    if (!take_varint(s, &tag) || tag >> 3 == 0 || tag >> 3 > INT32_MAX >> 2) return false;
    f->number = (uint32_t)(tag >> 3);
    f->wire = (enum wire)(tag & 7);
    f->content.at = s->at;
    switch (f->wire) {
    case WIRE_VARINT:
        if (!take_varint(s, &length)) return false;
        break;
    case WIRE_EIGHT:
    case WIRE_FOUR:
        if (!take_bytes(s, f->wire == WIRE_EIGHT ? 8 : 4)) return false;
        break;
    case WIRE_BYTES:
        if (!take_varint(s, &length)) return false;
        f->content.at = s->at;
        if (!take_bytes(s, length)) return false;
        break;
    default: return false; /* groups, which ONNX does not use */
    }
    f->whole.end = f->content.end = s->at;
    return true;
}

/* Tests whether to drop a field: documentation, training graphs, and long data of a tensor. */
static bool left_out(const ProtobufCMessageDescriptor *d, const ProtobufCFieldDescriptor *known,
                     const struct field *f) {
    if (!known || strcmp(known->name, "doc_string") == 0) return true;
    if (d == &onnx__model_proto__descriptor)
        return strcmp(known->name, "metadata_props") == 0 ||
               strcmp(known->name, "training_info") == 0;
    return d == &onnx__tensor_proto__descriptor &&
           f->content.end - f->content.at > (ptrdiff_t)SLIM_DATA_BYTES;
}

static int copy(struct slim *s, struct span what) {
    size_t bytes = (size_t)(what.end - what.at);

    if (s->out->len + bytes + LENGTH_BYTES > SLIM_BYTES_MAX)
        return complaint_say(s->why, "without its weights the model still has more than %u MiB",
                             SLIM_BYTES_MAX >> 20);
    return buf_append(s->out, what.at, bytes) ? complaint_memory(s->why) : 0;
}

static void put_length(unsigned char *at, size_t length) {
    for (unsigned i = 0; i < LENGTH_BYTES; i++, length >>= 7)
        at[i] = (unsigned char)((length & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
}

static int walk_message(struct slim *s, const ProtobufCMessageDescriptor *d, struct span m,
                        unsigned depth);

static int walk_inner(struct slim *s, const ProtobufCMessageDescriptor *d, const struct field *f,
                      unsigned depth) {
    unsigned char tag[LENGTH_BYTES];
    size_t at, n = 0;
    int err;

    for (uint32_t v = f->number << 3 | WIRE_BYTES; n == 0 || v; v >>= 7)
        tag[n++] = (unsigned char)((v & 0x7f) | (v >> 7 ? 0x80 : 0));
    err = copy(s, (struct span){tag, tag + n});
    at = s->out->len;
    if (!err && !buf_extend(s->out, LENGTH_BYTES)) err = complaint_memory(s->why);
    if (!err) err = walk_message(s, d, f->content, depth + 1);
    if (!err) put_length(s->out->data + at, s->out->len - at - LENGTH_BYTES);
    return err;
}

/* Rejects a repeated singular field. protobuf-c merges each repetition anew, which takes quadratic
 * time for a file of nothing else. */
static int note_once(struct slim *s, const ProtobufCMessageDescriptor *d,
                     const ProtobufCFieldDescriptor *known, uint64_t *seen) {
    uint64_t bit = (uint64_t)1 << (known - d->fields); /* no message of ONNX has 64 fields */

    if (known->label == PROTOBUF_C_LABEL_REPEATED) return 0;
    if (*seen & bit) return complaint_say(s->why, "its '%s' is there twice", known->name);
    *seen |= bit;
    return 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by SLIM_DEPTH */
static int walk_message(struct slim *s, const ProtobufCMessageDescriptor *d, struct span m,
                        unsigned depth) {
    struct field f;
    uint64_t seen = 0; /* bit set of the singular fields seen */
    int err = 0;

    if (depth > SLIM_DEPTH)
        return complaint_say(s->why, "its parts lie more than %u deep within each other",
                             SLIM_DEPTH);
    while (!err && m.at < m.end) {
        const ProtobufCFieldDescriptor *known;

        if (!take_field(&m, &f)) return complaint_say(s->why, "its bytes are no protobuf message");
        known = protobuf_c_message_descriptor_get_field(d, f.number);
        if (left_out(d, known, &f)) continue;
        if (known->type != PROTOBUF_C_TYPE_MESSAGE)
            err = copy(s, f.whole);
        else if (f.wire != WIRE_BYTES)
            return complaint_say(s->why, "its bytes are no ONNX: '%s' is no message", known->name);
        else if (!(err = note_once(s, d, known, &seen)))
            err = walk_inner(s, known->descriptor, &f, depth);
    }
    return err;
}

int slim_model(const unsigned char *bytes, size_t count, struct buf *out, struct complaint *why) {
    struct slim s = {out, why};

    return walk_message(&s, &onnx__model_proto__descriptor, (struct span){bytes, bytes + count}, 0);
}
