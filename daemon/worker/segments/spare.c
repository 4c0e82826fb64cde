/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/worker/segments/spare.h"

#include <sys/mman.h>

void *spare_make(const struct dev_ops *ops, struct dev *dev, uint64_t granule) {
    if (ops->spare_make) return ops->spare_make(dev);
    void *p = mmap(NULL, granule, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

void spare_free(const struct dev_ops *ops, struct dev *dev, uint64_t granule, void *host) {
    if (ops->spare_free) ops->spare_free(dev, host);
    if (!ops->spare_free && host) munmap(host, granule);
}
