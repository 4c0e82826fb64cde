/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables of a client's modules, saved and restored with its memory (recovery/savepoint.h):
 * granule by granule, each with a spare of its own, in the order of the modules' numbers. On a
 * device without dev_ops.variables there is nothing to do.
 *
 * Owner: the client. Thread: the worker's.
 */
#ifndef DAEMON_WORKER_KERNEL_VARIABLES_H
#define DAEMON_WORKER_KERNEL_VARIABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/device/device.h"
#include "daemon/worker/kernel/object.h"
#include "daemon/worker/recovery/savepoint.h"

struct variables {
    void *spares[SAVEPOINT_GRANULES]; /* NULL from the first spare on that was never needed */
};

/* Writes the places of all modules' variables into the savepoint's header, while the savepoint is
 * not valid. 0; -ENOSPC: there are too many; -EADDRNOTAVAIL: some are in host memory. */
int variables_list(const struct objects *o, const struct dev_ops *ops, struct savepoint *k);
/* Adds a module to a valid savepoint; it was just placed and nothing of it has run. 0, -ENOSPC,
 * -EADDRNOTAVAIL, -ENOMEM or the device's error. */
int variables_add(struct variables *v, const struct dev_ops *ops, struct dev *dev,
                  struct savepoint *k, const struct module *m);
/* True when the savepoint has all variables of the module. */
bool variables_saved(const struct dev_ops *ops, const struct savepoint *k, const struct module *m);
/* Saves at most `most` granules, from index *at on, and advances *at; it is
 * k->header->granule_count once all are saved. 0, -ENOMEM, or the device's error. */
int variables_save(struct variables *v, const struct dev_ops *ops, struct dev *dev,
                   struct savepoint *k, uint32_t *at, uint32_t most);

/* Adopts the granules that an earlier worker saved; called between the device's open and
 * memory_settle. 0, or spare_adopt's error with nothing taken. */
int variables_adopt(struct variables *v, const struct dev_ops *ops, struct dev *dev,
                    struct savepoint *k);
/* Restores the saved variables of a module that is placed where it was before. 0; -ENOENT: a part
 * of it was not saved; or the device's error. */
int variables_load(const struct variables *v, const struct dev_ops *ops, struct dev *dev,
                   const struct savepoint *k, const struct module *m);
/* Frees the spares. */
void variables_finish(struct variables *v, const struct dev_ops *ops, struct dev *dev);

#endif
