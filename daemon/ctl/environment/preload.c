/* SPDX-License-Identifier: Apache-2.0
 *
 * The dynamic linker separates entries by colons and blanks.
 */
#include "daemon/ctl/environment/preload.h"

#include <stdio.h>
#include <string.h>

#define SEPARATORS ": "
#define ASAN_OPTION "verify_asan_link_order"

/* Prefixes of the names of libraries that ours replace. */
static const char *const ours[] = {"libcuda.so", "libnvidia-ml.so", "libnvrtc.so",
                                   "libnvJitLink.so"};
static const char *const asan[] = {"libasan.so", "libclang_rt.asan"};

/* Returns the next entry at or after `at`, with its length in *n; NULL: there is none. */
static const char *next_entry(const char *at, size_t *n) {
    at += strspn(at, SEPARATORS);
    *n = strcspn(at, SEPARATORS);
    return *n ? at : NULL;
}

/* The entry is a file whose name has one of these prefixes. */
static bool is_named(const char *entry, size_t n, const char *const *names, size_t count) {
    const char *slash = memrchr(entry, '/', n), *name = slash ? slash + 1 : entry;
    size_t left = n - (size_t)(name - entry);

    for (size_t i = 0; i < count; i++)
        if (strlen(names[i]) <= left && strncmp(name, names[i], strlen(names[i])) == 0) return true;
    return false;
}

bool preload_has(const char *list, const char *library) {
    size_t n;

    for (const char *e = list ? next_entry(list, &n) : NULL; e; e = next_entry(e + n, &n))
        if (n == strlen(library) && strncmp(e, library, n) == 0) return true;
    return false;
}

char *preload_add(const char *list, const char *library) {
    const char *rest = list ? list : "";
    char *joined;
    size_t n;

    for (const char *e = next_entry(rest, &n); e; e = next_entry(e + n, &n))
        if (is_named(e, n, ours, sizeof(ours) / sizeof(ours[0])))
            return asprintf(&joined, "%.*s%s:%s", (int)(e - rest), rest, library, e) < 0 ? NULL
                                                                                         : joined;
    return asprintf(&joined, "%s%s%s", rest, *rest ? ":" : "", library) < 0 ? NULL : joined;
}

char *preload_asan_options(const char *options, const char *list) {
    const char *first;
    char *added;
    size_t n;

    first = list ? next_entry(list, &n) : NULL;
    if (first && is_named(first, n, asan, sizeof(asan) / sizeof(asan[0]))) return NULL;
    if (!options) options = "";
    if (strstr(options, ASAN_OPTION)) return NULL;
    return asprintf(&added, "%s%s" ASAN_OPTION "=0", options, *options ? ":" : "") < 0 ? NULL
                                                                                       : added;
}
