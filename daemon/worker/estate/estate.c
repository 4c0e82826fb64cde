/* SPDX-License-Identifier: Apache-2.0
 *
 * The memfd of the recovery state: header, table of the memory, log.
 */
#include "daemon/worker/estate/estate.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "common/fdutil.h"
#include "daemon/device/device.h"
#include "daemon/device/device_recovery.h"
#include "daemon/worker/memory/memory_estate.h"

#define ESTATE_MAGIC 0x4554415453455aull
#define PAGE_BYTES 4096ull

static uint64_t whole_pages(uint64_t bytes) {
    return (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

uint64_t estate_memory_at(void) {
    return whole_pages(sizeof(struct estate_header));
}

static int map(struct estate *e, uint64_t pages) {
    uint64_t memory_at = estate_memory_at();
    uint64_t record_log_at = memory_at + whole_pages(memory_estate_bytes((uint32_t)pages));
    e->bytes = record_log_at + RECORD_LOG_BYTES + SAVEPOINT_DATA_BYTES;
    if (e->fd < 0) e->fd = fdutil_memfd("salus-estate", e->bytes, 1);
    if (e->fd < 0) return e->fd;
    int err = fdutil_check_sealed(e->fd, e->bytes);
    if (err) return err;
    unsigned char *at =
        mmap(NULL, e->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, e->fd, 0);
    if (at == MAP_FAILED) return -errno;
    madvise(at, e->bytes, MADV_DONTFORK);
    e->header = (struct estate_header *)(void *)at;
    e->memory = (struct memory_estate *)(void *)(at + memory_at);
    record_log_attach(&e->log, &e->header->log, at + record_log_at, RECORD_LOG_BYTES);
    return 0;
}

int estate_create(struct estate *e, uint64_t pages) {
    *e = (struct estate){.fd = -1, .graph = UINT64_MAX};
    int err = map(e, pages);
    if (err) {
        estate_close(e);
        return err;
    }
    e->header->bytes = sizeof(*e->header);
    e->header->pages = pages;
    e->header->magic = ESTATE_MAGIC;
    return 0;
}

int estate_open(struct estate *e, uint64_t pages, int fd) {
    *e = (struct estate){.fd = fd, .graph = UINT64_MAX};
    int err = map(e, pages);
    if (!err && (e->header->magic != ESTATE_MAGIC || e->header->bytes != sizeof(*e->header) ||
                 e->header->pages != pages || !record_log_find_latest(&e->log)))
        err = -EINVAL;
    if (err) estate_close(e);
    return err;
}

void estate_want_savepoints(struct estate *e, uint64_t every_ns, struct wire_savepoint *shown) {
    if (!e->header) atom_store_relaxed(&shown->reason, SAVEPOINT_LACK);
    atom_store_relaxed(&shown->every_ns, every_ns);
    if (!e->header) return;
    savepoint_attach(&e->savepoint, &e->header->savepoint, e->log.memory + RECORD_LOG_BYTES, shown);
    e->savepoint.every_ns = every_ns;
}

void estate_close(struct estate *e) {
    savepoint_finish(&e->savepoint);
    if (e->header) munmap(e->header, e->bytes);
    fdutil_close(&e->fd);
    *e = (struct estate){.fd = -1};
}

void estate_note_lack(struct estate *e, enum estate_lack lack) {
    if (!e->header || atom_load_relaxed(&e->header->lack) != ESTATE_WHOLE) return;
    savepoint_never(&e->savepoint, SAVEPOINT_LACK);
    atom_store_release(&e->header->lack, lack);
}

void estate_ask(struct estate *e, const struct dev_ops *ops, const struct dev_space *space) {
    if (!estate_whole(e) || !ops->recovery) return;
    const char *why = ops->recovery->space_unrestorable(space);
    if (!why) return;
    snprintf(e->header->device, sizeof(e->header->device), "%s", why);
    estate_note_lack(e, ESTATE_DEVICE);
}

static const char *const texts[ESTATE_LACKS] = {
    [ESTATE_SEGMENTS] = "it has memory handles, or shares memory with other processes",
    [ESTATE_SIGNALS] = "it shares events with other processes",
    [ESTATE_FILES] = "it has registered shared memory",
    [ESTATE_OFFERS] = "its kernels may launch graphs",
    [ESTATE_ARRAYS] = "it has arrays of the driver's",
    [ESTATE_TEXTURES] = "it has textures, whose handles the driver chooses, or bound a reference",
    [ESTATE_DEVICE] = "the device cannot have what it had",
    [ESTATE_LOG] = "what it made is more than is kept",
};

const char *estate_lacks(const struct estate *e) {
    uint32_t lack = e->header ? atom_load_relaxed(&e->header->lack) : ESTATE_LOG;
    if (lack == ESTATE_DEVICE && e->header->device[0] &&
        memchr(e->header->device, '\0', sizeof(e->header->device)))
        return e->header->device;
    if (lack != ESTATE_WHOLE || !e->header) return texts[lack < ESTATE_LACKS ? lack : ESTATE_LOG];
    return memory_estate_lacks(e->memory);
}
