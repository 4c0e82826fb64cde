/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/shape/ops.h"

#include "daemon/predict/shape/op_index.h"
#include "daemon/predict/shape/op_layout.h"
#include "daemon/predict/shape/op_make.h"
#include "daemon/predict/shape/op_matrix.h"
#include "daemon/predict/shape/op_recurrent.h"
#include "daemon/predict/shape/op_simple.h"
#include "daemon/predict/shape/op_window.h"

#include <stdlib.h>
#include <string.h>

static const struct op ops[] = {
#define OP(name, shape, work, per_element, view) {#name, op_##shape, OPS_##work, per_element, view},
#include "daemon/predict/shape/ops.def"
#undef OP
};

static int by_name(const void *key, const void *o) {
    return strcmp(key, ((const struct op *)o)->name);
}

const struct op *ops_find(const char *name) {
    return bsearch(name, ops, sizeof(ops) / sizeof(ops[0]), sizeof(ops[0]), by_name);
}
