/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables of a client's modules, saved and brought back with its memory
 * (estate/savepoint.h): granule by granule, each with a spare of its own, in the order of the
 * modules' numbers. Where a device's variables cannot have been written
 * (dev_variables_ops.granule_save is NULL), there is nothing to do.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_KERNEL_VARIABLES_H
#define DAEMON_WORKER_KERNEL_VARIABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/device.h"
#include "daemon/worker/estate/savepoint.h"
#include "daemon/worker/kernel/object.h"

struct variables {
    void *spares[SAVEPOINT_GRANULES]; /* NULL from the first on that was never needed */
};

/* Where they are, of all modules: into the savepoint's header, which does not count now. 0;
 * -ENOSPC: they are too many; -EADDRNOTAVAIL: some are in host memory. */
int variables_list(const struct objects *o, const struct dev_ops *ops, struct savepoint *k);
/* The module was just placed, and nothing of it has run: into the savepoint, which counts. 0,
 * -ENOSPC, -EADDRNOTAVAIL, -ENOMEM or the device's error. */
int variables_add(struct variables *v, const struct dev_ops *ops, struct dev *dev,
                  struct savepoint *k, const struct module *m);
/* They are in it already, all of them. */
bool variables_saved(const struct dev_ops *ops, const struct savepoint *k, const struct module *m);
/* Saves from the granule *at on, at most so many; *at is where to go on, h->granule_count at the
 * end. 0, -ENOMEM, or the device's error. */
int variables_save(struct variables *v, const struct dev_ops *ops, struct dev *dev,
                   struct savepoint *k, uint32_t *at, uint32_t most);

/* Between the device's open and memory_settle: what an earlier worker saved. 0, or spare_adopt's
 * error with nothing taken. */
int variables_adopt(struct variables *v, const struct dev_ops *ops, struct dev *dev,
                    struct savepoint *k);
/* The module is placed where it was, and has what was saved. -ENOENT: of a part of it nothing was.
 */
int variables_load(const struct variables *v, const struct dev_ops *ops, struct dev *dev,
                   const struct savepoint *k, const struct module *m);
void variables_finish(struct variables *v, const struct dev_ops *ops, struct dev *dev);

#endif
