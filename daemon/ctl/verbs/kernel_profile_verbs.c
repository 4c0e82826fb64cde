/* SPDX-License-Identifier: Apache-2.0
 *
 * The verbs that show and delete kernel profiles.
 */
#include "daemon/ctl/verbs/kernel_profile_verbs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/ctl/cli/ask.h"
#include "daemon/ctl/cli/query.h"
#include "daemon/ctl/cli/render.h"
#include "daemon/ctl/cli/user_name.h"
#include "daemon/kernels/kernel_name.h"

#define BAR 40 /* length of the longest bar in characters */

static const struct render_column profile_columns[] = {
    {"ID", "id"},        {"KERNEL", "name"}, {"USER", "uid"},    {"GRID", "grid"},
    {"BLOCK", "block"},  {"SMS", "sms"},     {"CLASS", "class"}, {"WHENCE", "source"},
    {"MEAN", "mean_ns"}, {"P50", "p50_ns"},  {"P99", "p99_ns"},  {"COUNT", "count"},
    {NULL, NULL}};

static const struct render_column hint_columns[] = {{"KERNEL", "name"},
                                                    {"GRID", "grid"},
                                                    {"BLOCK", "block"},
                                                    {"SMS", "sms"},
                                                    {"CLASS", "class"},
                                                    {"COMPUTE", "compute_milli"},
                                                    {"MEMORY", "memory_milli"},
                                                    {"TIME", "duration_ns"},
                                                    {NULL, NULL}};

/* ---- arguments of several verbs -------------------------------------------------------------- */

int kernel_profile_verbs_user(struct cli *c, struct ctl_request *r) {
    const char *user = cli_option(c, "--user");
    uint64_t uid = 0;
    int status = user ? cli_take_user(c, "--user", user, &uid) : CLI_OK;

    if (user && status == CLI_OK) ctl_msg_put(r, CTL_A_uid, (int64_t)uid);
    return status == CLI_OK ? ask_gpu(c, r) : status;
}

/* Puts the kernel's name in the form that profiles use, so that names from nvcc, a profiler or a
 * stack trace are accepted. */
static void put_name(struct ctl_request *r, const char *text) {
    char name[KERNEL_NAME_BYTES];

    kernel_name_base(text, name);
    ctl_msg_put_text(r, CTL_A_name, name);
}

/* ---- list ------------------------------------------------------------------------------------ */

static int by_name(const void *a, const void *b) {
    const struct ctl_profile *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    if (order == 0) order = strcmp(x->grid, y->grid);
    if (order == 0) order = strcmp(x->block, y->block);
    return order ? order : x->number < y->number ? -1 : x->number > y->number;
}

static void sort(struct query *q) {
    if (q->count) qsort(q->records, q->count, q->record_bytes, by_name);
}

int kernel_profile_verbs_list(struct cli *c, int argc, char **argv) {
    bool imported = cli_option(c, "--imported") != NULL;
    struct ctl_request r = {.verb = imported ? CTL_V_profile_hints : CTL_V_profile_list};
    const char *part = cli_option(c, "--name");
    struct query q;
    int status;

    if (imported && cli_option(c, "--user"))
        return cli_fail(
            c, CLI_USAGE,
            "--imported and --user cannot be combined: imported tables belong to no user");
    status = kernel_profile_verbs_user(c, &r);
    if (part) ctl_msg_put_text(&r, CTL_A_part, part);
    if (status == CLI_OK) status = query_send(c, &r, false, &q);
    if (status != CLI_OK) return status;
    if (!imported) sort(&q);
    status = imported ? render_list(c, &q, "hints", hint_columns)
                      : render_list(c, &q, "profiles", profile_columns);
    query_finish(&q);
    return status;
}

/* ---- show ------------------------------------------------------------------------------------ */

/* Takes the next "from_ns:launches" of a histogram; false at its end. */
static bool next_row(const char **text, uint64_t *from_ns, uint64_t *launches) {
    char *end;

    if (**text == '\0') return false;
    *from_ns = strtoull(*text, &end, 10);
    if (*end != ':') return false;
    *launches = strtoull(end + 1, &end, 10);
    *text = *end == ',' ? end + 1 : end;
    return *end == ',' || *end == '\0';
}

static void draw(FILE *out, const char *histogram) {
    uint64_t from_ns, launches, most = 1;

    for (const char *p = histogram; next_row(&p, &from_ns, &launches);)
        if (launches > most) most = launches;
    for (const char *p = histogram; next_row(&p, &from_ns, &launches);) {
        int bar = (int)((launches * BAR + most - 1) / most);
        char from[32];

        render_duration(from_ns, from, sizeof(from));
        fprintf(out, "  %9s %.*s%s%" PRIu64 "\n", from, bar,
                "########################################", bar ? " " : "", launches);
    }
}

static void show_one(struct cli *c, const struct ctl_profile *p) {
    char mean[32], p50[32], p99[32], sms[32], user[64];

    render_duration(p->mean_ns, mean, sizeof(mean));
    render_duration(p->p50_ns, p50, sizeof(p50));
    render_duration(p->p99_ns, p99, sizeof(p99));
    snprintf(sms, sizeof(sms), "%" PRIu64, p->sms);
    user_name_print(p->uid, user, sizeof(user));
    fprintf(c->out, "%s %s, user %s\n", p->id, p->name, user);
    fprintf(c->out, "  grid %s, block %s, shared %" PRIu64 " bytes, function %s\n", p->grid,
            p->block, p->shared_bytes, p->func);
    fprintf(c->out, "  SMs needed %s; class %s (%s): compute %.1f%%, memory %.1f%% of the peak\n",
            p->sms ? sms : "unknown", p->class, p->source, (double)p->compute_milli / 10,
            (double)p->memory_milli / 10);
    if (p->count == 0) {
        fprintf(c->out, "  no launch has been measured\n");
        return;
    }
    fprintf(c->out, "  %" PRIu64 " launches, %s: mean %s, p50 %s, p99 %s\n", p->count,
            p->alone ? "alone" : "only measured beside other jobs", mean, p50, p99);
    draw(c->out, p->histogram);
}

int kernel_profile_verbs_show(struct cli *c, int argc, char **argv) {
    struct ctl_request r = {.verb = CTL_V_profile_show};
    struct query q;
    int status = kernel_profile_verbs_user(c, &r);

    put_name(&r, argv[0]);
    if (status == CLI_OK) status = query_send(c, &r, false, &q);
    if (status != CLI_OK) return status;
    sort(&q);
    if (c->format != CLI_TABLE)
        status = render_list(c, &q, "profiles", profile_columns);
    else
        for (size_t i = 0; i < q.count; i++)
            show_one(c, query_record(&q, i));
    query_finish(&q);
    return status;
}

/* ---- forget ---------------------------------------------------------------------------------- */

int kernel_profile_verbs_forget(struct cli *c, int argc, char **argv) {
    struct ctl_request r = {.verb = CTL_V_profile_forget};
    bool all = cli_option(c, "--all") != NULL;
    const struct ctl_known *k;
    struct query q;
    int status = kernel_profile_verbs_user(c, &r);

    if (all == (argc == 1))
        return cli_fail(c, CLI_USAGE, "profile forget: give either a kernel's NAME or --all");
    if (all)
        ctl_msg_put(&r, CTL_A_all, 1);
    else
        put_name(&r, argv[0]);
    if (status == CLI_OK) status = query_send(c, &r, false, &q);
    if (status != CLI_OK) return status;
    k = q.count ? query_record(&q, 0) : NULL;
    if (c->format == CLI_TABLE && k)
        fprintf(c->out,
                "deleted profiles: %" PRIu64 ", hints: %" PRIu64 "; remaining profiles: %" PRIu64
                ", hints: %" PRIu64 "\n",
                k->moved_profiles, k->moved_hints, k->profiles, k->hints);
    else
        status = render_one(c, &q, "known");
    query_finish(&q);
    return status;
}
