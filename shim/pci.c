/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/pci.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>

int pci_check(const char *text, const struct pci_place *place) {
    unsigned int domain = 0, bus, slot;
    if (sscanf(text, "%x:%x:%x", &domain, &bus, &slot) != 3) {
        domain = 0;
        if (sscanf(text, "%x:%x", &bus, &slot) != 2) return -EINVAL;
    }
    bool there = domain == place->domain && bus == place->bus && slot == place->slot;
    return there ? 0 : -ENODEV;
}
