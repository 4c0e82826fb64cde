/* SPDX-License-Identifier: Apache-2.0
 *
 * A control group's limits hold for all groups below it, so each group on the way up is read. In a
 * container that sees its own group as the root of the mount, /proc names a path that does not
 * exist there. Then only the root's files remain, which are the right ones.
 */
#include "common/hostmem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 512
#define NO_LIMIT (1ull << 60) /* version 1 writes a number near 2^63 for "no limit" */

/* ---- numbers in files ------------------------------------------------------------------------ */

/* Reads a limit. "max" or a missing file gives HOSTMEM_NONE. */
static uint64_t read_limit(const char *dir, const char *name) {
    char path[PATH_BYTES], text[32] = "";
    FILE *f;
    uint64_t value;

    if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path)) return HOSTMEM_NONE;
    f = fopen(path, "re");
    if (!f) return HOSTMEM_NONE;
    if (!fgets(text, sizeof(text), f) || *text < '0' || *text > '9') *text = '\0';
    fclose(f);
    value = *text ? strtoull(text, NULL, 10) : HOSTMEM_NONE;
    return value < NO_LIMIT ? value : HOSTMEM_NONE;
}

static void read_meminfo(struct hostmem *m, const char *root) {
    char path[PATH_BYTES], line[128];
    uint64_t kib;
    FILE *f;

    snprintf(path, sizeof(path), "%s/proc/meminfo", root);
    f = fopen(path, "re");
    if (!f) return;
    while (fgets(line, sizeof(line), f)) {
        if (sscanf(line, "MemTotal: %" SCNu64 " kB", &kib) == 1) m->ram_bytes = kib << 10;
        if (sscanf(line, "SwapTotal: %" SCNu64 " kB", &kib) == 1) m->swap_bytes = kib << 10;
    }
    fclose(f);
}

/* ---- control groups -------------------------------------------------------------------------- */

/* The two versions of control groups: mount points and file names. */
struct hierarchy {
    /* swap: limit without RAM; both: of RAM and swap; NULL: has none */
    const char *mount, *ram, *swap, *both;
};

static const struct hierarchy version2 = {"/sys/fs/cgroup", "memory.max", "memory.swap.max", NULL};
static const struct hierarchy version1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", NULL,
                                          "memory.memsw.limit_in_bytes"};

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Applies the limits of one directory. */
static void take_group(struct hostmem *m, const struct hierarchy *h, const char *dir) {
    uint64_t ram = read_limit(dir, h->ram), swap = m->swap_bytes, both;

    if (ram == HOSTMEM_NONE) return;
    if (h->swap) swap = least(swap, read_limit(dir, h->swap));
    both = ram + swap;
    if (h->both) both = least(both, read_limit(dir, h->both));
    if (both < m->group_bytes)
        snprintf(m->group_file, sizeof(m->group_file), "%.480s/%s", dir, h->ram);
    m->group_ram_bytes = least(m->group_ram_bytes, ram);
    m->group_bytes = least(m->group_bytes, both);
}

/* Applies the limits of `path` and its parents. `path` begins with '/' and is truncated on the way
 * up. */
static void take_path(struct hostmem *m, const struct hierarchy *h, const char *root, char *path) {
    char dir[PATH_BYTES];

    for (;;) {
        char *slash = strrchr(path, '/');

        if (snprintf(dir, sizeof(dir), "%s%s%s", root, h->mount, path) < (int)sizeof(dir))
            take_group(m, h, dir);
        if (!slash || !*path) return;
        *slash = '\0';
    }
}

/* True if "memory" is among names separated by commas. */
static int has_memory(const char *names) {
    for (; *names; names += strcspn(names, ","), names += *names == ',')
        if (strcspn(names, ",") == 6 && memcmp(names, "memory", 6) == 0) return 1;
    return 0;
}

/* Reads /proc/self/cgroup. A line is "<number>:<controllers>:<path>"; version 2 has the number 0
 * and no controllers. */
static void read_groups(struct hostmem *m, const char *root) {
    char path[PATH_BYTES], line[PATH_BYTES];
    FILE *f;

    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    f = fopen(path, "re");
    if (!f) return;
    while (fgets(line, sizeof(line), f)) {
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;

        if (!group) continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        if (names[1] == '\0' && strncmp(line, "0:", 2) == 0)
            take_path(m, &version2, root, group);
        else if (has_memory(names + 1))
            take_path(m, &version1, root, group);
    }
    fclose(f);
}

/* ---- the result ------------------------------------------------------------------------------ */

void hostmem_read(struct hostmem *out, const char *root) {
    *out = (struct hostmem){
        .ram_bytes = HOSTMEM_NONE, .group_ram_bytes = HOSTMEM_NONE, .group_bytes = HOSTMEM_NONE};
    read_meminfo(out, root);
    if (out->ram_bytes == HOSTMEM_NONE && !*root) /* without /proc */
        out->ram_bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    read_groups(out, root);
}

uint64_t hostmem_most(const struct hostmem *m) {
    uint64_t all = m->ram_bytes == HOSTMEM_NONE ? HOSTMEM_NONE : m->ram_bytes + m->swap_bytes;

    return least(all, m->group_bytes);
}

uint64_t hostmem_ram(const struct hostmem *m) {
    return least(m->ram_bytes, m->group_ram_bytes);
}
