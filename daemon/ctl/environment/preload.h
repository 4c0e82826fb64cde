/* SPDX-License-Identifier: Apache-2.0
 *
 * LD_PRELOAD with a library of ours beside the user's own. Theirs stay in front: a sanitizer's
 * runtime insists on being first, and tools that wrap the driver's functions find ours behind them.
 * Pure.
 */
#ifndef DAEMON_CTL_ENVIRONMENT_PRELOAD_H
#define DAEMON_CTL_ENVIRONMENT_PRELOAD_H

#include <stdbool.h>

/* True if `library`, a path, is an entry of `list`. */
bool preload_has(const char *list, const char *library);

/* `list` (NULL: empty) with `library` as its last entry, or before the first one that has the name
 * of a library in whose place ours stand. The caller frees it; NULL: out of memory. */
char *preload_add(const char *list, const char *library);

/* ASAN_OPTIONS with which a program that is linked with the runtime of AddressSanitizer starts
 * though the libraries of `list` come before that. The caller frees it; NULL: `options` (NULL: not
 * set) need no change, since they say that themselves or the runtime is the first of the list. */
char *preload_asan_options(const char *options, const char *list);

#endif
