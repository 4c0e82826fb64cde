/* SPDX-License-Identifier: Apache-2.0
 *
 * Records refusals for `salusctl doctor`: one line each, appended to the file that SALUS_REFUSALS
 * names, which must exist. A line has these fields, with tabs between: kind (call, kernel, module,
 * symbol), name, the library that called, the error's name, the reason. A line of the kind `start`
 * records that a program connected. Without the variable nothing is recorded. Any thread; preserves
 * errno; never waits and never fails the program. A line that cannot be written is dropped, and so
 * is every line of a process beyond REFUSALS_MAX.
 */
#ifndef SHIM_CONNECTION_REFUSALS_H
#define SHIM_CONNECTION_REFUSALS_H

#include <stddef.h>

#define REFUSALS_MAX 100000

/* Copies the name of the file that contains the address, without folders, such as
 * "libcublasLt.so.13"; "-" when unknown. Longer names are cut. */
#define REFUSALS_FILE_BYTES 128
void refusals_file(const void *address, char *name);

/* Records a refusal. `caller`: an address in the library that called, or in the refused code; NULL
 * when unknown. `err`: -errno or ERR_*; 0 when there is none. `reason`: a text of at most
 * `reason_bytes` that may end earlier, with a NUL. */
void refusals_note(const char *kind, const char *name, const void *caller, int err,
                   const char *reason, size_t reason_bytes);

/* Tells the `salusctl run` that started this process that its job was refused: appends the reason
 * to the file that SALUS_REFUSED names, which must lie below /proc. */
void refusals_tell(const char *reason, size_t reason_bytes);

#endif
