/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading /proc/self/maps.
 */
#include "shim/memory/pages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct reader {
    FILE *file;
    char *line;
    size_t cap;
    const char *name; /* of the mapping that was read last */
};

static int open_maps(struct reader *r) {
    *r = (struct reader){.file = fopen("/proc/self/maps", "re")};
    return r->file ? 0 : -errno;
}

static void close_maps(struct reader *r) {
    fclose(r->file);
    free(r->line);
}

/* "7f00-7f10 rw-p 00000000 00:00 0    [heap]" */
static bool next(struct reader *r, struct pages_part *p) {
    unsigned long lo, hi, offset, inode;
    char prot[5];
    int name = 0;
    if (getline(&r->line, &r->cap, r->file) <= 0) return false;
    if (sscanf(r->line, "%lx-%lx %4s %lx %*s %lu %n", &lo, &hi, prot, &offset, &inode, &name) < 5)
        return false;
    *p = (struct pages_part){.lo = lo, .hi = hi, .offset = offset, .inode = inode};
    p->prot = (prot[0] == 'r' ? PROT_READ : 0) | (prot[1] == 'w' ? PROT_WRITE : 0) |
              (prot[2] == 'x' ? PROT_EXEC : 0);
    p->shared = prot[3] == 's';
    r->name = r->line + name;
    return true;
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
    if (open_maps(&r)) return false;
    while (!found && next(&r, &p))
        found = addr >= p.lo && addr < p.hi;
    close_maps(&r);
    return found && !p.shared;
}

/* What writes to memory behind every thread's back. */
static bool is_io_engine(const char *name) {
    return strstr(name, "[io_uring]") || strstr(name, "/[aio]") || begins(name, "/dev/infiniband/");
}

/* A file's pages beyond its end cannot be read, which only the kernel can try; kernels before 5.14
 * cannot. */
static bool can_be_read(const struct pages_part *p) {
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
    return madvise((void *)(uintptr_t)p->lo, p->hi - p->lo, MADV_POPULATE_READ) == 0;
}

static const char *judge(const struct pages_part *p, const char *name) {
    if (p->shared) return "others have it mapped as well, or a file keeps it";
    if (p->prot & PROT_EXEC) return "it is executable";
    if (begins(name, "/anon_hugepage")) return "it is in huge pages of hugetlbfs";
    if (p->inode && !can_be_read(p)) return "it is a file's, of which not all can be read";
    return NULL;
}

/* Mappings without a hole between them: pieces of the window part the stack in several. */
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
    uint64_t at = lo, writable = lo;
    int err = open_maps(&r);
    if (err) return err;
    *out = (struct pages_view){.prot = PROT_NONE};
    while (next(&r, &p)) {
        bool own = p.shared && p.inode == inode;
        if (is_io_engine(r.name))
            out->unfit = "the program has input and output that no thread does";
        extend(&row, &p);
        if (begins(r.name, "[stack]") && lo >= row.lo && lo < row.hi) out->stack_end = row.lo;
        if (p.hi <= lo || p.lo >= hi) continue;
        clip(&p, lo, hi);
        if (p.lo == lo) out->prot = p.prot;
        if (p.lo == at && p.prot & PROT_READ) at = p.hi;
        if (p.lo == writable && p.prot & PROT_WRITE) writable = p.hi;
        if (p.prot != out->prot) out->unfit = "only parts of it can be written";
        if (!out->unfit && !own) out->unfit = judge(&p, r.name);
    }
    close_maps(&r);
    out->readable = at == hi;
    out->writable = writable == hi;
    return 0;
}
