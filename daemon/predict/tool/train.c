/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/tool/train.h"
#include "daemon/predict/learn/predictor_write.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/text/args.h"
#include "daemon/predict/learn/assess.h"

static const char *const usage =
    "usage: salus-predict-train [--device NAME] [--about TEXT] [--each] TABLE.csv -o "
    "PREDICTOR.json\n"
    "Trains a predictor with measurements; 'salusctl predict --train' runs this program.\n"
    "  --device NAME   use only lines of this device\n"
    "  --about TEXT    description of the measurements, stored in the predictor\n"
    "  --each          print the prediction for each line, made without its family\n";

struct train {
    const char *table, *to, *device, *about;
    bool each, help;
};

static int fail(FILE *err, int status, const char *what, const struct complaint *why) {
    fprintf(err, "salus-predict-train: %s%s%s\n", what, *what ? ": " : "", why->text);
    return status;
}

static int take(struct train *t, struct args *a, enum args_kind kind, struct complaint *why) {
    const char **to = NULL;

    if (kind == ARGS_WORD)
        t->table = a->name;
    else if (args_is(a, "--each"))
        t->each = true;
    else if (args_is(a, "--help"))
        t->help = true;
    else if (strcmp(a->name, "-o") == 0)
        to = &t->to;
    else if (strcmp(a->name, "--device") == 0)
        to = &t->device;
    else if (strcmp(a->name, "--about") == 0)
        to = &t->about;
    else
        return complaint_say(why, "unknown option %.60s; see salus-predict-train --help",
                             args_whole(a));
    if (to && !(*to = args_value(a))) return complaint_say(why, "%.40s needs a value", a->name);
    return 0;
}

/* Writes a temporary file beside the target and renames it, so that the target is never
 * incomplete. */
static int write_file(const struct predictor *p, const char *path, struct complaint *why) {
    char beside[PATH_MAX];
    int bad;
    FILE *f;

    if (snprintf(beside, sizeof(beside), "%s.new", path) >= (int)sizeof(beside))
        return complaint_say(why, "the predictor's name is too long");
    f = fopen(beside, "we");
    if (!f) return complaint_say(why, "%s", strerror(errno));
    predictor_write(p, f);
    bad = ferror(f);
    if (fclose(f) || bad || rename(beside, path)) {
        complaint_say(why, "%s", strerror(errno));
        unlink(beside);
        return -EINVAL;
    }
    return 0;
}

static void report(const struct predictor *p, FILE *out) {
    fprintf(out,
            "%u measurements on %s, %u families, each left out once: RMSLE %.3f; linear %.3f; "
            "always the mean %.3f\n",
            p->rows, p->device, p->families_count, p->rmsle, p->linear_rmsle, p->mean_rmsle);
    for (uint32_t i = 0; i < p->families_count; i++)
        fprintf(out, "  %-16s %4u rows  RMSLE %.3f\n", p->families[i].name, p->families[i].rows,
                p->families[i].rmsle);
}

static int learn(const struct train *t, struct rows *r, FILE *out, FILE *err) {
    double *each = calloc(r->count, sizeof(*each));
    struct complaint why = {{0}};
    struct predictor p = {0};
    int status = 0;

    if (!each || assess_train(&p, r, each, &why)) {
        status = fail(err, 1, t->table, &why);
    } else {
        snprintf(p.about, sizeof(p.about), "%s", t->about ? t->about : t->table);
        complaint_clean(p.about);
        report(&p, out);
        for (uint32_t i = 0; t->each && i < r->count; i++)
            fprintf(out, "%s,%.4f,%.4f\n", r->families[r->family[i]], r->utilisation[i], each[i]);
        if (write_file(&p, t->to, &why)) status = fail(err, 1, t->to, &why);
    }
    predictor_finish(&p);
    free(each);
    return status;
}

int train_main(FILE *out, FILE *err, char **argv) {
    struct args a = {.rest = argv + 1};
    struct complaint why = {{0}};
    struct train t = {0};
    enum args_kind kind;
    struct rows r;
    int status, bad = 0;

    while (!bad && (kind = args_next(&a)) != ARGS_END)
        bad = take(&t, &a, kind, &why);
    if (!bad && !t.help && (!t.table || !t.to))
        bad = complaint_say(&why, "give a table of measurements and -o FILE");
    if (bad) return fail(err, 2, "", &why);
    if (t.help) {
        fputs(usage, out);
        return 0;
    }
    status = rows_read(&r, t.table, t.device, &why) ? fail(err, 1, t.table, &why) : 0;
    if (status == 0) status = learn(&t, &r, out, err);
    rows_finish(&r);
    return status;
}
