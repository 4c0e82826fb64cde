/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables generated from the list of datatypes.
 */
#include "proto/serve/datatype.h"

#include <string.h>

static const char *const names[] = {
#define X(name, bytes) #name,
    DATATYPE_LIST(X)
#undef X
};

static const unsigned char sizes[] = {
#define X(name, bytes) bytes,
    DATATYPE_LIST(X)
#undef X
};

enum datatype datatype_find(const char *name) {
    int i = 0;
    while (i < DATATYPE_COUNT && strcmp(names[i], name) != 0)
        i++;
    return (enum datatype)i;
}

const char *datatype_name(enum datatype type) {
    return type < DATATYPE_COUNT ? names[type] : "?";
}

const char *datatype_config_name(enum datatype type) {
    static const char *const config_names[] = {
#define X(name, bytes) "TYPE_" #name,
        DATATYPE_LIST(X)
#undef X
    };
    if (type == DATATYPE_BYTES) return "TYPE_STRING";
    return type < DATATYPE_COUNT ? config_names[type] : "TYPE_INVALID";
}

size_t datatype_bytes(enum datatype type) {
    return type < DATATYPE_COUNT ? sizes[type] : 0;
}
