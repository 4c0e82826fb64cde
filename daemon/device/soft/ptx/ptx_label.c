/* SPDX-License-Identifier: Apache-2.0
 *
 * Labels are names in the scope of their block. References to labels are stored until the labels
 * are known.
 */
#include "daemon/device/soft/ptx/ptx_label.h"

#include "daemon/device/soft/ptx/ptx_parser.h"

void ptx_label(struct ptx_parser *p, const struct ptx_token *name) {
    const struct ptx_name *e = ptx_names_find(&p->names, name->text, name->len);
    if (e && e->kind == PTX_NAME_LABEL && e->depth == p->names.depth)
        return ptx_fail_at(p, name->line, "label '%.*s' is defined twice", (int)name->len,
                           name->text);
    ptx_declare(p, name, PTX_NAME_LABEL, NULL, p->insts.count);
}

static void resolve(struct ptx_parser *p, const struct ptx_fixup *fix, uint32_t target) {
    if (fix->where)
        *fix->where = (int32_t)target;
    else if (fix->inst < p->insts.count)
        ((struct ptx_inst *)p->insts.items)[fix->inst].operands[fix->operand].target =
            (int32_t)target;
}

void ptx_resolve_labels(struct ptx_parser *p, uint32_t from, bool all) {
    struct ptx_fixup *fixups = p->fixups.items;
    uint32_t kept = from;
    for (uint32_t i = from; !p->err && i < p->fixups.count; i++) {
        struct ptx_fixup fix = fixups[i];
        const struct ptx_name *e = ptx_names_find(&p->names, fix.text, fix.len);
        if (e && e->kind == PTX_NAME_LABEL)
            resolve(p, &fix, e->index);
        else if (!all)
            fixups[kept++] = fix;
        else
            ptx_fail_at(p, fix.line, "unknown name '%.*s'", fix.len > 60 ? 60 : (int)fix.len,
                        fix.text);
    }
    p->fixups.count = kept;
}
