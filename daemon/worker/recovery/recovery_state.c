/* SPDX-License-Identifier: Apache-2.0
 *
 * The memfd of the recovery state: header, table of the memory, log.
 */
#include "daemon/worker/recovery/recovery_state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "common/fdutil.h"
#include "daemon/device/device.h"
#include "daemon/device/device_recovery.h"
#include "daemon/worker/memory/memory_recovery.h"

#define RECOVERY_MAGIC 0x4554415453455aull
#define PAGE_BYTES 4096ull

static uint64_t whole_pages(uint64_t bytes) {
    return (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

uint64_t recovery_memory_at(void) {
    return whole_pages(sizeof(struct recovery_header));
}

static int map(struct recovery_state *e, uint64_t pages) {
    uint64_t memory_at = recovery_memory_at();
    uint64_t record_log_at = memory_at + whole_pages(memory_recovery_bytes((uint32_t)pages));
    e->bytes = record_log_at + RECORD_LOG_BYTES + SAVEPOINT_DATA_BYTES;
    if (e->fd < 0) e->fd = fdutil_memfd("salus-recovery", e->bytes, 1);
    if (e->fd < 0) return e->fd;
    int err = fdutil_check_sealed(e->fd, e->bytes);
    if (err) return err;
    unsigned char *at =
        mmap(NULL, e->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, e->fd, 0);
    if (at == MAP_FAILED) return -errno;
    madvise(at, e->bytes, MADV_DONTFORK);
    e->header = (struct recovery_header *)(void *)at;
    e->memory = (struct memory_recovery *)(void *)(at + memory_at);
    record_log_attach(&e->log, &e->header->log, at + record_log_at, RECORD_LOG_BYTES);
    return 0;
}

int recovery_create(struct recovery_state *e, uint64_t pages) {
    *e = (struct recovery_state){.fd = -1, .graph = UINT64_MAX};
    int err = map(e, pages);
    if (err) {
        recovery_close(e);
        return err;
    }
    e->header->bytes = sizeof(*e->header);
    e->header->pages = pages;
    e->header->magic = RECOVERY_MAGIC;
    return 0;
}

int recovery_open(struct recovery_state *e, uint64_t pages, int fd) {
    *e = (struct recovery_state){.fd = fd, .graph = UINT64_MAX};
    int err = map(e, pages);
    if (!err && (e->header->magic != RECOVERY_MAGIC || e->header->bytes != sizeof(*e->header) ||
                 e->header->pages != pages || !record_log_find_latest(&e->log)))
        err = -EINVAL;
    if (err) recovery_close(e);
    return err;
}

void recovery_want_savepoints(struct recovery_state *e, uint64_t every_ns,
                              struct wire_savepoint *shown) {
    if (!e->header) atom_store_relaxed(&shown->reason, SAVEPOINT_LACK);
    atom_store_relaxed(&shown->every_ns, every_ns);
    if (!e->header) return;
    savepoint_attach(&e->savepoint, &e->header->savepoint, e->log.memory + RECORD_LOG_BYTES, shown);
    e->savepoint.every_ns = every_ns;
}

void recovery_close(struct recovery_state *e) {
    savepoint_finish(&e->savepoint);
    if (e->header) munmap(e->header, e->bytes);
    fdutil_close(&e->fd);
    *e = (struct recovery_state){.fd = -1};
}

void recovery_note_lack(struct recovery_state *e, enum recovery_lack lack) {
    if (!e->header || atom_load_relaxed(&e->header->lack) != RECOVERY_COMPLETE) return;
    savepoint_never(&e->savepoint, SAVEPOINT_LACK);
    atom_store_release(&e->header->lack, lack);
}

void recovery_ask(struct recovery_state *e, const struct dev_ops *ops,
                  const struct dev_space *space) {
    if (!recovery_is_complete(e) || !ops->recovery) return;
    const char *why = ops->recovery->space_unrestorable(space);
    if (!why) return;
    snprintf(e->header->device, sizeof(e->header->device), "%s", why);
    recovery_note_lack(e, RECOVERY_DEVICE);
}

static const char *const texts[RECOVERY_LACKS] = {
    [RECOVERY_SEGMENTS] = "the job has memory handles, or shares memory with other processes",
    [RECOVERY_SIGNALS] = "the job shares events with other processes",
    [RECOVERY_FILES] = "the job registered shared memory",
    [RECOVERY_OFFERS] = "kernels of the job may launch graphs",
    [RECOVERY_ARRAYS] = "the job has arrays of the driver",
    [RECOVERY_TEXTURES] =
        "the job has textures, whose handles the driver chooses, or a bound texture reference",
    [RECOVERY_DEVICE] = "the device cannot restore the job's objects",
    [RECOVERY_LOG] = "the log of the job's objects is full",
};

const char *recovery_lacks(const struct recovery_state *e) {
    uint32_t lack = e->header ? atom_load_relaxed(&e->header->lack) : RECOVERY_LOG;
    if (lack == RECOVERY_DEVICE && e->header->device[0] &&
        memchr(e->header->device, '\0', sizeof(e->header->device)))
        return e->header->device;
    if (lack != RECOVERY_COMPLETE || !e->header)
        return texts[lack < RECOVERY_LACKS ? lack : RECOVERY_LOG];
    return memory_recovery_lacks(e->memory);
}
