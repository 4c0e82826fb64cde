/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/tool/predict_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/args.h"
#include "common/text/units.h"

static int take_size(const char *what, const char *text, int64_t *out, struct complaint *why) {
    uint64_t v;

    if (units_parse(UNITS_NONE, text, &v) == 0 && v >= 1 && v <= (uint64_t)INFER_SIZE_MAX) {
        *out = (int64_t)v;
        return 0;
    }
    return complaint_say(why, "%s: '%.60s' is not a number from 1 to 2^31", what, text);
}

static int take_dim(struct predict_options *o, char *text, struct complaint *why) {
    char *equals = strchr(text, '=');
    struct infer_size *s = &o->sizes[o->infer.sizes_count];

    if (!equals || equals == text)
        return complaint_say(why, "--dim: '%.60s' is not of the form NAME=NUMBER", text);
    if (o->infer.sizes_count == PREDICT_OPTIONS_SIZES_MAX)
        return complaint_say(why, "--dim: at most %d sizes can be given",
                             PREDICT_OPTIONS_SIZES_MAX);
    *equals = '\0';
    s->name = text;
    o->infer.sizes_count++;
    return take_size("--dim", equals + 1, &s->size, why);
}

static int take_optimiser(struct predict_options *o, const char *text, struct complaint *why) {
    int found = need_find_optimiser(text);

    if (found < 0)
        return complaint_say(
            why, "--optimiser: '%.40s' is not none (inference), sgd, momentum or adam", text);
    o->optimiser = (enum need_optimiser)found;
    return 0;
}

/* Parses RUNS,DEMAND,PERSISTENT,EPHEMERAL, which salusctl got from the daemon. */
static int take_measured(struct predict_options *o, const char *text, struct complaint *why) {
    struct predict_measured *m = &o->measured;
    uint64_t *const to[] = {&m->runs, &m->demand_milli, &m->persistent_bytes, &m->ephemeral_bytes};
    char *end = (char *)text;

    for (int i = 0; i < 4; i++) {
        *to[i] = strtoull(text, &end, 10);
        if (end == text || *end != (i < 3 ? ',' : '\0'))
            return complaint_say(why, "--measured: give four numbers, separated by commas");
        text = end + 1;
    }
    return 0;
}

static int take_valued(struct predict_options *o, const char *name, char *value,
                       struct complaint *why) {
    if (!value) return complaint_say(why, "%.40s needs a value", name);
    if (strcmp(name, "--batch") == 0) return take_size(name, value, &o->infer.batch, why);
    if (strcmp(name, "--dim") == 0) return take_dim(o, value, why);
    if (strcmp(name, "--optimiser") == 0) return take_optimiser(o, value, why);
    if (strcmp(name, "--measured") == 0) return take_measured(o, value, why);
    if (strcmp(name, "--device") == 0)
        o->device = value;
    else if (strcmp(name, "--job") == 0)
        o->job = value;
    else if (strcmp(name, "--family") == 0)
        o->family = value;
    else
        o->predictor = value;
    return 0;
}

static bool is_valued(const char *name) {
    static const char *const names[] = {"--batch",  "--dim",       "--optimiser", "--measured",
                                        "--family", "--predictor", "--device",    "--job"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0) return true;
    return false;
}

static int take(struct predict_options *o, struct args *a, enum args_kind kind,
                struct complaint *why) {
    if (kind == ARGS_WORD) {
        if (o->model) return complaint_say(why, "'%.60s': only one model can be given", a->name);
        o->model = a->name;
    } else if (args_is(a, "--json")) {
        o->json = true;
    } else if (args_is(a, "--features")) {
        o->features = true;
    } else if (args_is(a, "--help")) {
        o->help = true;
    } else if (is_valued(a->name)) {
        return take_valued(o, a->name, args_value(a), why);
    } else {
        return complaint_say(why, "unknown option %.60s; see salus-predict --help", args_whole(a));
    }
    return 0;
}

int predict_options_parse(struct predict_options *o, char **argv, struct complaint *why) {
    struct args a = {.rest = argv};
    enum args_kind kind;
    int err = 0;

    *o = (struct predict_options){.optimiser = NEED_SGD};
    o->infer.sizes = o->sizes;
    while (!err && (kind = args_next(&a)) != ARGS_END)
        err = take(o, &a, kind, why);
    if (!err && !o->model && !o->help)
        err = complaint_say(why, "the ONNX file of a model is missing");
    return err;
}
