/* SPDX-License-Identifier: Apache-2.0
 *
 * Knows interpreters by their names, and by a table which of their options take a value. The first
 * word that is neither an option nor a value is the script.
 */
#include "shim/process/title.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/text/command_line.h"

#define LINE_BYTES 4096
#define PARENTS_MAX 4 /* enough to skip a server process that starts processes for others */

struct interpreter {
    const char *name; /* also with a version appended: python3.11 */
    const char *values, *code,
        *script;       /* short options: with a value, with code, with the script */
    const char *words; /* long options whose value is the next word */
};

static const struct interpreter interpreters[] = {
    {"python", "WX", "c", "m", " --check-hash-based-pycs "},
    {"pypy", "WX", "c", "m", ""},
    {"bash", "oO", "c", "", " --rcfile --init-file "},
    {"sh", "o", "c", "", ""},
    {"dash", "o", "c", "", ""},
    {"zsh", "o", "c", "", ""},
    {"ksh", "o", "c", "", ""},
    {"nodejs", "rC", "ep", "", " --require --import --loader --conditions --env-file "},
    {"node", "rC", "ep", "", " --require --import --loader --conditions --env-file "},
    {"julia", "ptJLHC", "eE", "m",
     " --procs --threads --sysimage --load --home --cpu-target --machine-file --eval --print "},
    {"Rscript", "", "e", "", ""},
    {"R", "g", "e", "f", ""},
    {"perl", "IMm", "eE", "", ""},
    {"ruby", "ICrE", "e", "", ""},
    {"lua", "l", "e", "", ""},
};

/* The words that are left. */
struct line {
    const char *at, *end;
};

/* Returns the next word, or NULL at the end. A word that was cut is ignored. */
static const char *next_word(struct line *l) {
    const char *word = l->at;
    const char *nul = word < l->end ? memchr(word, 0, (size_t)(l->end - word)) : NULL;
    if (!nul) return NULL;
    l->at = nul + 1;
    return word;
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Prints the script's name. A package that is run by its path has the name of its directory. */
static void print_script(const char *path, char *out) {
    const char *end = last_part(path), *from = end;
    if (strcmp(end, "__main__.py") == 0 && end - path > 1) {
        from = end - 1;
        while (from > path && from[-1] != '/')
            from--;
        snprintf(out, TITLE_BYTES, "%.*s", (int)(end - 1 - from), from);
        return;
    }
    snprintf(out, TITLE_BYTES, "%s", from);
}

/* True for the name with or without a version; a "t" after Python's version means no global lock.
 */
static bool is_called(const char *program, const char *name) {
    size_t n = strlen(name);
    if (strncmp(program, name, n) != 0) return false;
    const char *version = program + n;
    size_t digits = strspn(version, "0123456789.-");
    return !version[digits] || (digits && strcmp(version + digits, "t") == 0);
}

static const struct interpreter *find(const char *program) {
    for (size_t i = 0; i < sizeof(interpreters) / sizeof(interpreters[0]); i++)
        if (is_called(last_part(program), interpreters[i].name)) return &interpreters[i];
    return NULL;
}

static bool has(const char *letters, char c) {
    return strchr(letters, c) != NULL;
}

enum kind { FLAG, CODE, SCRIPT };

/* Parses a cluster of short options: "-um pkg.mod" and "-mpkg.mod" end in the script. */
static enum kind take_short(const struct interpreter *in, const char *word, struct line *l,
                            const char **script) {
    for (const char *c = word + 1; *c; c++) {
        bool named = has(in->script, *c);
        if (has(in->code, *c)) return CODE;
        if (!named && !has(in->values, *c)) continue;
        const char *value = c[1] ? c + 1 : next_word(l);
        *script = value;
        return named ? SCRIPT : FLAG;
    }
    return FLAG;
}

static enum kind take_long(const struct interpreter *in, const char *word, struct line *l,
                           const char **script) {
    char padded[64];
    if (has(in->script, 'f') && strncmp(word, "--file=", 7) == 0) {
        *script = word + 7;
        return SCRIPT;
    }
    snprintf(padded, sizeof(padded), " %s ", word);
    if (strstr(in->words, padded)) next_word(l);
    return FLAG;
}

/* Returns the script, or NULL. *module: it is a module's name, not a path. */
static const char *find_script(const struct interpreter *in, struct line *l, bool *module) {
    const char *word, *script = NULL;
    *module = false;
    while ((word = next_word(l))) {
        enum kind kind = FLAG;
        if (strcmp(word, "-") == 0 || strcmp(word, "--args") == 0) return NULL;
        if (strcmp(word, "--") == 0) return next_word(l);
        if (*word != '-' && *word != '+') return word;
        if (strncmp(word, "--", 2) == 0)
            kind = take_long(in, word, l, &script);
        else
            kind = take_short(in, word, l, &script);
        if (kind == CODE) return NULL;
        *module = kind == SCRIPT && has(in->script, 'm');
        if (kind == SCRIPT) return script;
    }
    return NULL;
}

void title_of(const char *words, size_t bytes, char out[TITLE_BYTES]) {
    struct line l = {words, words + bytes};
    const char *program = next_word(&l), *script;
    const struct interpreter *in = program ? find(program) : NULL;
    bool module = false;
    script = in ? find_script(in, &l, &module) : NULL;
    *out = '\0';
    if (script && module)
        snprintf(out, TITLE_BYTES, "%s", script);
    else if (script)
        print_script(script, out);
}

bool title_is_parents(const char *words, size_t bytes) {
    struct line l = {words, words + bytes};
    const char *word = next_word(&l);
    if (!word || !find(word)) return false;
    while ((word = next_word(&l)))
        if (strncmp(word, "from multiprocessing.", 21) == 0) return true;
    return false;
}

/* ---- this process ---------------------------------------------------------------------------- */

/* Returns the process that started `pid`; 0: not known. */
static pid_t parent_of(pid_t pid) {
    char path[40], text[512], *after;
    int parent = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    text[n] = '\0';
    if (f) fclose(f);
    after = strrchr(text, ')'); /* the end of the program's name */
    return after && sscanf(after, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* Takes the title that a program wrote over its command line: an interpreter then has another name
 * there. */
static void take_title(const char *words, size_t bytes, char *out) {
    struct line l = {words, words + bytes};
    const char *first = next_word(&l);
    if (first && *first && !find(first) && find(program_invocation_short_name))
        snprintf(out, TITLE_BYTES, "%.*s", TITLE_BYTES - 1, first);
}

void title_self(char out[TITLE_BYTES]) {
    const char *name = getenv("SALUS_JOB_NAME");
    int saved = errno;
    *out = '\0';
    if (name) snprintf(out, TITLE_BYTES, "%.*s", TITLE_BYTES - 1, name);
    pid_t pid = getpid();
    for (int i = 0; !*out && pid > 0 && i < PARENTS_MAX; i++) {
        char words[LINE_BYTES];
        size_t bytes = command_line_read(pid, words, sizeof(words));
        title_of(words, bytes, out);
        if (!*out && i == 0) take_title(words, bytes, out);
        pid = title_is_parents(words, bytes) ? parent_of(pid) : 0;
    }
    if (!*out) snprintf(out, TITLE_BYTES, "%s", program_invocation_short_name);
    errno = saved;
}
