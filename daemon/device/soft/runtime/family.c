/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/device/soft/runtime/family.h"

#include "daemon/device/soft/runtime/nest.h"

int family_begin(struct family *f, const struct launch_config *config) {
    bool nests = config->kernel->nests && config->runtime;
    return nests ? nest_create(&f->nest, config) : grid_create(&f->grid, config);
}

enum grid_state family_step(struct family *f, uint32_t budget) {
    return f->grid ? grid_step(f->grid, budget) : nest_step(f->nest, budget);
}

bool family_asked(const struct family *f) {
    return f->grid ? grid_asked(f->grid) : nest_asked(f->nest);
}

void family_settle(struct family *f) {
    if (f->grid) grid_settle(f->grid);
    if (f->nest) nest_settle(f->nest);
}

void family_cancel(struct family *f, int err) {
    if (f->grid) grid_cancel(f->grid, err);
    if (f->nest) nest_cancel(f->nest, err);
}

void family_result(const struct family *f, struct grid_result *out) {
    if (f->grid)
        grid_result(f->grid, out);
    else
        nest_result(f->nest, out);
}

void family_finish(struct family *f) {
    grid_destroy(f->grid);
    nest_destroy(f->nest);
    *f = (struct family){0};
}
