/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as the lines that a program left for `salusctl doctor`: entries are printable and
 * counted correctly, and every line is in one of the counts.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/ctl/doctor/refused.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_printable(const char *text, size_t cap) {
    size_t n = strnlen(text, cap);
    if (n == cap) abort();
    for (size_t i = 0; i < n; i++)
        if (text[i] < ' ' || text[i] > '~') abort();
}

static void expect_sound(const struct refused_list *l, uint64_t lines) {
    uint64_t times = 0, all = l->started + l->omitted;
    char todo[REFUSED_TODO_BYTES];
    for (int i = 0; i < l->count; i++) {
        const struct refused *r = &l->items[i];
        expect_printable(r->name, sizeof(r->name));
        expect_printable(r->library, sizeof(r->library));
        expect_printable(r->error, sizeof(r->error));
        expect_printable(r->reason, sizeof(r->reason));
        refused_advise(r, todo);
        expect_printable(todo, sizeof(todo));
        times += r->times;
    }
    if (times + all != lines) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct refused_list l;
    const char *p = (const char *)data, *end = p + size;
    uint64_t lines = 0;
    l = (struct refused_list){0};
    for (; p < end; lines++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        refused_take(&l, p, (size_t)((stop ? stop : end) - p));
        p = stop ? stop + 1 : end;
    }
    refused_sort(&l);
    expect_sound(&l, lines);
    return 0;
}
