/* SPDX-License-Identifier: Apache-2.0
 *
 * What is refused, written down for `salusctl doctor`: a line for each time, appended to the file
 * that SALUS_REFUSALS names, which must be there. Its fields, with tabs between: kind (call,
 * kernel, module, symbol), name, the library that asked, the error's name, the reason. Without the
 * variable nothing is done. Any thread; preserves errno; never waits and never fails its host: what
 * cannot be written is left out, and so is what a process has beyond REFUSALS_MAX lines.
 */
#ifndef SHIM_CONNECTION_REFUSALS_H
#define SHIM_CONNECTION_REFUSALS_H

#include <stddef.h>

#define REFUSALS_MAX 100000

/* `caller`: an address in the library that asked, NULL where that is not known; `err` may be 0.
 * `reason`: `reason_bytes`, or up to its NUL. */
void refusals_note(const char *kind, const char *name, const void *caller, int err,
                   const char *reason, size_t reason_bytes);

#endif
