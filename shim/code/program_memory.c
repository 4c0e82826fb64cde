/* SPDX-License-Identifier: Apache-2.0
 *
 * Lets the kernel copy: it returns EFAULT where a load would kill the program. Where a sandbox
 * forbids that call, the memory is assumed to be readable.
 */
#include "shim/code/program_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Returns the bytes copied, or -errno. */
static ssize_t copy_some(void *to, const void *from, size_t bytes) {
    struct iovec local = {to, bytes}, remote = {(void *)from, bytes};
    ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    return n < 0 ? -errno : n;
}

int program_memory_read(void *to, const void *from, size_t bytes) {
    int saved = errno, err = 0;
    for (size_t done = 0; !err && done < bytes;) {
        ssize_t n = copy_some((char *)to + done, (const char *)from + done, bytes - done);
        if (n == -ENOSYS || n == -EPERM) {
            memcpy((char *)to + done, (const char *)from + done, bytes - done);
            n = (ssize_t)(bytes - done);
        }
        if (n <= 0)
            err = n == 0 ? -EFAULT : (int)n;
        else
            done += (size_t)n;
    }
    errno = saved;
    return err;
}
