/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/worker/segments/spare.h"

#include <sys/mman.h>

#include "daemon/device/device_spares.h"

void *spare_make(const struct dev_ops *ops, struct dev *dev, uint64_t granule) {
    if (ops->spares) return ops->spares->spare_make(dev);
    void *p = mmap(NULL, granule, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void spare_free(const struct dev_ops *ops, struct dev *dev, uint64_t granule, void *host) {
    if (ops->spares) ops->spares->spare_free(dev, host);
    if (!ops->spares && host) munmap(host, granule);
}
