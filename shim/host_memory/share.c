/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends each file to the broker once, on the connection's socket, because the ring carries no
 * descriptors. Records about its ranges name it by a number for as long as one of its ranges is
 * mapped.
 */
#include "shim/host_memory/share.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/fdutil.h"
#include "common/remap.h"
#include "shim/connection/reply.h"
#include "shim/connection/state.h"
#include "shim/connection/submit.h"
#include "shim/host_memory/pages.h"
#include "shim/memory/mem.h"

#define FILES_SINCE 5 /* first minor version of the protocol with files */

struct known {
    uint64_t device, inode; /* the worker has the file open while a range is mapped, so its inode is
                               not reused */
    uint32_t users;         /* mapped ranges; 0: the number is free */
};

static struct known known[WIRE_FILES];
/* A plain mutex, not counted in lock.h, because its holder waits for the worker. */
static pthread_mutex_t share_turn = PTHREAD_MUTEX_INITIALIZER;

static const char *reason(int32_t result) {
    switch (result) {
    case -ENOSPC: return "the job registered more file ranges than a job may have";
    case -EMFILE: return "salusd has no file descriptors left";
    case -ENOTSUP: return "this GPU cannot map files";
    case -EINVAL: return "the file ends before the memory, or could be truncated";
    default: return "the GPU worker cannot map the memory";
    }
}

/* ---- the descriptor -------------------------------------------------------------------------- */

static bool is_file(int fd, const struct pages_file *f) {
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_dev == f->device && st.st_ino == f->inode;
}

static bool is_writable(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) == O_RDWR && !(flags & O_PATH);
}

/* Duplicates the descriptor and checks the duplicate: another thread may close the original, or
 * open another file there. */
static int copy_of(int fd, const struct pages_file *f) {
    if (!is_file(fd, f) || !is_writable(fd)) return -1;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own >= 0 && (!is_file(own, f) || !is_writable(own))) fdutil_close(&own);
    return own;
}

static int find_open(const struct pages_file *f) {
    DIR *dir = opendir("/proc/self/fd");
    int fd = -1;
    const struct dirent *e;
    while (dir && fd < 0 && (e = readdir(dir)))
        if (e->d_name[0] != '.') fd = copy_of(atoi(e->d_name), f);
    if (dir) closedir(dir);
    return fd;
}

/* Opens the file of a mapping whose descriptor was closed; the kernel allows few processes to do
 * that. */
static int open_mapped(const struct pages_file *f) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", (unsigned long)f->lo,
             (unsigned long)f->hi);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && !is_file(fd, f)) fdutil_close(&fd);
    return fd;
}

static int open_file(const struct pages_file *f, const char **why) {
    uint64_t bytes;
    int fd = find_open(f);
    if (fd < 0) fd = open_mapped(f);
    *why = "the program closed the file's descriptor";
    if (fd >= 0 && fdutil_check_lasting(fd, &bytes)) {
        fdutil_close(&fd);
        *why = "other processes map the memory too, and its file could be truncated; use a memfd "
               "that is sealed by F_SEAL_SHRINK";
    }
    return fd;
}

/* ---- files; with share_turn held ------------------------------------------------------------- */

struct sending {
    uint32_t file;
    int fd;
};

static CUresult send_file(void *arg, uint32_t slot, uint64_t ticket) {
    const struct sending *s = arg;
    const struct wire_file msg = {
        .magic = WIRE_FILE_MAGIC, .file = s->file, .reply = slot, .ticket = ticket};
    int err = fdutil_send(state.conn.sock, &msg, sizeof(msg), &s->fd, 1);
    if (!err) return CUDA_SUCCESS;
    CUresult r = state_fault();
    return r ? r : CUDA_ERROR_OPERATING_SYSTEM;
}

static const char *give(uint32_t number, const struct pages_file *f) {
    struct reply answer = {0};
    const char *why;
    struct sending s = {number, open_file(f, &why)};
    if (s.fd < 0) return why;
    CUresult r = reply_call_by(send_file, &s, &answer);
    fdutil_close(&s.fd);
    return r ? reason(answer.result) : NULL;
}

/* Returns the number of the file, or an unused one; WIRE_FILES: all numbers are in use. */
static uint32_t find_number(const struct pages_file *f) {
    uint32_t unused = WIRE_FILES;
    for (uint32_t i = 0; i < WIRE_FILES; i++) {
        const struct known *k = &known[i];
        if (k->users && k->device == f->device && k->inode == f->inode) return i;
        if (!k->users && unused == WIRE_FILES) unused = i;
    }
    return unused;
}

static const char *take_file(const struct pages_file *f, uint32_t *number) {
    *number = find_number(f);
    if (state.conn.minor < FILES_SINCE) return "salusd is older than this library";
    if (*number == WIRE_FILES) return "the job registered more files than a job may have";
    struct known *k = &known[*number];
    const char *why = k->users ? NULL : give(*number, f);
    if (!why) *k = (struct known){f->device, f->inode, k->users + 1};
    return why;
}

static void drop_file(uint32_t number) {
    struct wire_file_range rec = {.rec = {.op = WIRE_FILE_DROP}, .file = number};
    if (--known[number].users == 0) (void)reply_call(&rec, sizeof(rec), NULL, 0, NULL);
}

/* ---- ranges; with share_turn held ------------------------------------------------------------ */

/* Maps the window's own pages again, for ranges that the program registers next. If that fails, the
 * block is never used again. */
static void restore(const struct share *s) {
    if (!s->block) return;
    uint64_t offset = s->window - state.conn.windows.host_base;
    if (conn_has_host(&state.conn) && !remap_file(s->window, s->bytes, state.conn.host, offset))
        mem_give(s->block);
}

/* Maps the range on this side first, so that a failure here changes nothing in the worker. */
static const char *map(const struct share *s, uint64_t offset) {
    struct wire_file_range rec = {.rec = {.op = WIRE_FILE_MAP},
                                  .file = s->file,
                                  .addr = s->window,
                                  .bytes = s->bytes,
                                  .offset = offset};
    if (s->block && remap_alias(s->window, s->bytes, s->lo))
        return "this process cannot map the memory a second time";
    struct reply answer = {0};
    return reply_call(&rec, sizeof(rec), NULL, 0, &answer) ? reason(answer.result) : NULL;
}

/* Tries the program's own address, if it is free in the worker. */
static bool place_here(struct share *s, const struct pages_file *f) {
    s->window = s->lo;
    s->block = 0;
    return !map(s, f->offset);
}

static const char *place(struct share *s, const struct pages_file *f) {
    if (place_here(s, f)) return NULL;
    if (mem_take(MEM_SHADOW, 0, 0, s->bytes + PAGES_BYTES, &s->block))
        return "the window of pinned memory is full (window_host_bytes in salus.conf)";
    s->window = (s->block + PAGES_BYTES - 1) & ~(PAGES_BYTES - 1);
    const char *why = map(s, f->offset);
    if (why) restore(s);
    return why;
}

static const char *show(struct share *s, const struct pages_file *f) {
    const char *why = take_file(f, &s->file);
    if (why) return why;
    why = place(s, f);
    if (why) drop_file(s->file);
    return why;
}

/* ---- interface ------------------------------------------------------------------------------- */

struct share *share_show(uint64_t lo, uint64_t hi, const char **why) {
    struct pages_file f;
    struct share *s = malloc(sizeof(*s));
    *why = s ? pages_file(lo, hi, &f) : "this process is out of memory";
    if (!*why) {
        *s = (struct share){.lo = lo, .bytes = hi - lo};
        pthread_mutex_lock(&share_turn);
        *why = show(s, &f);
        pthread_mutex_unlock(&share_turn);
    }
    if (!*why) return s;
    free(s);
    return NULL;
}

void share_hide(struct share *s) {
    struct wire_file_range rec = {
        .rec = {.op = WIRE_FILE_UNMAP}, .addr = s->window, .bytes = s->bytes};
    pthread_mutex_lock(&share_turn);
    (void)submit_record(&rec, sizeof(rec), NULL,
                        0); /* a lost context has lost the mapping as well */
    restore(s);
    drop_file(s->file);
    pthread_mutex_unlock(&share_turn);
    free(s);
}
