/* SPDX-License-Identifier: Apache-2.0
 *
 * Extracts base names of kernels. Only the prefix of nested names in the Itanium C++ ABI is parsed:
 * namespaces and the function's name are identifiers with their lengths. The rest is ignored.
 */
#include "daemon/kernels/kernel_name.h"

#include <stdio.h>
#include <string.h>

#define ANONYMOUS "(anonymous namespace)"
#define UNNAMED "<unnamed>" /* NVIDIA's front end writes this for an anonymous namespace */

struct text {
    char *out;
    size_t len;
};

static void put(struct text *t, const char *from, size_t count) {
    size_t room = KERNEL_NAME_BYTES - 1 - t->len;

    if (count > room) count = room;
    memcpy(t->out + t->len, from, count);
    t->len += count;
    t->out[t->len] = '\0';
}

/* Parses a length of at most 7 digits, which cannot overflow. Returns false if there is no
 * digit. */
static bool take_number(const char **p, size_t *out) {
    const char *from = *p;

    for (*out = 0; **p >= '0' && **p <= '9' && *p - from < 7; (*p)++)
        *out = *out * 10 + (size_t)(**p - '0');
    return *p > from;
}

/* Parses one identifier: its length, then its characters. */
static bool take_identifier(const char **p, struct text *t) {
    static const char global[] = "_GLOBAL__N_";
    size_t n;

    if (!take_number(p, &n) || n == 0 || strnlen(*p, n) < n) return false;
    if (t->len) put(t, "::", 2);
    if (n >= sizeof(global) - 1 && memcmp(*p, global, sizeof(global) - 1) == 0)
        put(t, ANONYMOUS, sizeof(ANONYMOUS) - 1);
    else
        put(t, *p, n);
    *p += n;
    return true;
}

/* Parses <mangled> ::= _Z [L] <identifier> | _Z N [L] [St] <identifier>+ ... Returns false for any
 * other text. */
static bool from_mangled(const char *p, struct text *t) {
    bool nested;

    if (strncmp(p, "_Z", 2) != 0) return false;
    p += 2;
    nested = *p == 'N';
    if (nested) p++;
    if (*p == 'L') p++; /* internal linkage */
    if (nested && strncmp(p, "St", 2) == 0) {
        put(t, "std", 3);
        p += 2;
    }
    if (!take_identifier(&p, t)) return false;
    while (nested && *p >= '0' && *p <= '9')
        if (!take_identifier(&p, t)) return false;
    return true;
}

/* Skips the prefix of a static kernel in relocatable code: __nv_static_<n>_<n
 * characters>_<mangled>. */
static const char *without_file(const char *name) {
    static const char prefix[] = "__nv_static_";
    const char *p;
    size_t n;

    if (strncmp(name, prefix, sizeof(prefix) - 1) != 0) return name;
    p = name + sizeof(prefix) - 1;
    if (!take_number(&p, &n) || *p != '_' || strnlen(p + 1, n + 1) < n + 1 || p[1 + n] != '_')
        return name;
    return p + 1 + n + 1;
}

/* Length of the notation for an anonymous namespace that begins at p; 0 if none does. */
static size_t anonymous(const char *p) {
    if (strncmp(p, ANONYMOUS, sizeof(ANONYMOUS) - 1) == 0) return sizeof(ANONYMOUS) - 1;
    if (strncmp(p, UNNAMED, sizeof(UNNAMED) - 1) == 0) return sizeof(UNNAMED) - 1;
    return 0;
}

/* Copies the name up to the first template argument or parameter and drops the return type.
 * Example: "void a::b<4>(int)". */
static void from_demangled(const char *p, struct text *t) {
    p += strspn(p, " ");
    while (*p && t->len < KERNEL_NAME_BYTES - 1) {
        size_t unnamed = anonymous(p);

        if (unnamed) {
            put(t, ANONYMOUS, sizeof(ANONYMOUS) - 1);
            p += unnamed;
        } else if (strchr("<([", *p)) {
            break;
        } else if (*p == ' ') {
            p += strspn(p, " ");
            /* The text before the space was the return type. */
            if (*p && (anonymous(p) || !strchr("<([", *p))) t->len = 0;
        } else {
            put(t, p++, 1);
        }
    }
}

void kernel_name_base(const char *name, char out[KERNEL_NAME_BYTES]) {
    char found[KERNEL_NAME_BYTES] = "";
    struct text t = {found, 0};

    name = without_file(name);
    if (strncmp(name, "_Z", 2) != 0)
        from_demangled(name, &t);
    else if (!from_mangled(name, &t))
        t.len = 0;
    kernel_name_tidy(t.len ? found : name, out, KERNEL_NAME_BYTES);
}

/* ---- clean text ------------------------------------------------------------------------------ */

static bool printable(char c) {
    return c >= 0x20 && c < 0x7f;
}

bool kernel_name_clean(const char *name) {
    size_t n = strlen(name);

    if (n == 0 || name[0] == ' ' || name[n - 1] == ' ') return false;
    for (size_t i = 0; i < n; i++)
        if (!printable(name[i])) return false;
    return true;
}

void kernel_name_tidy(const char *text, char *out, size_t cap) {
    size_t n = 0;

    text += strspn(text, " ");
    for (; *text && n + 1 < cap; text++)
        out[n++] = printable(*text) ? *text : '?';
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
    if (n == 0) snprintf(out, cap, "?");
}
