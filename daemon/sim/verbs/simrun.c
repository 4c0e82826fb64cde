/* SPDX-License-Identifier: Apache-2.0
 *
 * `salus-sim run`: runs each job alone and all of them under each lane policy, and writes the
 * requested files.
 */
#include "daemon/sim/verbs/simrun.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sim/report/alone.h"
#include "daemon/sim/report/rates.h"
#include "daemon/sim/report/refused.h"
#include "daemon/sim/report/slos.h"
#include "daemon/sim/report/slowdowns.h"
#include "daemon/sim/report/summary.h"
#include "daemon/sim/report/timeline.h"
#include "daemon/sim/report/timeline_svg.h"
#include "daemon/sim/report/trace.h"
#include "daemon/sim/run/sim_run.h"

#define MAX_POLICIES 16
#define CHROME_SPANS 200000
#define SVG_SPANS 20000
/* All lane policies, as ",fifo,pack". */
static const char lane_policies[] =
#define LANE_POLICY(name, sentence) "," #name
#include "daemon/policy/policies.def"
    ;

/* State over all policies, until the last has run. */
struct simrun {
    struct simcli *c;
    struct workload w;
    struct sim_result *alone; /* NULL: not computed, because there are too many jobs */
    struct summary summaries[1 + MAX_POLICIES]; /* the first is of all jobs alone */
    uint32_t count;
    struct slowdowns slowdowns;
    char *slos_text, *refused_text;
    size_t slos_bytes, refused_bytes;
    FILE *slos, *refused; /* streams into these buffers */
};

/* Opens FILE.x, or FILE-POLICY.x if there are several policies. On failure reports the error and
 * returns NULL. */
static FILE *open_for(struct simcli *c, const char *path, const char *policy) {
    char full[4096];
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    if (dot && slash && dot < slash) dot = NULL;
    size_t stem = dot ? (size_t)(dot - path) : strlen(path);
    bool one = strchr(c->opt.policies, ',') == NULL;
    snprintf(full, sizeof(full), "%.*s%s%s%s", (int)stem, path, one ? "" : "-", one ? "" : policy,
             path + stem);
    FILE *f = fopen(full, "we");
    if (!f) simverb_fail(c, SIMCLI_FAILED, "%s: %s", full, strerror(errno));
    return f;
}

/* Observers of one run. */
struct watched {
    struct sim_watch list[5];
    uint32_t count;
    struct timeline chrome, svg;
    struct rates rates;
    struct slos_lines slos;
    FILE *trace, *rates_file;
};

static int watch_begin(struct simcli *c, struct watched *o, const struct workload *w,
                       const char *policy) {
    *o = (struct watched){0};
    if (c->opt.trace) {
        if (!(o->trace = open_for(c, c->opt.trace, policy))) return SIMCLI_FAILED;
        o->list[o->count++] =
            (struct sim_watch){.self = o->trace, .began = trace_began, .stepped = trace_stepped};
    }
    if (c->opt.rates) {
        if (!(o->rates_file = open_for(c, c->opt.rates, policy))) return SIMCLI_FAILED;
        if (rates_init(&o->rates, w, c->opt.window_ns, o->rates_file)) goto no_memory;
        o->list[o->count++] = (struct sim_watch){.self = &o->rates, .ran = rates_ran};
    }
    if (c->opt.slos) {
        if (!(o->slos.out = open_for(c, c->opt.slos, policy))) return SIMCLI_FAILED;
        o->slos.w = w;
        slos_lines_begin(o->slos.out);
        o->list[o->count++] = (struct sim_watch){.self = &o->slos, .controlled = slos_controlled};
    }
    if (c->opt.chrome) {
        if (timeline_init(&o->chrome, w->count, CHROME_SPANS)) goto no_memory;
        o->list[o->count++] = (struct sim_watch){.self = &o->chrome, .ran = timeline_ran};
    }
    if (c->opt.svg) {
        if (timeline_init(&o->svg, w->count, SVG_SPANS)) goto no_memory;
        o->list[o->count++] = (struct sim_watch){.self = &o->svg, .ran = timeline_ran};
    }
    return SIMCLI_OK;
no_memory:
    return simverb_fail(c, SIMCLI_FAILED, "out of memory");
}

/* Writes the files of a finished run; `r` is NULL if the run failed. */
static int watch_end(struct simcli *c, struct watched *o, const struct workload *w,
                     const struct sim_result *r, const char *policy) {
    int status = SIMCLI_OK;
    FILE *f;
    rates_finish(&o->rates);
    if (o->trace) {
        trace_ended(o->trace);
        status |= simverb_close(c, o->trace);
    }
    if (o->rates_file) status |= simverb_close(c, o->rates_file);
    if (o->slos.out) status |= simverb_close(c, o->slos.out);
    if (r && c->opt.chrome && (f = open_for(c, c->opt.chrome, policy))) {
        timeline_chrome(&o->chrome, w, r, f);
        status |= simverb_close(c, f);
    }
    if (r && c->opt.svg && (f = open_for(c, c->opt.svg, policy))) {
        if (timeline_svg(&o->svg, w, r, policy, f))
            status = simverb_fail(c, SIMCLI_FAILED, "out of memory");
        status |= simverb_close(c, f);
    }
    timeline_finish(&o->chrome);
    timeline_finish(&o->svg);
    return status;
}

/* ---- one run --------------------------------------------------------------------------------- */

static struct sim_config config_of(const struct simrun *s, const char *policy) {
    struct sim_config config = {
        .policy = s->c->opt.policy, .seed = s->c->opt.generate.seed, .check = s->c->opt.check};
    snprintf(config.policy.lane, POLICY_NAME_BYTES, "%s", policy);
    return config;
}

static int failed(struct simrun *s, int err, const char *policy, const char *why) {
    return simverb_fail(s->c, err == -EPROTO ? SIMCLI_BROKEN : SIMCLI_FAILED, "%s: %s", policy,
                        why);
}

/* Reports a result: a row of the table, a member of "runs" in JSON, and further lines. */
static int report(struct simrun *s, const char *policy, const struct sim_result *r) {
    struct summary *summary = &s->summaries[s->count];
    FILE *out = s->c->out;
    if (summary_make(summary, policy, &s->w, r, s->alone))
        return simverb_fail(s->c, SIMCLI_FAILED, "out of memory");
    if (s->c->opt.json) {
        fputs(s->count > 1 ? ",{" : "{", out);
        summary_json(summary, out);
        if (s->c->opt.per_job) {
            fputc(',', out);
            summary_json_jobs(&s->w, r, s->alone, out);
        }
        fputc('}', out);
    }
    s->count++;
    if (r == s->alone) return SIMCLI_OK;
    if (slos_any(&s->w)) slos_table(policy, &s->w, r, s->slos);
    refused_lines(&s->w, r, policy, s->refused);
    if (s->alone) slowdowns_add(&s->slowdowns, policy, &s->w, r, s->alone);
    return SIMCLI_OK;
}

static int run_one(struct simrun *s, const char *policy) {
    struct watched watched;
    /* Too large for the stack because of its histogram. */
    struct sim_result *r = malloc(sizeof(*r));
    struct sim_config config = config_of(s, policy);
    char why[SIM_WHY_BYTES];
    int err = 0;
    if (!r) return simverb_fail(s->c, SIMCLI_FAILED, "out of memory");
    int status = watch_begin(s->c, &watched, &s->w, policy);
    config.watches = watched.list;
    config.watches_count = watched.count;
    if (status == SIMCLI_OK) err = sim_run(r, &s->w, &config, why);
    bool ran = status == SIMCLI_OK && !err;
    if (err) status = failed(s, err, policy, why);
    if (watch_end(s->c, &watched, &s->w, ran ? r : NULL, policy) && status == SIMCLI_OK)
        status = SIMCLI_FAILED;
    if (ran && report(s, policy, r)) status = SIMCLI_FAILED;
    if (ran) sim_result_finish(r);
    free(r);
    return status;
}

/* Runs each job alone, if there are not too many. */
static int run_alone(struct simrun *s, const char *policy) {
    struct sim_config config = config_of(s, policy);
    char why[SIM_WHY_BYTES];
    if (s->w.count > ALONE_JOBS) {
        s->count = 1;
        if (s->c->opt.json) fputs("\"alone\":null", s->c->out);
        return SIMCLI_OK;
    }
    s->alone = malloc(sizeof(*s->alone));
    if (!s->alone) return simverb_fail(s->c, SIMCLI_FAILED, "out of memory");
    int err = alone_run(s->alone, &s->w, &config, why);
    if (err) {
        free(s->alone);
        s->alone = NULL;
        return failed(s, err, "alone", why);
    }
    if (s->c->opt.json) fputs("\"alone\":", s->c->out);
    return report(s, "alone", s->alone);
}

/* ---- all policies ---------------------------------------------------------------------------- */

static int run_all(struct simrun *s, char *policies) {
    char *rest = policies, *policy = strtok_r(rest, ",", &rest);
    bool json = s->c->opt.json;
    if (json)
        fprintf(s->c->out, "{\"schema\":2,\"seed\":%llu,",
                (unsigned long long)s->c->opt.generate.seed);
    int status = run_alone(s, policy ? policy : "");
    if (json) fputs(",\"runs\":[", s->c->out);
    for (; status == SIMCLI_OK && policy; policy = strtok_r(rest, ",", &rest))
        status = s->count > MAX_POLICIES
                     ? simverb_fail(s->c, SIMCLI_USAGE, "--policy: too many policies are given")
                     : run_one(s, policy);
    if (json) fputs("]}\n", s->c->out);
    return status;
}

static void print_tables(struct simrun *s) {
    FILE *out = s->c->out;
    uint32_t first = s->alone ? 0 : 1;
    summary_table(s->summaries + first, s->count - first, out);
    slowdowns_table(&s->slowdowns, &s->w, s->alone, out);
    if (s->slos_bytes) {
        fputc('\n', out);
        slos_heading(out);
        fputs(s->slos_text, out);
    }
    if (s->refused_bytes) fprintf(out, "\n%s", s->refused_text);
}

/* Prints the tables while the policies' names are still valid. */
static int run_and_print(struct simrun *s, char *policies) {
    int status = run_all(s, policies);
    fflush(s->slos);
    fflush(s->refused);
    if (!s->c->opt.json && s->count > 0) print_tables(s);
    return status;
}

int simrun_verb(struct simcli *c, const char *path) {
    struct simrun *s = calloc(1, sizeof(*s));
    if (!c->opt.policies) c->opt.policies = &lane_policies[1];
    char *policies = strdup(c->opt.policies);
    int status = SIMCLI_FAILED;
    if (s) {
        s->c = c;
        s->slos = open_memstream(&s->slos_text, &s->slos_bytes);
        s->refused = open_memstream(&s->refused_text, &s->refused_bytes);
    }
    if (!s || !s->slos || !s->refused || !policies) {
        simverb_fail(c, SIMCLI_FAILED, "out of memory");
    } else if ((status = simverb_read(c, &s->w, path)) == SIMCLI_OK) {
        status = run_and_print(s, policies);
        workload_finish(&s->w);
    }
    if (s && s->alone) sim_result_finish(s->alone);
    if (s && s->slos) fclose(s->slos);
    if (s && s->refused) fclose(s->refused);
    if (s) free(s->alone);
    if (s) free(s->slos_text);
    if (s) free(s->refused_text);
    free(s);
    free(policies);
    return status;
}
