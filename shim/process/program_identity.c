/* SPDX-License-Identifier: Apache-2.0
 *
 * A program is identified by the path of its executable and its arguments without the first, which
 * is the executable once more, as the user happened to type it.
 */
#include "shim/process/program_identity.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "common/text/command_line.h"

#define PROFILE_ARGUMENTS 16384u /* most bytes of the arguments that count */

/* The FNV-1a hash. */
static uint64_t add(uint64_t hash, const char *data, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)data[i]) * 0x100000001b3ull;
    return hash;
}

uint64_t program_identity_of(const char *path, const char *arguments, size_t bytes) {
    uint64_t hash = add(0xcbf29ce484222325ull, path, strlen(path) + 1);
    const char *end = memchr(arguments, 0, bytes);
    size_t name = end ? (size_t)(end - arguments) + 1 : bytes;
    hash = add(hash, arguments + name, bytes - name);
    return hash ? hash : 1;
}

uint64_t program_identity_self(void) {
    char path[PATH_MAX] = "", arguments[PROFILE_ARGUMENTS] = "";
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[n > 0 ? n : 0] = '\0';
    size_t bytes = command_line_read(0, arguments, sizeof(arguments));
    return program_identity_of(path, arguments, bytes);
}
