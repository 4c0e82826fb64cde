/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA writes domains with four digits, NVML with eight.
 */
#include "shim/pci.h"

#include <errno.h>
#include <stdio.h>

int pci_check(const char *text) {
    unsigned int domain = 0, bus, slot;
    if (sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
        domain = 0;
        if (sscanf(text, "%x:%x", &bus, &slot) != 2) return -EINVAL;
    }
    return domain == PCI_DOMAIN && bus == PCI_BUS && slot == PCI_SLOT ? 0 : -ENODEV;
}
