/* SPDX-License-Identifier: Apache-2.0
 *
 * The memfd: a head, a word for each chunk, and from the next granule on spares.
 */
#include "daemon/device/cuda/memory/cuda_lasting.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fdutil.h"

#define LASTING_MAGIC 0x31474e495453414cull

static uint64_t head_bytes(const struct dev_info *info) {
    uint64_t granule = info->granularity_bytes, words = info->memory_bytes / granule;
    uint64_t bytes = LASTING_HEAD_BYTES + words * sizeof(uint64_t);
    return (bytes + granule - 1) / granule * granule;
}

static uint64_t file_bytes(const struct dev_info *info) {
    return head_bytes(info) + info->memory_bytes * LASTING_SPARES_A_CHUNK;
}

static int map(struct lasting *l, const struct dev_info *info) {
    l->mapped_bytes = file_bytes(info);
    unsigned char *at =
        mmap(NULL, l->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, l->fd, 0);
    if (at == MAP_FAILED) return -errno;
    l->head = (struct lasting_head *)(void *)at;
    l->bytes_of = (_Atomic uint64_t *)(void *)(at + LASTING_HEAD_BYTES);
    l->spares = at + head_bytes(info);
    l->chunk_count = info->memory_bytes / info->granularity_bytes;
    l->spare_count = l->chunk_count * LASTING_SPARES_A_CHUNK;
    madvise(l->spares, l->mapped_bytes - head_bytes(info), MADV_DONTDUMP);
    madvise(at, l->mapped_bytes, MADV_DONTFORK);
    return 0;
}

static int make(struct lasting *l, const struct dev_config *config, const struct dev_info *info) {
    l->fd = fdutil_memfd("salus-gpu-memory", file_bytes(info), 0);
    int err = l->fd < 0 ? l->fd : map(l, info);
    if (err) return err;
    l->head->granule = info->granularity_bytes;
    l->head->memory_bytes = info->memory_bytes;
    l->head->asked_bytes = config->memory_bytes;
    memcpy(l->head->uuid, info->uuid, sizeof(info->uuid));
    l->head->magic = LASTING_MAGIC;
    return 0;
}

static bool is_asked(uint64_t asked, const struct lasting_head *head) {
    return !asked || asked == head->memory_bytes || asked == head->asked_bytes;
}

/* Checks the head before any of it is used. */
static int look(int fd, const struct dev_config *config, struct dev_info *info) {
    struct lasting_head head;
    uint64_t bytes;
    int err = fdutil_check_lasting(fd, &bytes);
    if (err) return err;
    if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) || head.magic != LASTING_MAGIC)
        return -EINVAL;
    if (head.granule != info->granularity_bytes || !head.memory_bytes ||
        head.memory_bytes % head.granule || !is_asked(config->memory_bytes, &head) ||
        memcmp(head.uuid, info->uuid, sizeof(head.uuid)) != 0)
        return -EINVAL;
    struct dev_info as = *info;
    as.memory_bytes = head.memory_bytes;
    if (head.memory_bytes > bytes || file_bytes(&as) != bytes) return -EINVAL;
    *info = as;
    return 0;
}

static int open_old(struct lasting *l, const struct dev_config *config, struct dev_info *info) {
    int err = look(config->memory_fd, config, info);
    if (err) return err;
    l->fd = fcntl(config->memory_fd, F_DUPFD_CLOEXEC, 0);
    if (l->fd < 0) return -errno;
    l->old = true;
    return map(l, info);
}

int cuda_lasting_open(struct lasting *l, const struct dev_config *config, struct dev_info *info) {
    *l = (struct lasting){.fd = -1};
    int err = config->memory_fd > 0 ? open_old(l, config, info) : make(l, config, info);
    if (err) cuda_lasting_close(l);
    return err;
}

void cuda_lasting_close(struct lasting *l) {
    if (l->head) munmap(l->head, l->mapped_bytes);
    fdutil_close(&l->fd);
    *l = (struct lasting){.fd = -1};
}
