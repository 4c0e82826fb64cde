/* SPDX-License-Identifier: Apache-2.0
 *
 * Base names of kernels: namespaces and function name, without the parts that vary. A module has
 * mangled names (_ZN2at6native3vecILi4E2FnEEviT0_). A profiler's table has demangled names,
 * possibly cut ("void at::native::vec<4, Fn>(int, T2)"). Both become at::native::vec. Kernels
 * cannot be members of classes, so no part of the name follows the template arguments. Pure.
 */
#ifndef DAEMON_KERNELS_KERNEL_NAME_H
#define DAEMON_KERNELS_KERNEL_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define KERNEL_NAME_BYTES 128 /* including the NUL; a longer name is cut */

/* Writes the base name of any string. A malformed mangled name is copied as is. The output is clean
 * (kernel_name_clean). */
void kernel_name_base(const char *name, char out[KERNEL_NAME_BYTES]);

/* Tests that the name is printable ASCII, is not empty, and has no space at either end. */
bool kernel_name_clean(const char *name);
/* Makes a name clean; writes "?" if no character is left. Cuts at `cap` bytes. */
void kernel_name_tidy(const char *text, char *out, size_t cap);

#endif
