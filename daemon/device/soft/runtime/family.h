/* SPDX-License-Identifier: Apache-2.0
 *
 * A launch as the device's threads run it: one grid, or a launch tree if its kernel calls the
 * device runtime. The functions mean the same as those of a grid (grid.h).
 */
#ifndef DAEMON_DEVICE_SOFT_RUNTIME_FAMILY_H
#define DAEMON_DEVICE_SOFT_RUNTIME_FAMILY_H

#include <stdbool.h>

#include "daemon/device/soft/exec/grid.h"

struct nest;

/* Both members are NULL until the launch begins. */
struct family {
    struct grid *grid;
    struct nest *nest;
};

/* Returns 0, -ENOMEM, or -EINVAL for impossible dimensions. */
int family_begin(struct family *f, const struct launch_config *config);
static inline bool family_begun(const struct family *f) {
    return f->grid || f->nest;
}
enum grid_state family_step(struct family *f, uint32_t budget);
bool family_asked(const struct family *f);
void family_settle(struct family *f);
void family_cancel(struct family *f, int err);
void family_result(const struct family *f, struct grid_result *out);
void family_finish(struct family *f);

#endif
