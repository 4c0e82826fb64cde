/* SPDX-License-Identifier: Apache-2.0
 *
 * The one device, as this process sees it. Its PCI address is made up: it identifies the device to
 * libraries, and nothing can be reached through it.
 */
#ifndef SHIM_API_DEVICE_H
#define SHIM_API_DEVICE_H

#define DEVICE_PCI_DOMAIN 0
#define DEVICE_PCI_BUS 1
#define DEVICE_PCI_SLOT 0

#endif
