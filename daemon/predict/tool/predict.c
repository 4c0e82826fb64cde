/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/tool/predict.h"
#include "daemon/predict/learn/predictor_read.h"

#include <limits.h>

#include "daemon/predict/features/measure.h"
#include "daemon/predict/tool/answer.h"
#include "daemon/predict/tool/place.h"

static const char *const usage =
    "usage: salus-predict [OPTION]... MODEL.onnx\n"
    "Predicts what a model needs before it runs; 'salusctl predict' runs this program.\n"
    "  --batch N          number of examples in a step (default: that of the file)\n"
    "  --dim NAME=N       size that the model calls NAME; may be repeated\n"
    "  --optimiser NAME   none (inference), sgd, momentum or adam (default: sgd)\n"
    "  --device NAME      device to predict for (default: soft, or that of --predictor)\n"
    "  --predictor FILE   predictor to use instead of the installed one\n"
    "  --json             print one JSON object\n"
    "  --features         print the features of the model instead\n";

static int fail(FILE *err, int status, const char *what, const struct complaint *why) {
    fprintf(err, "salus-predict: %s%s%s\n", what, *what ? ": " : "", why->text);
    return status;
}

static const char *device_of(const struct predict_options *o) {
    return o->device ? o->device : PREDICT_OPTIONS_DEVICE;
}

/* Reads the device's predictor. If there is none, returns 0 and sets *p to NULL. */
static int find_predictor(const struct predict_options *o, struct predictor *own,
                          const struct predictor **p, char *path, struct complaint *why) {
    int err;

    if (o->predictor)
        snprintf(path, PATH_MAX, "%s", o->predictor);
    else if (place_predictor(device_of(o), path, PATH_MAX))
        return 0;
    err = predictor_read(own, path, why);
    *p = own;
    return err;
}

/* With --features, a line contains either measurements or only the model; the request decides.
 * Checks that requested measurements exist. */
static int check_measured(const struct predict_options *o, struct complaint *why) {
    if (!o->features || !o->job) return 0;
    if (o->measured.runs == 0)
        return complaint_say(why, "the daemon's history has no job '%.60s' of yours", o->job);
    if (o->measured.demand_milli == 0)
        return complaint_say(
            why, "'%.60s' was never alone on the device, so that its demand alone is unknown",
            o->job);
    return 0;
}

static void print(const struct answer *a, FILE *out) {
    if (a->o->features)
        answer_features(a, out);
    else if (a->o->json)
        answer_json(a, out);
    else
        answer_text(a, out);
}

static int answer(const struct predict_options *o, FILE *out, FILE *err, struct predictor *own) {
    char path[PATH_MAX] = "";
    struct complaint why = {{0}};
    struct features f;
    struct answer a = {.o = o, .f = &f};
    struct columns c;

    if (find_predictor(o, own, &a.p, path, &why)) return fail(err, 1, path, &why);
    a.device = o->predictor && !o->device ? own->device : device_of(o);
    if (measure_file(&f, o->model, &o->infer, &why)) return fail(err, 1, o->model, &why);
    if (check_measured(o, &why)) return fail(err, 1, o->model, &why);
    need_estimate(&a.need, &f, o->optimiser, a.p && !o->features ? (uint64_t)a.p->delta_bytes : 0);
    columns_of(&c, &f);
    if (a.p) a.utilisation = predictor_utilisation(a.p, &c);
    print(&a, out);
    return 0;
}

int predict_main(FILE *out, FILE *err, char **argv) {
    struct predictor own = {0};
    struct complaint why = {{0}};
    struct predict_options o;
    int status;

    if (predict_options_parse(&o, argv + 1, &why)) return fail(err, 2, "", &why);
    if (o.help) {
        fputs(usage, out);
        return 0;
    }
    status = answer(&o, out, err, &own);
    predictor_finish(&own);
    return status;
}
