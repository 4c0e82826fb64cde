/* SPDX-License-Identifier: Apache-2.0
 *
 * The private tables that NVIDIA's libraries ask the driver for by UUID.
 */
#ifndef SHIM_PRIVATE_EXPORT_TABLE_H
#define SHIM_PRIVATE_EXPORT_TABLE_H

/* The addresses that the validity answer covers. */
const void *export_table_cudart(void);
const void *export_table_validity(void);

#endif
