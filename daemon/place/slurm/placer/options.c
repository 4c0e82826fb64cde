/* SPDX-License-Identifier: Apache-2.0
 *
 * The options with values, as a table.
 */
#include "daemon/place/slurm/placer/options.h"

#include <errno.h>
#include <string.h>

#include "common/text/args.h"
#include "common/text/units.h"

#define SECOND_NS 1000000000ull

enum kind { WORD, TIME, BYTES, PART };

/* X(NAME, option, kind, preset, least, most, sentence) */
/* clang-format off */
#define OPTIONS(X) \
    X(POLICY, "policy", WORD, "horus", 0, 0, "placement policy, one of those below") \
    X(MEMORY, "memory", WORD, "sum", 0, 0, "sum: the memory of all jobs on a GPU adds up; lanes: jobs share the ephemeral part") \
    X(INTERVAL, "interval", TIME, "2s", 10000000, 3600 * SECOND_NS, "time between two rounds") \
    X(PATIENCE, "patience", TIME, "60s", SECOND_NS, 86400 * SECOND_NS, "time after which a placed job that Slurm has not started is placed again") \
    X(STALE, "stale", TIME, "120s", SECOND_NS, 86400 * SECOND_NS, "time without a report after which a node gets no job") \
    X(UTIL, "util", PART, "50%", 1, 1000, "utilisation assumed for jobs that give none") \
    X(MEM, "mem", BYTES, "1GiB", 1, REPORT_MEMORY_MOST, "the same device memory assumed for jobs that give none") \
    X(SLACK, "slack", PART, "10%", 0, 1000000, "part by which services may be slowed down") \
    X(GRES, "gres", WORD, "salus", 0, 0, "name of the GRES whose nodes and jobs this placer serves")
/* clang-format on */

enum option {
#define X(name, option, kind, preset, least, most, sentence) NAME_##name,
    OPTIONS(X)
#undef X
        NAMES
};

static const struct {
    const char *option, *preset, *sentence;
    enum kind kind;
    uint64_t least, most;
} table[] = {
#define X(name, option, kind, preset, least, most, sentence) \
    {"--" option, preset, sentence, kind, least, most},
    OPTIONS(X)
#undef X
};

void options_help(FILE *out) {
    fputs("usage: salus-placer [OPTION]...\n\nChooses nodes and GPUs for waiting jobs of Slurm; "
          "see salus-placer(8).\n\n",
          out);
    for (int i = 0; i < NAMES; i++)
        fprintf(out, "  %-12s %s (%s)\n", table[i].option, table[i].sentence, table[i].preset);
    fputs("  --once       one round\n"
          "  --dry-run    says what it would do\n"
          "  --help, --version\n\nPolicies:",
          out);
    for (const char *const *p = place_policies(); *p; p++)
        fprintf(out, " %s", *p);
    fputc('\n', out);
}

static int bad(char *why, size_t cap, const char *option, const char *what, const char *value) {
    snprintf(why, cap, "%s: '%.60s' is %s", option, value, what);
    return -EINVAL;
}

static int take_number(int i, const char *value, uint64_t *out, char *why, size_t cap) {
    static const struct {
        enum units units;
        const char *expected;
    } kinds[] = {[TIME] = {UNITS_TIME, "not a time such as 30s"},
                 [BYTES] = {UNITS_BYTES, "not a size such as 4GiB"},
                 [PART] = {UNITS_PART, "not a percentage such as 40%"}};

    if (units_parse(kinds[table[i].kind].units, value, out) < 0)
        return bad(why, cap, table[i].option, kinds[table[i].kind].expected, value);
    if (*out < table[i].least || *out > table[i].most)
        return bad(why, cap, table[i].option, "out of range", value);
    return 0;
}

static int take_memory(struct options *o, const char *value, char *why, size_t cap) {
    bool lanes = strcmp(value, "lanes") == 0;

    if (!lanes && strcmp(value, "sum") != 0)
        return bad(why, cap, "--memory", "not sum or lanes", value);
    o->round.place.memory = lanes ? PLACE_MEMORY_LANES : PLACE_MEMORY_SUM;
    return 0;
}

/* Rejects pab, which would stop running jobs; the placer must not do that. */
static int take_policy(struct options *o, const char *value, char *why, size_t cap) {
    for (const char *const *p = place_policies(); *p; p++) {
        if (strcmp(*p, value) != 0 || strcmp(value, "pab") == 0) continue;
        o->round.place.policy = *p;
        return 0;
    }
    return bad(why, cap, "--policy", "not a policy; see salus-placer --help", value);
}

static int take(struct options *o, int i, const char *value, char *why, size_t cap) {
    uint64_t n = 0;
    int err = table[i].kind == WORD ? 0 : take_number(i, value, &n, why, cap);

    if (err < 0) return err;
    switch (i) {
    case NAME_POLICY: return take_policy(o, value, why, cap);
    case NAME_MEMORY: return take_memory(o, value, why, cap);
    case NAME_INTERVAL: o->interval_ns = n; break;
    case NAME_PATIENCE: o->round.patience_s = (int64_t)(n / SECOND_NS); break;
    case NAME_STALE: o->ctld.stale_ns = (int64_t)n; break;
    case NAME_UTIL: o->round.util = (double)n / 1000; break;
    case NAME_MEM: o->round.mem_bytes = n; break;
    case NAME_SLACK: o->round.slack = (double)n / 1000; break;
    case NAME_GRES: o->ctld.gres = value; break;
    default: break;
    }
    return 0;
}

static int take_valued(struct options *o, struct args *a, char *why, size_t cap) {
    for (int i = 0; i < NAMES; i++) {
        if (strcmp(a->name, table[i].option) != 0) continue;
        const char *value = args_value(a);
        if (!value || !*value) return bad(why, cap, a->name, "an option without its value", "");
        return take(o, i, value, why, cap);
    }
    return bad(why, cap, "salus-placer", "not an option; see salus-placer --help", args_whole(a));
}

int options_parse(struct options *o, char **argv, char *why, size_t cap) {
    struct args a = {.rest = argv};
    enum args_kind kind;
    int err = 0;

    *o = (struct options){0};
    for (int i = 0; i < NAMES && err == 0; i++)
        err = take(o, i, table[i].preset, why, cap);
    while (err == 0 && (kind = args_next(&a)) != ARGS_END) {
        if (args_is(&a, "--once"))
            o->once = true;
        else if (args_is(&a, "--dry-run"))
            o->dry = o->once = true;
        else if (args_is(&a, "--help"))
            o->help = true;
        else if (args_is(&a, "--version"))
            o->version = true;
        else
            err = take_valued(o, &a, why, cap);
    }
    return err;
}
