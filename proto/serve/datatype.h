/* SPDX-License-Identifier: Apache-2.0
 *
 * The datatypes of the Open Inference Protocol: names as in requests, and the size of an element.
 * Static data, for any thread.
 */
#ifndef PROTO_SERVE_DATATYPE_H
#define PROTO_SERVE_DATATYPE_H

#include <stddef.h>

/* X(name, bytes of an element). 0: each element has its own length. The numbers are sent to a
 * model's program (proto/serve/serve_wire.h): append only, never reorder. */
#define DATATYPE_LIST(X) \
    X(BOOL, 1)           \
    X(UINT8, 1)          \
    X(UINT16, 2)         \
    X(UINT32, 4)         \
    X(UINT64, 8)         \
    X(INT8, 1)           \
    X(INT16, 2)          \
    X(INT32, 4)          \
    X(INT64, 8)          \
    X(FP16, 2)           \
    X(FP32, 4)           \
    X(FP64, 8)           \
    X(BF16, 2)           \
    X(BYTES, 0)

enum datatype {
#define X(name, bytes) DATATYPE_##name,
    DATATYPE_LIST(X)
#undef X
        DATATYPE_COUNT,
    DATATYPE_NONE = DATATYPE_COUNT
};

/* Returns DATATYPE_NONE if there is none of that name. */
enum datatype datatype_find(const char *name);
const char *datatype_name(enum datatype type);
/* Returns the name as in a model's configuration: "TYPE_FP32". */
const char *datatype_config_name(enum datatype type);
size_t datatype_bytes(enum datatype type);

#endif
