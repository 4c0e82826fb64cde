/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the one device is on a bus. The address is made up: it identifies the device to libraries,
 * which ask for it by way of CUDA and of NVML, and nothing can be reached through it.
 */
#ifndef SHIM_PCI_H
#define SHIM_PCI_H

#define PCI_DOMAIN 0
#define PCI_BUS 1
#define PCI_SLOT 0

/* Whether `text` is its address, with or without the domain, with or without the function: 0,
 * -ENODEV (another's), -EINVAL (none's). */
int pci_check(const char *text);

#endif
