/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the device is on a bus, as text: CUDA writes domains with four digits, NVML with eight.
 */
#ifndef SHIM_PCI_H
#define SHIM_PCI_H

#include <stdint.h>

struct pci_place {
    uint32_t domain, bus, slot;
};

/* Whether `text` is that place, with or without the domain, with or without the function: 0,
 * -ENODEV (another), -EINVAL (none). */
int pci_check(const char *text, const struct pci_place *place);

#endif
