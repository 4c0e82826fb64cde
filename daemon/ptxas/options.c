/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses options. An option has a long name and mostly a short one, with one dash or two. Its value
 * follows after '=' or as the next argument; the value of -O may also follow directly.
 */
#include "daemon/ptxas/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_OUTPUT "elf.o" /* ptxas's default */

enum kind {
    /* without a value; has no effect unless `own` names one, since it concerns machine code */
    FLAG,
    VALUE,  /* as FLAG, with a value */
    REFUSED /* would produce something other than one image */
};

enum own { NONE, INPUT_TEXT, OUTPUT, GPU, VERBOSE, VERSION, HELP };

static const struct option {
    const char *name, *alias;
    enum kind kind;
    enum own own;
} known[] = {
    {"output-file", "o", VALUE, OUTPUT},
    {"gpu-name", "arch", VALUE, GPU},
    {"input-as-string", "ias", VALUE, INPUT_TEXT},
    {"verbose", "v", FLAG, VERBOSE},
    {"version", "V", FLAG, VERSION},
    {"help", "h", FLAG, HELP},
    {"opt-level", "O", VALUE, NONE},
    {"optimize-float-controls", "Ofc", VALUE, NONE},
    {"regAllocOptLevel", "regAllocOptLevel", VALUE, NONE},
    {"maxrregcount", "maxrregcount", VALUE, NONE},
    {"machine", "m", VALUE, NONE},
    {"fmad", "fmad", VALUE, NONE},
    {"def-load-cache", "dlcm", VALUE, NONE},
    {"def-store-cache", "dscm", VALUE, NONE},
    {"split-compile", "split-compile", VALUE, NONE},
    {"allow-expensive-optimizations", "allow-expensive-optimizations", VALUE, NONE},
    {"generate-line-info", "lineinfo", FLAG, NONE},
    {"device-debug", "g", FLAG, NONE},
    {"suppress-debug-info", "suppress-debug-info", FLAG, NONE},
    {"sp-bounds-check", "sp-bounds-check", FLAG, NONE},
    {"return-at-end", "ret-end", FLAG, NONE},
    {"preserve-relocs", "preserve-relocs", FLAG, NONE},
    {"disable-optimizer-constants", "disable-optimizer-consts", FLAG, NONE},
    {"disable-warnings", "w", FLAG, NONE},
    {"warn-on-spills", "warn-spills", FLAG, NONE},
    {"warn-on-local-memory-usage", "warn-lmem-usage", FLAG, NONE},
    {"warn-on-double-precision-use", "warn-double-usage", FLAG, NONE},
    {"compile-only", "c", REFUSED, NONE},
    {"entry", "e", REFUSED, NONE},
    {"options-file", "optf", REFUSED, NONE},
    {"compile-functions", "compile-functions", REFUSED, NONE},
};

static int fail(char *why, size_t why_bytes, const char *what, const char *text) {
    snprintf(why, why_bytes, "%s '%.100s'", what, text);
    return -EINVAL;
}

static bool is(const char *arg, size_t bytes, const char *name) {
    return strlen(name) == bytes && memcmp(arg, name, bytes) == 0;
}

/* Finds an option by its name up to '=', or else -O with a digit. *value: the text after '=', the
 * digit, or NULL. */
static const struct option *find(const char *arg, const char **value) {
    size_t n = strcspn(arg, "=");

    *value = arg[n] ? arg + n + 1 : NULL;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (is(arg, n, known[i].name) || is(arg, n, known[i].alias)) return &known[i];
    if (arg[0] != 'O' || strlen(arg) != 2) return NULL;
    *value = arg + 1;
    return find("O", &(const char *){NULL});
}

static void keep(struct options *o, enum own own, const char *value) {
    switch (own) {
    case INPUT_TEXT: o->text = value; break;
    case OUTPUT: o->output = value; break;
    case GPU: o->gpu = value; break;
    case VERBOSE: o->verbose = true; break;
    case VERSION: o->version = true; break;
    case HELP: o->help = true; break;
    case NONE: break;
    }
}

/* Takes an option. Returns how many arguments it took, 1 or 2, or -EINVAL. */
static int take(struct options *o, char **argv, char *why, size_t why_bytes) {
    const char *value;
    const struct option *option = find(argv[0] + strspn(argv[0], "-"), &value);
    bool next = option && option->kind == VALUE && !value;

    if (!option) return fail(why, why_bytes, "the option is unknown:", argv[0]);
    if (option->kind == REFUSED)
        return fail(why, why_bytes, "the software GPU's code is PTX: there is nothing to do for",
                    argv[0]);
    if (next && !argv[1]) return fail(why, why_bytes, "a value is needed for", argv[0]);
    keep(o, option->own, next ? argv[1] : value);
    return next ? 2 : 1;
}

static int take_input(struct options *o, const char *file, char *why, size_t why_bytes) {
    if (o->input)
        return fail(why, why_bytes, "only one input can be given, and there is another:", file);
    o->input = file;
    return 1;
}

int options_parse(struct options *o, char **argv, char *why, size_t why_bytes) {
    *o = (struct options){.output = DEFAULT_OUTPUT};
    while (*argv) {
        bool option = argv[0][0] == '-' && argv[0][1];
        int took = option ? take(o, argv, why, why_bytes) : take_input(o, *argv, why, why_bytes);

        if (took < 0) return took;
        argv += took;
    }
    if (o->version || o->help || (o->input == NULL) != (o->text == NULL)) return 0;
    return fail(why, why_bytes, "one input is needed, as in", "-o kernel.cubin kernel.ptx");
}
