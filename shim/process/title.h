/* SPDX-License-Identifier: Apache-2.0
 *
 * The name by which people know a job: that of its program, or of the script or module that an
 * interpreter runs.
 */
#ifndef SHIM_PROCESS_TITLE_H
#define SHIM_PROCESS_TITLE_H

#include <stdbool.h>
#include <stddef.h>

#define TITLE_BYTES 64

/* By a command line: words, each with its NUL; the last may be cut. "python3 -u a/train.py --lr 1"
 * is "train.py", "python -m pkg.mod" is "pkg.mod". "" where it names no script: another program, or
 * code on the command line. */
void title_of(const char *words, size_t bytes, char out[TITLE_BYTES]);

/* True if an interpreter was started to run a function of the process that started it (Python's
 * multiprocessing). */
bool title_is_parents(const char *words, size_t bytes);

/* The title of this process: SALUS_JOB_NAME, else as above. */
void title_self(char out[TITLE_BYTES]);

#endif
