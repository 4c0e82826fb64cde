/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the other parts of this installation are, going by where this program is: a build tree, or
 * what `make install` made of it.
 */
#ifndef DAEMON_CTL_FILES_INSTALLATION_H
#define DAEMON_CTL_FILES_INSTALLATION_H

#include <stddef.h>

/* The directory of our libcuda.so.1 (SALUS_LIB_DIR, shim/ beside us, ../lib/salus) and the path of
 * salusd (beside us, ../sbin, ../bin). 0, or -ENOENT with the places that were tried in `out`. */
int installation_library(char *out, size_t cap);
int installation_daemon(char *out, size_t cap);

/* The path of what stands before NVRTC and nvJitLink, beside our libcuda.so.1; the same results. */
int installation_jit(char *out, size_t cap);

/* The path of salus-ptxas (in SALUS_LIBEXEC_DIR, beside us, ../libexec/salus), and a directory in
 * whose bin/ it is as ptxas (cuda/ in the same); the same results. */
int installation_ptxas(char *out, size_t cap);
int installation_cuda(char *out, size_t cap);

/* The path of salus-predict or salus-predict-train, found as salus-ptxas is. */
int installation_predict(const char *program, char *out, size_t cap);

#endif
