/* SPDX-License-Identifier: Apache-2.0
 *
 * What a kernel is called, without what varies: namespaces and name. A module has mangled names
 * (_ZN2at6native3vecILi4E2FnEEviT0_), a profiler's table has demangled ones that may be cut
 * ("void at::native::vec<4, Fn>(int, T2)"); both are at::native::vec here. Kernels cannot be
 * members of classes, so that nothing of a name lies behind its template arguments. Pure.
 */
#ifndef DAEMON_KERNELS_KERNEL_NAME_H
#define DAEMON_KERNELS_KERNEL_NAME_H

#include <stdbool.h>
#include <stddef.h>

#define KERNEL_NAME_BYTES 128 /* with its NUL; what is longer is cut */

/* Any string; a mangled name that is none is taken as it is. What is written is clean. */
void kernel_name_base(const char *name, char out[KERNEL_NAME_BYTES]);

/* Printable ASCII, neither empty nor with a space at an end. */
bool kernel_name_clean(const char *name);
/* Makes it so; "?" where nothing is left. Cuts at `cap`. */
void kernel_name_tidy(const char *text, char *out, size_t cap);

#endif
