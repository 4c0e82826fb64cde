/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers are read as strtoul reads them: blanks before a number and text behind it are ignored.
 * The first entry decides whether the list has numbers or UUIDs.
 */
#include "shim/process/visible.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define ENTRY_BYTES 64 /* a longer entry is neither a number nor a UUID */

/* Takes the entry at *list without the blanks around it, and moves *list behind its comma, or to
 * NULL at the end. False: it is too long for a valid entry. */
static bool take_entry(const char **list, char entry[ENTRY_BYTES]) {
    const char *start = *list + strspn(*list, " \t");
    const char *comma = strchr(*list, ',');
    size_t n = comma ? (size_t)(comma - *list) : strlen(*list);
    const char *end = *list + n;

    *list = comma ? comma + 1 : NULL;
    if (start > end) start = end;
    while (end > start && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    n = (size_t)(end - start);
    if (n >= ENTRY_BYTES) return false;
    memcpy(entry, start, n);
    entry[n] = '\0';
    return true;
}

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

static bool is_number(const char *text) {
    return isdigit((unsigned char)*text);
}

static enum visible_kind kind_of(const char *entry) {
    if (!*entry) return VISIBLE_NONE;
    if (strcmp(entry, "NoDevFiles") == 0) return VISIBLE_UNASSIGNED;
    if (begins(entry, "MIG-")) return VISIBLE_MIG;
    if (begins(entry, "GPU-")) return uuid_may_begin(entry) ? VISIBLE_UUIDS : VISIBLE_WRONG;
    if (is_number(entry) || (*entry == '+' && is_number(entry + 1))) return VISIBLE_NUMBERS;
    if (*entry == '-' && is_number(entry + 1)) return VISIBLE_NONE;
    return VISIBLE_WRONG;
}

static void set_entry(struct visible_entry *e, enum visible_kind kind, const char *text) {
    unsigned long long number = strtoull(text, NULL, 10);

    *e = (struct visible_entry){0};
    if (kind == VISIBLE_NUMBERS)
        e->number = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
    else
        strcpy(e->uuid, text);
}

static bool is_there(const struct visible *v, uint32_t number) {
    for (uint32_t i = 0; i < v->count; i++)
        if (v->entries[i].number == number) return true;
    return false;
}

void visible_parse(const char *list, struct visible *out) {
    char entry[ENTRY_BYTES];

    *out = (struct visible){.kind = list ? VISIBLE_WRONG : VISIBLE_ANY};
    while (list && out->count < VISIBLE_MAX && take_entry(&list, entry)) {
        enum visible_kind kind = kind_of(entry);

        if (out->count == 0) out->kind = kind;
        if (kind != out->kind || (kind != VISIBLE_NUMBERS && kind != VISIBLE_UUIDS)) return;
        set_entry(&out->entries[out->count], kind, entry);
        if (kind == VISIBLE_NUMBERS && is_there(out, out->entries[out->count].number)) {
            *out = (struct visible){.kind = VISIBLE_TWICE};
            return;
        }
        out->count++;
    }
}

/* ---- matching -------------------------------------------------------------------------------- */

static bool stands_before(const struct visible_gpu *a, const struct visible_gpu *b) {
    if (!a->known || !b->known) return a->known && !b->known;
    if (a->pci_domain != b->pci_domain) return a->pci_domain < b->pci_domain;
    if (a->pci_bus != b->pci_bus) return a->pci_bus < b->pci_bus;
    return a->pci_slot < b->pci_slot;
}

void visible_order_by_pci(const struct visible_gpu *gpus, uint32_t count, uint32_t *order) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;

        for (; at > 0 && stands_before(&gpus[i], &gpus[order[at - 1]]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

/* Returns the position of the one GPU that the entry names; `count`: no GPU, or more than one. */
static uint32_t find(const struct visible *list, const struct visible_entry *e,
                     const struct visible_gpu *gpus, const uint32_t *order, uint32_t count) {
    uint32_t found = count;

    if (list->kind == VISIBLE_NUMBERS) return e->number < count ? e->number : count;
    for (uint32_t i = 0; i < count; i++) {
        const struct visible_gpu *gpu = &gpus[order[i]];

        if (!gpu->known || !uuid_begins(gpu->uuid, e->uuid)) continue;
        if (found < count) return count;
        found = i;
    }
    return found;
}

uint32_t visible_match(const struct visible *list, const struct visible_gpu *gpus,
                       const uint32_t *order, uint32_t count, uint32_t *out) {
    uint32_t n = 0;

    for (; n < list->count; n++) {
        uint32_t at = find(list, &list->entries[n], gpus, order, count);

        if (at == count) break;
        for (uint32_t i = 0; i < n; i++)
            if (out[i] == at) return 0;
        out[n] = at;
    }
    return n;
}
