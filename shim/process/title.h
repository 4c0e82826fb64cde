/* SPDX-License-Identifier: Apache-2.0
 *
 * The name of a job for users: the name of its program, or of the script or module that an
 * interpreter runs.
 */
#ifndef SHIM_PROCESS_TITLE_H
#define SHIM_PROCESS_TITLE_H

#include <stdbool.h>
#include <stddef.h>

#define TITLE_BYTES 64

/* Finds the title in a command line: words, each with its NUL; the last may be cut. "python3 -u
 * a/train.py --lr 1" gives "train.py", "python -m pkg.mod" gives "pkg.mod". "" when no script is
 * named: another program, or code on the command line. */
void title_of(const char *words, size_t bytes, char out[TITLE_BYTES]);

/* True if the command line starts an interpreter that runs a function of its parent process
 * (Python's multiprocessing). */
bool title_is_parents(const char *words, size_t bytes);

/* The title of this process: SALUS_JOB_NAME; else as above, from its own command line or that of
 * the process whose function it runs; else the program's name. */
void title_self(char out[TITLE_BYTES]);

#endif
