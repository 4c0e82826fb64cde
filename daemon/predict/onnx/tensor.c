/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/onnx/tensor.h"

#include <errno.h>
#include <string.h>

#include "daemon/predict/onnx/netgraph.h"

#define TYPE(name) ONNX__TENSOR_PROTO__DATA_TYPE__##name

static int read_shape(const Onnx__TensorProto *p, const int64_t *dims, size_t count,
                      struct shape *s, struct complaint *why) {
    const char *name = p->name ? p->name : "";

    *s = (struct shape){.rank = (uint32_t)count};
    if (count > SHAPE_RANK_MAX)
        return complaint_say(why, "its tensor '%.80s' has %zu dimensions: %u are read", name, count,
                             SHAPE_RANK_MAX);
    for (uint32_t i = 0; i < s->rank; i++)
        s->dim[i] = dims[i];
    s->known = shape_sound(s);
    if (s->known) return 0;
    return complaint_say(why, "its tensor '%.80s' has sizes that no tensor has", name);
}

int tensor_read_sparse(const Onnx__SparseTensorProto *p, struct shape *shape,
                       struct complaint *why) {
    return read_shape(p->values, p->dims, p->n_dims, shape, why);
}

/* Element i of ONNX's little-endian bytes. */
static double raw_element(int32_t type, const unsigned char *raw, uint32_t i) {
    switch (type) {
    case TYPE(INT64): {
        int64_t v;
        memcpy(&v, raw + i * sizeof(v), sizeof(v));
        return (double)v;
    }
    case TYPE(INT32): {
        int32_t v;
        memcpy(&v, raw + i * sizeof(v), sizeof(v));
        return v;
    }
    case TYPE(FLOAT): {
        float v;
        memcpy(&v, raw + i * sizeof(v), sizeof(v));
        return v;
    }
    case TYPE(DOUBLE): {
        double v;
        memcpy(&v, raw + i * sizeof(v), sizeof(v));
        return v;
    }
    default: return raw[i]; /* BOOL, UINT8 */
    }
}

static bool raw_readable(int32_t type) {
    return type == TYPE(INT64) || type == TYPE(INT32) || type == TYPE(FLOAT) ||
           type == TYPE(DOUBLE) || type == TYPE(BOOL) || type == TYPE(UINT8);
}

static double element(const Onnx__TensorProto *p, uint32_t i) {
    if (p->n_int64_data) return (double)p->int64_data[i];
    if (p->n_int32_data) return p->int32_data[i];
    if (p->n_float_data) return p->float_data[i];
    if (p->n_double_data) return p->double_data[i];
    return raw_element(p->data_type, p->raw_data.data, i);
}

/* Tests whether the file has exactly `count` elements in a supported form. */
static bool complete(const Onnx__TensorProto *p, uint32_t count) {
    if (p->n_int64_data) return p->n_int64_data == count;
    if (p->n_int32_data)
        return p->n_int32_data == count && p->data_type != TYPE(FLOAT16) &&
               p->data_type != TYPE(BFLOAT16);
    if (p->n_float_data) return p->n_float_data == count;
    if (p->n_double_data) return p->n_double_data == count;
    return p->has_raw_data && raw_readable(p->data_type) &&
           p->raw_data.len == (size_t)count * netgraph_type_bytes(p->data_type);
}

int tensor_read(struct bounded *memory, const Onnx__TensorProto *p, struct shape *shape,
                double **data, uint32_t *count, struct complaint *why) {
    int err = read_shape(p, p->dims, p->n_dims, shape, why);
    int64_t elements;

    *data = NULL;
    *count = 0;
    if (err) return err;
    elements = shape_elements(shape);
    if (elements > NETGRAPH_DATA_MAX || (elements > 0 && !complete(p, (uint32_t)elements)))
        return 0;
    *data = bounded_alloc(memory, (size_t)elements, sizeof(**data));
    if (!*data) return complaint_memory(why);
    *count = (uint32_t)elements;
    for (uint32_t i = 0; i < *count; i++)
        (*data)[i] = element(p, i);
    return 0;
}
