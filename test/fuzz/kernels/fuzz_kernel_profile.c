/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel profiles from files. The first byte chooses the kind: t the text of profiles, c a table of
 * another tool, n a kernel's name. A rejected input leaves no entries and gives a reason; an
 * accepted one prints as a text that parses to the same set.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/kernels/kernel_import.h"
#include "daemon/kernels/kernel_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The set's text parses to the same set, and prints the same. */
static void round_trip(const struct kernel_set *s) {
    char why[KERNEL_PROFILE_WHY_BYTES];
    struct buf b, b_again;
    struct kernel_set again;

    buf_init(&b);
    buf_init(&b_again);
    kernel_set_init(&again, 2);
    kernel_text_print(s, &b);
    if (kernel_text_parse(&again, buf_str(&b), b.len, why) < 0) abort();
    kernel_text_print(&again, &b_again);
    if (b.len != b_again.len || memcmp(buf_str(&b), buf_str(&b_again), b.len) != 0) abort();
    kernel_set_finish(&again);
    buf_finish(&b);
    buf_finish(&b_again);
}

static void check_text(const char *text, size_t n) {
    char why[KERNEL_PROFILE_WHY_BYTES] = "";
    struct kernel_set s;

    kernel_set_init(&s, 1);
    if (kernel_text_parse(&s, text, n, why) < 0) {
        if (s.count || s.hint_count || !*why) abort();
        return;
    }
    for (uint32_t i = 0; i < s.count; i++)
        if (kernel_profile_check(&s.items[i], why) < 0 || !kernel_set_find(&s, &s.items[i].key))
            abort();
    round_trip(&s);
    kernel_set_finish(&s);
}

static void check_table(const char *text, size_t n) {
    struct kernel_import_report report;
    char why[KERNEL_PROFILE_WHY_BYTES];
    struct kernel_set s;

    kernel_set_init(&s, 1);
    if (kernel_import_table(&s, text, n, &report) < 0) {
        if (s.hint_count || !*report.why) abort();
        return;
    }
    if (s.hint_count == 0 || s.hint_count != report.hints) abort();
    for (uint32_t i = 0; i < s.hint_count; i++) {
        if (kernel_profile_hint_check(&s.hints[i], why) < 0) abort();
        if (i > 0 && kernel_profile_hint_order(&s.hints[i - 1], &s.hints[i]) >= 0) abort();
    }
    round_trip(&s);
    kernel_set_finish(&s);
}

static void check_name(const char *text, size_t n) {
    char *name = malloc(n + 1), out[KERNEL_NAME_BYTES];

    if (!name) abort();
    memcpy(name, text, n);
    name[n] = '\0';
    memset(out, 'x', sizeof(out));
    kernel_name_base(name, out);
    if (!memchr(out, '\0', sizeof(out)) || !kernel_name_clean(out)) abort();
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n == 0) return 0;
    if (*data == 't') check_text((const char *)data + 1, n - 1);
    if (*data == 'c') check_table((const char *)data + 1, n - 1);
    if (*data == 'n') check_name((const char *)data + 1, n - 1);
    return 0;
}
