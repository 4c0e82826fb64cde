/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads lines of tab-separated fields: kind, name, library, error, reason
 * (shim/connection/refusals.h).
 */
#include "daemon/ctl/doctor/refused.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/cuda/code_owner.h"

static const char *const kinds[REFUSED_KINDS] = {"kernel", "module", "call", "symbol"};

/* ---- lines ----------------------------------------------------------------------------------- */

/* Takes one field, with control characters replaced; moves *p behind its tab. */
static void take_field(const char **p, const char *end, char *out, size_t cap) {
    const char *tab = memchr(*p, '\t', (size_t)(end - *p));
    const char *stop = tab ? tab : end;
    size_t n = 0;

    for (const char *c = *p; c < stop && n + 1 < cap; c++)
        out[n++] = *c >= ' ' && *c <= '~' ? *c : '?';
    out[n] = '\0';
    *p = tab ? tab + 1 : end;
}

static bool parse(const char *line, size_t bytes, struct refused *r) {
    const char *p = line, *end = line + bytes;
    char kind[16];

    *r = (struct refused){.times = 1};
    take_field(&p, end, kind, sizeof(kind));
    take_field(&p, end, r->name, sizeof(r->name));
    take_field(&p, end, r->library, sizeof(r->library));
    take_field(&p, end, r->error, sizeof(r->error));
    take_field(&p, end, r->reason, sizeof(r->reason));
    for (int i = 0; i < REFUSED_KINDS; i++) {
        if (strcmp(kind, kinds[i]) != 0) continue;
        r->kind = (enum refused_kind)i;
        return *r->name != '\0';
    }
    return false;
}

static bool same(const struct refused *a, const struct refused *b) {
    return a->kind == b->kind && strcmp(a->name, b->name) == 0 &&
           strcmp(a->library, b->library) == 0 && strcmp(a->reason, b->reason) == 0;
}

void refused_take(struct refused_list *l, const char *line, size_t bytes) {
    struct refused r;

    if (bytes > 6 && memcmp(line, "start\t", 6) == 0) {
        l->started++;
        return;
    }
    if (!parse(line, bytes, &r)) {
        l->omitted++;
        return;
    }
    l->times[r.kind]++;
    for (int i = 0; i < l->count; i++) {
        if (!same(&l->items[i], &r)) continue;
        l->items[i].times++;
        return;
    }
    if (l->count == REFUSED_MAX)
        l->omitted++;
    else
        l->items[l->count++] = r;
}

int refused_read(struct refused_list *l, const char *path) {
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;

    if (!f) return -errno;
    while ((n = getline(&line, &cap, f)) > 0)
        refused_take(l, line, (size_t)n - (line[n - 1] == '\n'));
    free(line);
    fclose(f);
    return 0;
}

static int order(const void *x, const void *y) {
    const struct refused *a = x, *b = y;

    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->times != b->times) return a->times > b->times ? -1 : 1;
    return strcmp(a->name, b->name);
}

void refused_sort(struct refused_list *l) {
    qsort(l->items, (size_t)l->count, sizeof(l->items[0]), order);
}

/* ---- advice ---------------------------------------------------------------------------------- */

/* Returns the 120 of "the PTX is for sm_120"; 0: the reason names none. */
static unsigned ptx_above(const char *reason) {
    static const char words[] = "the PTX is for sm_";
    const char *at = strstr(reason, words);
    unsigned sm = 0;

    if (at && sscanf(at + strlen(words), "%4u", &sm) != 1) sm = 0;
    return sm;
}

/* The owner of the code. A module's name is its size, so that only its library tells. */
static enum code_owner owner_of(const struct refused *r) {
    return code_owner(r->kind == REFUSED_KERNEL ? r->name : "", r->library);
}

static void advise_on_code(const struct refused *r, char *out) {
    unsigned sm = ptx_above(r->reason);

    if (strstr(r->reason, "Tile IR"))
        snprintf(out, REFUSED_TODO_BYTES,
                 "use an earlier version of the library, which has PTX instead (for cuBLAS: "
                 "nvidia-cublas 13.8)");
    else if (sm)
        snprintf(out, REFUSED_TODO_BYTES,
                 "run it with 'salusctl run --capability %u.%u', so that this PTX is used; see "
                 "COMPUTE CAPABILITY in salusctl(1)",
                 sm / 10, sm % 10);
    else if (strcmp(r->error, "ERR_NO_BINARY") == 0)
        snprintf(out, REFUSED_TODO_BYTES, "%s", code_remedy(owner_of(r)));
    else
        snprintf(out, REFUSED_TODO_BYTES,
                 "try 'salusctl run --capability 7.5', or compile for compute_75: PTX for older "
                 "GPUs may not need this feature");
}

void refused_advise(const struct refused *r, char *out) {
    out[0] = '\0';
    if (r->kind == REFUSED_KERNEL || r->kind == REFUSED_MODULE)
        advise_on_code(r, out);
    else if (r->kind == REFUSED_CALL)
        snprintf(out, REFUSED_TODO_BYTES,
                 "the call returned CUDA_ERROR_NOT_SUPPORTED; docs/cuda-coverage.md lists the "
                 "supported calls");
}
