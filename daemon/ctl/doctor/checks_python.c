/* SPDX-License-Identifier: Apache-2.0
 *
 * The Python checked is that of VIRTUAL_ENV, CONDA_PREFIX, or the first python3 in PATH. An
 * installed package is a folder NAME-VERSION.dist-info, whose contents are not read.
 */
#include "daemon/ctl/doctor/checks_python.h"

#include <dirent.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_BYTES 128
#define SUFFIX ".dist-info"

enum { OK = FINDINGS_OK, WARNING = FINDINGS_WARNING };

static const struct package {
    const char *name;
    int level;
    const char *text, *todo;
} packages[] = {
#define PACKAGE(name, level, text, todo) {name, level, text, todo},
#include "daemon/ctl/doctor/packages.def"
};

/* ---- packages -------------------------------------------------------------------------------- */

/* Splits "numba_cuda-0.30.4.dist-info" into the name of the package and its version. */
static bool split(const char *folder, char *name, const char **version, size_t *version_bytes) {
    size_t n = strlen(folder), suffix = strlen(SUFFIX);
    const char *dash = strchr(folder, '-');

    if (n <= suffix || strcmp(folder + n - suffix, SUFFIX) != 0 || !dash) return false;
    if (dash >= folder + n - suffix || dash - folder >= NAME_BYTES) return false;
    for (size_t i = 0; i < (size_t)(dash - folder); i++) {
        char c = folder[i];

        name[i] = c == '_' || c == '.' ? '-' : (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
    }
    name[dash - folder] = '\0';
    *version = dash + 1;
    *version_bytes = n - suffix - (size_t)(*version - folder);
    return true;
}

/* Matches a pattern with at most one star. */
static bool fits(const char *pattern, const char *name) {
    const char *star = strchr(pattern, '*');
    size_t head = star ? (size_t)(star - pattern) : 0, tail = star ? strlen(star + 1) : 0;
    size_t n = strlen(name);

    if (!star) return strcmp(pattern, name) == 0;
    return n >= head + tail && memcmp(pattern, name, head) == 0 &&
           strcmp(star + 1, name + n - tail) == 0;
}

static const struct package *find_package(const char *name) {
    for (size_t i = 0; i < sizeof(packages) / sizeof(packages[0]); i++)
        if (fits(packages[i].name, name)) return &packages[i];
    return NULL;
}

/* Returns the number of packages found. */
static int look_in(const char *dir, struct findings *f) {
    DIR *d = opendir(dir);
    const struct dirent *e;
    int found = 0;

    while (d && (e = readdir(d))) {
        char name[NAME_BYTES];
        const char *version;
        size_t bytes;
        const struct package *p =
            split(e->d_name, name, &version, &bytes) ? find_package(name) : NULL;

        if (!p) continue;
        found++;
        findings_add(f, (enum findings_level)p->level, "framework", p->todo, "%s %.*s: %s", name,
                     (int)(bytes < 40 ? bytes : 40), version, p->text);
    }
    if (d) closedir(d);
    return found;
}

/* ---- folders --------------------------------------------------------------------------------- */

static int look_in_all(const char *prefix, const char *pattern, struct findings *f) {
    char path[PATH_MAX];
    glob_t g;
    int found = 0;

    if (snprintf(path, sizeof(path), "%s/%s", prefix, pattern) >= (int)sizeof(path)) return 0;
    if (glob(path, 0, NULL, &g) != 0) return 0;
    for (size_t i = 0; i < g.gl_pathc; i++)
        found += look_in(g.gl_pathv[i], f);
    globfree(&g);
    return found;
}

static int look_under(const char *prefix, struct findings *f) {
    return look_in_all(prefix, "lib/python3*/site-packages", f) +
           look_in_all(prefix, "lib/python3*/dist-packages", f) +
           look_in_all(prefix, "local/lib/python3*/dist-packages", f);
}

static bool in_path(const char *name, char *out, size_t cap) {
    const char *p = getenv("PATH");

    for (; p && *p; p += strcspn(p, ":"), p += *p == ':') {
        int n = snprintf(out, cap, "%.*s/%s", (int)strcspn(p, ":"), p, name);

        if (n < (int)cap && access(out, X_OK) == 0) return true;
    }
    return false;
}

/* Finds the prefix of a program PREFIX/bin/NAME: that of the path if it is a virtual environment,
 * else that of the file that the path links to. Modifies `program`. */
static bool prefix_of(char *program, char *out, size_t cap) {
    char probe[PATH_MAX], real[PATH_MAX];

    if (!realpath(program, real)) return false;
    snprintf(out, cap, "%s", dirname(dirname(program)));
    if (snprintf(probe, sizeof(probe), "%s/pyvenv.cfg", out) < (int)sizeof(probe) &&
        access(probe, R_OK) == 0)
        return true;
    snprintf(out, cap, "%s", dirname(dirname(real)));
    return true;
}

static bool find_prefix(char *out, size_t cap) {
    static const char *const named[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    char program[PATH_MAX];

    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        const char *value = getenv(named[i]);

        if (value && *value) return snprintf(out, cap, "%s", value) < (int)cap;
    }
    if (!in_path("python3", program, sizeof(program)) &&
        !in_path("python", program, sizeof(program)))
        return false;
    return prefix_of(program, out, cap);
}

void checks_python(struct findings *f) {
    char prefix[PATH_MAX];
    const char *home = getenv("HOME");
    int found;

    if (!find_prefix(prefix, sizeof(prefix))) return;
    found = look_under(prefix, f);
    if (home && *home) found += look_in_all(home, ".local/lib/python3*/site-packages", f);
    if (!found)
        findings_add(f, FINDINGS_OK, "framework", NULL,
                     "no package known to doctor is installed in %.300s", prefix);
}
