/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/onnx/model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/predict/onnx/netgraph_build.h"
#include "daemon/predict/onnx/slim.h"

#define EXPORT "export one with torch.onnx.export (PyTorch) or tf2onnx (TensorFlow)"

/* Recognises common files that are not ONNX models; NULL if the file is none of these. */
static const char *known_as(const unsigned char *bytes, size_t count) {
    if (count == 0) return "the file is empty";
    if (count >= 4 && memcmp(bytes, "PK\3\4", 4) == 0)
        return "the file is a zip archive, as torch.save writes, and not an ONNX model";
    if (bytes[0] == '{' || bytes[0] == '<' || bytes[0] == '#')
        return "the file is text and not an ONNX model";
    if (count >= 8 && memcmp(bytes, "\x89HDF\r\n\x1a\n", 8) == 0)
        return "the file is HDF5, as Keras writes, and not an ONNX model";
    return NULL;
}

static int refuse(const unsigned char *bytes, size_t count, struct complaint *why) {
    const char *known = known_as(bytes, count);
    char detail[160];

    snprintf(detail, sizeof(detail), "%.150s", why->text);
    if (known) return complaint_say(why, "%s: " EXPORT, known);
    return complaint_say(why, "the file is not an ONNX model (%s): " EXPORT, detail);
}

static int unpack(struct netgraph *g, const struct buf *slim, struct complaint *why) {
    ProtobufCAllocator *a = &g->memory.allocator;
    Onnx__ModelProto *m = onnx__model_proto__unpack(a, slim->len, slim->data);

    if (m) {
        g->message = m;
        return 0;
    }
    /* protobuf-c does not tell a memory error from a malformed message. */
    if (g->memory.refused) return complaint_memory(why);
    return complaint_say(why, "its fields are not those of ONNX");
}

static int read_slim(struct netgraph *g, const unsigned char *bytes, size_t count,
                     struct complaint *why) {
    struct buf slim;
    int err;

    buf_init(&slim);
    err = slim_model(bytes, count, &slim, why);
    if (!err) err = unpack(g, &slim, why);
    buf_finish(&slim);
    return err;
}

int model_read(struct netgraph *g, const unsigned char *bytes, size_t count,
               struct complaint *why) {
    const Onnx__ModelProto *m;
    int err;

    *g = (struct netgraph){0};
    *why = (struct complaint){{0}};
    bounded_init(&g->memory, BOUNDED_MODEL_BYTES);
    err = read_slim(g, bytes, count, why);
    if (err == -EINVAL) return refuse(bytes, count, why);
    if (err) return err;
    m = g->message;
    if (!m->graph || m->graph->n_node == 0) {
        complaint_say(why, "it has no graph");
        return refuse(bytes, count, why);
    }
    return netgraph_build(g, m, why);
}
