/* SPDX-License-Identifier: Apache-2.0
 *
 * Chooses among the three builds of the handlers by cpuid. SALUS_SOFT_ISA=base|v3|v4 lowers the
 * choice for tests; a build that the processor cannot run is never chosen.
 */
#include "daemon/device/soft/isa/dispatch/select.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/instructions/ptx_tables.h"
#include "daemon/device/soft/isa/arithmetic/isa.h"
#include "daemon/device/soft/isa/matrix/matrix.h"
#include "daemon/device/soft/isa/memory/access.h"
#include "daemon/device/soft/isa/memory/copy.h"
#include "daemon/device/soft/isa/texture/fetch.h"

static const struct select_build {
    const char *name;
    code_handler *(*table)(const struct code_inst *i);
    code_handler *(*access)(const struct code_inst *i);
    code_handler *(*matrix)(const struct code_inst *i);
    code_handler *(*copy)(const struct code_inst *i);
    code_handler *(*fetch)(const struct ptx_texture *form);
} select_builds[] = {
    {"base", table_select_base, access_select_base, matrix_select_base, copy_select_base,
     fetch_select_base},
    {"v3", table_select_v3, access_select_v3, matrix_select_v3, copy_select_v3, fetch_select_v3},
    {"v4", table_select_v4, access_select_v4, matrix_select_v4, copy_select_v4, fetch_select_v4},
};

/* Returns how many of the builds this processor can run. */
static unsigned best_usable(void) {
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    return v4 ? 3 : v3 ? 2 : 1;
}

/* Computes the choice at each call. Racing calls compute the same value, so this is harmless; and
 * since the environment is read each time, a test can try all builds in one process. */
static const struct select_build *chosen_build(void) {
    unsigned usable = best_usable();
    const char *want = getenv("SALUS_SOFT_ISA");
    for (unsigned k = 0; want && k < usable; k++)
        if (!strcmp(select_builds[k].name, want)) return &select_builds[k];
    return &select_builds[usable - 1];
}

code_handler *isa_select(const struct code_inst *i) {
    return i->d == CODE_NO_SLOT ? NULL : chosen_build()->table(i);
}

code_handler *isa_select_access(const struct code_inst *i) {
    code_handler *run = chosen_build()->access(i);
    return run;
}

code_handler *isa_select_copy(const struct code_inst *i) {
    code_handler *run = chosen_build()->copy(i);
    return run;
}

code_handler *isa_select_fetch(const struct ptx_texture *form) {
    code_handler *run = chosen_build()->fetch(form);
    return run;
}

code_handler *isa_select_matrix(const struct code_inst *i) {
    code_handler *run = chosen_build()->matrix(i);
    return run;
}

const char *isa_name(void) {
    return chosen_build()->name;
}

static uint32_t type_bytes(enum ptx_type t) {
    const uint32_t bytes = ptx_type_bytes(t);
    return t == PTX_PRED ? 0 : bytes < 2 ? 2 : bytes; /* 8-bit registers have 16-bit lanes */
}

uint32_t isa_operand_bytes(const struct ptx_inst *i, uint32_t operand) {
    const uint32_t bytes = type_bytes(i->types[0]);
    switch (i->op) {
    case PTX_OP_shl:
    case PTX_OP_shr: return operand >= 2 ? 4 : bytes;
    case PTX_OP_bfe: return operand >= 2 ? 4 : bytes;
    case PTX_OP_bfi: return operand >= 3 ? 4 : bytes;
    case PTX_OP_mul:
    case PTX_OP_mad: return operand == 3 && (i->mods & PTX_MOD_WIDE) ? 2 * bytes : bytes;
    case PTX_OP_selp:
    case PTX_OP_setp: return operand == 3 ? 0 : bytes;
    case PTX_OP_set: return operand == 3 ? 0 : type_bytes(i->types[1]);
    case PTX_OP_slct: return type_bytes(i->types[operand == 3]);
    case PTX_OP_cvt: return operand == 3 ? 4 : type_bytes(i->types[1]);
    case PTX_OP_lop3: return operand == 5 ? 0 : bytes;
    default: return bytes;
    }
}
