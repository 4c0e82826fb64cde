/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads /proc/self/maps, or from Linux 6.11 on queries single addresses: a program may have
 * thousands of mappings.
 */
#include "shim/host_memory/pages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

bool pages_asks = true;

struct reader {
    FILE *file;
    char *line;
    size_t cap;
    const char *name; /* name of the mapping that was read last */
    bool asks;        /* queries the mappings from `at` on, without names */
    uint64_t at;
};

static int open_maps(struct reader *r) {
    *r = (struct reader){.file = fopen("/proc/self/maps", "re")};
    return r->file ? 0 : -errno;
}

/* Opens the reader. Mappings below `at` may be left out. */
static int open_maps_at(struct reader *r, uint64_t at) {
    int err = open_maps(r);
    r->asks = pages_asks;
    r->at = at;
    return err;
}

static void close_maps(struct reader *r) {
    fclose(r->file);
    free(r->line);
}

/* PROCMAP_QUERY of newer headers. */
struct question {
    uint64_t size, flags, addr; /* members set by the caller */
    uint64_t lo, hi, prot, page_bytes, offset, inode;
    uint32_t device[2];
    uint32_t name_bytes, build_bytes;
    uint64_t name, build;
};
#define QUESTION _IOWR('f', 17, struct question)
#define QUESTION_READ 1u
#define QUESTION_WRITE 2u
#define QUESTION_EXEC 4u
#define QUESTION_SHARED 8u
#define QUESTION_OR_NEXT 16u

/* Queries the next mapping. Also false where queries are not supported; then `asks` becomes false.
 */
static bool ask(struct reader *r, struct pages_part *p) {
    struct question q = {.size = sizeof(q), .flags = QUESTION_OR_NEXT, .addr = r->at};
    if (ioctl(fileno(r->file), QUESTION, &q) < 0) {
        r->asks = errno == ENOENT; /* ENOENT: no mapping is left */
        return false;
    }
    *p = (struct pages_part){.lo = q.lo,
                             .hi = q.hi,
                             .offset = q.offset,
                             .shared = q.prot & QUESTION_SHARED,
                             .device = makedev(q.device[0], q.device[1]),
                             .inode = q.inode};
    p->prot = (q.prot & QUESTION_READ ? PROT_READ : 0) |
              (q.prot & QUESTION_WRITE ? PROT_WRITE : 0) | (q.prot & QUESTION_EXEC ? PROT_EXEC : 0);
    r->at = q.hi;
    return true;
}

/* Reads a line such as "7f00-7f10 rw-p 00000000 00:00 0 [heap]". */
static bool read_line(struct reader *r, struct pages_part *p) {
    unsigned long lo, hi, offset, inode;
    unsigned int device[2];
    char prot[5];
    int name = 0;
    if (getline(&r->line, &r->cap, r->file) <= 0) return false;
    if (sscanf(r->line, "%lx-%lx %4s %lx %x:%x %lu %n", &lo, &hi, prot, &offset, device, device + 1,
               &inode, &name) < 7)
        return false;
    *p = (struct pages_part){.lo = lo,
                             .hi = hi,
                             .offset = offset,
                             .device = makedev(device[0], device[1]),
                             .inode = inode};
    p->prot = (prot[0] == 'r' ? PROT_READ : 0) | (prot[1] == 'w' ? PROT_WRITE : 0) |
              (prot[2] == 'x' ? PROT_EXEC : 0);
    p->shared = prot[3] == 's';
    r->name = r->line + name;
    return true;
}

static bool next(struct reader *r, struct pages_part *p) {
    if (r->asks && ask(r, p)) return true;
    return !r->asks && read_line(r, p);
}

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static void clip(struct pages_part *p, uint64_t lo, uint64_t hi) {
    if (p->lo < lo) {
        p->offset += lo - p->lo;
        p->lo = lo;
    }
    if (p->hi > hi) p->hi = hi;
}

bool pages_find(uint64_t lo, uint64_t hi, uint64_t inode, struct pages_part *out) {
    struct reader r;
    bool found = false;
    if (lo >= hi || open_maps(&r)) return false;
    while (!found && next(&r, out))
        found = out->shared && out->inode == inode && out->lo < hi && lo < out->hi;
    close_maps(&r);
    if (found) clip(out, lo, hi);
    return found;
}

bool pages_private(uint64_t addr) {
    struct reader r;
    struct pages_part p = {.shared = true};
    bool found = false;
    if (open_maps_at(&r, addr)) return false;
    while (!found && next(&r, &p))
        found = addr < p.hi;
    close_maps(&r);
    return found && addr >= p.lo && !p.shared;
}

bool pages_shared(uint64_t addr, uint64_t inode) {
    struct reader r;
    struct pages_part p = {.shared = false};
    bool found = false;
    if (open_maps_at(&r, addr)) return false;
    while (!found && next(&r, &p))
        found = addr < p.hi;
    close_maps(&r);
    return found && addr >= p.lo && p.shared && p.inode != inode;
}

/* True for memory that the kernel or a device may write without any thread's action. */
static bool is_io_engine(const char *name) {
    return strstr(name, "[io_uring]") || strstr(name, "/[aio]") || begins(name, "/dev/infiniband/");
}

/* Tests by the kernel whether pages can be read: a file's pages beyond its end cannot. Kernels
 * before 5.14 cannot test that. */
static bool can_be_read(const struct pages_part *p) {
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
    return madvise((void *)(uintptr_t)p->lo, p->hi - p->lo, MADV_POPULATE_READ) == 0;
}

static const char *judge(const struct pages_part *p, const char *name) {
    if (p->shared) return "other processes map the memory too, or a file backs it";
    if (p->prot & PROT_EXEC) return "the memory is executable";
    if (begins(name, "/anon_hugepage")) return "the memory has huge pages of hugetlbfs";
    if (p->inode && !can_be_read(p))
        return "the memory maps a file, and parts of it cannot be read";
    return NULL;
}

/* Mappings without a gap between them: pieces of the window split the stack into several. */
struct row {
    uint64_t lo, hi;
};

static void extend(struct row *row, const struct pages_part *p) {
    if (p->lo != row->hi) row->lo = p->lo;
    row->hi = p->hi;
}

int pages_look(uint64_t lo, uint64_t hi, uint64_t inode, struct pages_view *out) {
    struct reader r;
    struct pages_part p;
    struct row row = {0, 0};
    uint64_t at = lo;
    int err = open_maps(&r);
    if (err) return err;
    *out = (struct pages_view){.prot = PROT_NONE};
    while (next(&r, &p)) {
        bool own = p.shared && p.inode == inode;
        if (is_io_engine(r.name))
            out->unfit = "the program uses asynchronous input and output (io_uring or AIO)";
        extend(&row, &p);
        if (begins(r.name, "[stack]") && lo >= row.lo && lo < row.hi) out->stack_end = row.lo;
        if (p.hi <= lo || p.lo >= hi) continue;
        clip(&p, lo, hi);
        if (p.lo == lo) out->prot = p.prot;
        if (p.lo == at && p.prot & PROT_READ) at = p.hi;
        if (p.prot != out->prot) out->unfit = "parts of the memory are read-only";
        if (!out->unfit && !own) out->unfit = judge(&p, r.name);
    }
    close_maps(&r);
    out->readable = at == hi;
    return 0;
}

int pages_access(uint64_t lo, uint64_t hi, int *prot) {
    struct reader r;
    struct pages_part p;
    uint64_t at = lo;
    int err = open_maps_at(&r, lo);
    if (err) return err;
    *prot = PROT_READ | PROT_WRITE;
    while (at < hi && next(&r, &p) && p.lo <= at) {
        if (p.hi <= at) continue;
        *prot &= p.prot;
        at = p.hi;
    }
    close_maps(&r);
    if (at < hi) *prot = PROT_NONE;
    return 0;
}

static bool continues(const struct pages_file *f, const struct pages_part *p, uint64_t lo) {
    return p->device == f->device && p->inode == f->inode && p->offset == f->offset + (p->lo - lo);
}

static const char *extend_file(struct pages_file *f, struct pages_part p, uint64_t lo, uint64_t hi,
                               uint64_t at) {
    const struct pages_part whole = p;
    clip(&p, lo, hi);
    if (p.lo != at) return "the memory is no longer mapped";
    if (!p.shared || (p.prot & (PROT_READ | PROT_WRITE)) != (PROT_READ | PROT_WRITE))
        return "parts of the memory are private or read-only";
    if (at == lo) *f = (struct pages_file){p.device, p.inode, p.offset, whole.lo, whole.hi};
    return continues(f, &p, lo) ? NULL : "the memory is not one contiguous part of one file";
}

const char *pages_file(uint64_t lo, uint64_t hi, struct pages_file *out) {
    struct reader r;
    struct pages_part p;
    uint64_t at = lo;
    const char *why = NULL;
    if (open_maps_at(&r, lo)) return "/proc/self/maps cannot be read";
    while (!why && at < hi && next(&r, &p)) {
        if (p.hi <= lo) continue;
        why = extend_file(out, p, lo, hi, at);
        at = p.hi;
    }
    close_maps(&r);
    return why || at >= hi ? why : "the memory is no longer mapped";
}
