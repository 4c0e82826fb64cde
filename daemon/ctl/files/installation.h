/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the other parts of this installation relative to this program: in a build tree, or as `make
 * install` placed them.
 */
#ifndef DAEMON_CTL_FILES_INSTALLATION_H
#define DAEMON_CTL_FILES_INSTALLATION_H

#include <stddef.h>

/* Find the directory of our libcuda.so.1 (SALUS_LIB_DIR, shim/ beside us, ../lib/salus) and the
 * path of salusd (beside us, ../sbin, ../bin). Return 0, or -ENOENT with the places that were tried
 * in `out`. */
int installation_library(char *out, size_t cap);
int installation_daemon(char *out, size_t cap);

/* Finds the library that intercepts NVRTC and nvJitLink, beside our libcuda.so.1. Returns the same.
 */
int installation_jit(char *out, size_t cap);

/* Find the path of salus-ptxas (in SALUS_LIBEXEC_DIR, beside us, ../libexec/salus), and a directory
 * whose bin/ contains it as ptxas (cuda/ in the same places). Return the same. */
int installation_ptxas(char *out, size_t cap);
int installation_cuda(char *out, size_t cap);

/* Finds the path of salus-predict or salus-predict-train in the places of salus-ptxas. */
int installation_predict(const char *program, char *out, size_t cap);

#endif
