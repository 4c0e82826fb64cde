/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels, which may be referenced before they are defined.
 */
#ifndef DAEMON_DEVICE_SOFT_PTX_PTX_LABEL_H
#define DAEMON_DEVICE_SOFT_PTX_PTX_LABEL_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/soft/ptx/ptx_lex.h"

struct ptx_parser;

struct ptx_targets {
    int32_t *table;
    uint32_t count;
};

struct ptx_fixup { /* a reference to a label that was not defined yet */
    const char *text;
    uint32_t len, line;
    uint32_t inst, operand;
    int32_t *where; /* entry of a branch table; NULL: operand `operand` of `inst` */
};

/* Declares a label of the next instruction in the open scope. */
void ptx_label(struct ptx_parser *p, const struct ptx_token *name);
/* Resolves references made since `from`. Unresolved ones stay for the enclosing scope, or with
 * `all` are errors. */
void ptx_resolve_labels(struct ptx_parser *p, uint32_t from, bool all);

#endif
