/* SPDX-License-Identifier: Apache-2.0
 *
 * Adds a library of ours to the user's LD_PRELOAD. The user's entries stay in front: a sanitizer's
 * runtime requires to be first, and tools that wrap the driver's functions find ours behind them.
 * Pure.
 */
#ifndef DAEMON_CTL_ENVIRONMENT_PRELOAD_H
#define DAEMON_CTL_ENVIRONMENT_PRELOAD_H

#include <stdbool.h>

/* `library`, a path, is an entry of `list`. */
bool preload_has(const char *list, const char *library);

/* Returns `list` (NULL: empty) with `library` as its last entry, or before the first entry that has
 * the name of a library that ours replace. The caller frees it; NULL: out of memory. */
char *preload_add(const char *list, const char *library);

/* Returns ASAN_OPTIONS with which a program linked with AddressSanitizer's runtime starts although
 * the libraries of `list` precede that. The caller frees it. NULL: `options` (NULL: not set) need
 * no change, because they already allow that, or the runtime is the first entry of the list. */
char *preload_asan_options(const char *options, const char *list);

#endif
