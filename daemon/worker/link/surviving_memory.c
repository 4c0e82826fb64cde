/* SPDX-License-Identifier: Apache-2.0
 *
 * The broker wrote the list, so only what makes a part usable is checked.
 */
#include "daemon/worker/link/surviving_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "common/log.h"
#include "proto/wire/wire.h"

/* Takes descriptors above the standard ones and makes them close-on-exec, because the driver may
 * start programs. */
static bool take_parts(struct surviving_memory *k, const struct wire_kept *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct wire_kept part = list[i];
        if (part.id >= WIRE_PARTS || part.fd < 3 || fcntl(part.fd, F_SETFD, FD_CLOEXEC) < 0)
            return false;
        k->parts[k->count++] = (struct dev_kept){.id = part.id, .fd = part.fd};
    }
    return true;
}

static int read_list(struct surviving_memory *k, int fd) {
    struct stat st;
    if (fstat(fd, &st) < 0) return -errno;
    size_t bytes = st.st_size > 0 ? (size_t)st.st_size : 0,
           count = bytes / sizeof(struct wire_kept);
    if (!count || bytes % sizeof(struct wire_kept) || count > WIRE_PARTS) return -EINVAL;
    const struct wire_kept *list = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (list == MAP_FAILED) return -errno;
    k->parts = malloc(count * sizeof(*k->parts));
    int err = !k->parts ? -ENOMEM : take_parts(k, list, count) ? 0 : -EINVAL;
    munmap((void *)list, bytes);
    return err;
}

void surviving_memory_read(struct surviving_memory *k, int list_fd) {
    *k = (struct surviving_memory){0};
    if (list_fd <= 0) return;
    int err = read_list(k, list_fd);
    fdutil_close(&list_fd);
    if (!err) return;
    log_error("worker",
              "event=memory-lost why=\"%s\" text=\"the list of the previous worker's device memory "
              "cannot be read\"",
              err_text(err));
    surviving_memory_finish(k);
}

void surviving_memory_finish(struct surviving_memory *k) {
    for (uint32_t i = 0; i < k->count; i++)
        fdutil_close(&k->parts[i].fd);
    free(k->parts);
    *k = (struct surviving_memory){0};
}
