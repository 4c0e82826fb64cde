/* SPDX-License-Identifier: Apache-2.0
 *
 * The device's position on the PCI bus, as text: CUDA writes domains with four digits, NVML with
 * eight.
 */
#ifndef SHIM_PCI_H
#define SHIM_PCI_H

#include <stdint.h>

struct pci_place {
    uint32_t domain, bus, slot;
};

/* Compares `text` with the position, with or without domain and function: 0 when equal, -ENODEV for
 * another position, -EINVAL for invalid text. */
int pci_check(const char *text, const struct pci_place *place);

#endif
