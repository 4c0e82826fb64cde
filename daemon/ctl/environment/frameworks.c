/* SPDX-License-Identifier: Apache-2.0
 *
 * Applies the table of frameworks to the environment.
 */
#include "daemon/ctl/environment/frameworks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/ctl/environment/preload.h"
#include "daemon/ctl/files/installation.h"
#include "proto/cuda/capability.h"

enum way { SET, ADD, PRELOAD };
enum where { ASYNC, ANY, SOFT, SOFT_90 };

static const struct row {
    const char *framework, *variable, *value, *why;
    enum way way;
    enum where where;
} rows[] = {
#define FRAMEWORK(framework, variable, way, where, value, why) \
    {framework, variable, value, why, way, where},
#include "daemon/ctl/environment/frameworks.def"
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))
_Static_assert(ROWS <= FRAMEWORKS_MAX, "a plan has room for all of them");

/* Placeholders in values, and the functions that resolve them. */
static const struct {
    const char *name;
    int (*find)(char *out, size_t cap);
} places[] = {
    {"@PTXAS@", installation_ptxas}, {"@CUDA@", installation_cuda}, {"@JIT@", installation_jit}};

/* Copies `text` with its placeholder replaced by the path that it stands for. Returns false if
 * there is no such path. */
static bool fill(const char *text, char *out, size_t cap) {
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const char *at = strstr(text, places[i].name);
        char path[PATH_MAX];

        if (!at) continue;
        if (places[i].find(path, sizeof(path)) < 0) return false;
        return snprintf(out, cap, "%.*s%s%s", (int)(at - text), text, path,
                        at + strlen(places[i].name)) < (int)cap;
    }
    return snprintf(out, cap, "%s", text) < (int)cap;
}

/* The list of flags contains this flag, with any value. */
static bool has_flag(const char *flags, const char *flag) {
    size_t n = strcspn(flag, "=");

    for (const char *p = strstr(flags, "--"); p; p = strstr(p + 1, "--"))
        if (strncmp(p, flag, n) == 0 && strchr("= \t\n", p[n])) return true;
    return false;
}

/* Appends a flag unless the list contains it with any value. */
static bool add_flag(const char *flag, char *flags, size_t cap) {
    char filled[PATH_MAX + 64];
    size_t n = strlen(flags);

    if (has_flag(flags, flag) || !fill(flag, filled, sizeof(filled))) return false;
    if (n + strlen(filled) + sizeof(" ") > cap) return false;
    snprintf(flags + n, cap - n, "%s%s", n ? " " : "", filled);
    return true;
}

static bool add_flags(const struct row *r, const char *flags, struct frameworks_setting *s) {
    bool added = false;

    if (snprintf(s->value, sizeof(s->value), "%s", flags) >= (int)sizeof(s->value)) return false;
    for (const char *at = r->value; *at; at += strspn(at, " ")) {
        char flag[256];
        size_t n = strcspn(at, " ");

        snprintf(flag, sizeof(flag), "%.*s", (int)n, at);
        added |= add_flag(flag, s->value, sizeof(s->value));
        at += n;
    }
    return added;
}

/* Appends a library. The dynamic linker treats colons and blanks as separators of names. */
static bool add_library(const struct row *r, const char *now, struct frameworks_setting *s) {
    char library[PATH_MAX], *list;
    bool fits;

    if (!fill(r->value, library, sizeof(library))) return false;
    if (strpbrk(library, ": ") || preload_has(now, library)) return false;
    list = preload_add(now, library);
    if (!list) return false;
    fits = snprintf(s->value, sizeof(s->value), "%s", list) < (int)sizeof(s->value);
    free(list);
    return fits;
}

static bool plan(const struct row *r, struct frameworks_setting *s) {
    const char *now = getenv(r->variable);

    *s = (struct frameworks_setting){
        .framework = r->framework, .variable = r->variable, .why = r->why};
    if (r->way == ADD) return add_flags(r, now ? now : "", s);
    if (r->way == PRELOAD) return add_library(r, now ? now : "", s);
    return !now && fill(r->value, s->value, sizeof(s->value));
}

/* PyTorch's allocator has two names for one setting: whichever the user has set counts. */
static bool set_under_another_name(const struct row *r) {
    return strcmp(r->framework, "PyTorch") == 0 && r->where == ASYNC &&
           (getenv("PYTORCH_ALLOC_CONF") || getenv("PYTORCH_CUDA_ALLOC_CONF"));
}

/* The job asks for a capability below 9.0. Its environment is set already. */
static bool asks_below_90(void) {
    const char *asked = getenv("SALUS_CAPABILITY");
    uint32_t capability = asked ? capability_parse(asked) : 0;

    return capability && capability < 90;
}

static bool counts(const struct row *r, const struct frameworks_choice *choice) {
    if (r->where == ASYNC) return choice->async;
    if (r->where == ANY) return true;
    return choice->soft && !(r->where == SOFT_90 && asks_below_90());
}

int frameworks_plan(const struct frameworks_choice *choice, struct frameworks_setting *out) {
    int count = 0;

    for (size_t i = 0; i < ROWS; i++)
        if (counts(&rows[i], choice) && !set_under_another_name(&rows[i]) &&
            plan(&rows[i], &out[count]))
            count++;
    return count;
}

void frameworks_apply(const struct frameworks_setting *settings, int count) {
    for (int i = 0; i < count; i++)
        setenv(settings[i].variable, settings[i].value, 1);
}
