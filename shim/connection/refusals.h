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

/* Name without folders of the file in which the address lies, "libcublasLt.so.13"; "-" where nobody
 * knows. A longer one is cut. */
#define REFUSALS_FILE_BYTES 128
void refusals_file(const void *address, char *name);

/* `caller`: an address in the library that asked, or in the code that was refused; NULL where that
 * is not known. `err` may be 0.
 * `reason`: `reason_bytes`, or up to its NUL. */
void refusals_note(const char *kind, const char *name, const void *caller, int err,
                   const char *reason, size_t reason_bytes);

/* Tells the `salusctl run` that started this process that its job was refused: appends the reason
 * to the file that SALUS_REFUSED names. */
void refusals_tell(const char *reason, size_t reason_bytes);

#endif
