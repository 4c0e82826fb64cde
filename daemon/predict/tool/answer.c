/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/predict/tool/answer.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/text/units.h"

#define TEXT_BYTES 32

static const char *size(uint64_t bytes, char out[TEXT_BYTES]) {
    units_print_bytes(bytes, out, TEXT_BYTES);
    return out;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void text_utilisation(const struct answer *a, FILE *out) {
    const struct predictor *p = a->p;
    struct columns c;
    unsigned first;
    uint32_t outside;

    if (!p) {
        fprintf(out,
                "  utilisation  unknown: the predictor has no measurements of the device '%s'; "
                "see 'salusctl predict --train'\n",
                a->device);
        return;
    }
    fprintf(out, "  utilisation  %.0f %%\n", 100 * a->utilisation);
    fprintf(out,
            "    how sure   RMSLE %.3f on families of models left out of its training (linear "
            "regression: %.3f)\n",
            p->rmsle, p->linear_rmsle);
    fprintf(out, "    trained on %s: %u measurements, %u families\n", p->about, p->rows,
            p->families_count);
    columns_of(&c, a->f);
    outside = predictor_outside(p, &c, &first);
    if (outside)
        fprintf(out,
                "    beyond it  %u of its features, %s among them, lie outside of what it was "
                "trained on: less sure than that\n",
                outside, columns_name(first));
}

static void text_memory(const struct answer *a, FILE *out) {
    const struct need *n = &a->need;
    char t[5][TEXT_BYTES];

    fprintf(out, "  persistent   %s: parameters %s, optimiser %s, buffers %s, overhead %s\n",
            size(n->persistent_bytes, t[0]), size(n->parameters_bytes, t[1]),
            size(n->optimiser_bytes, t[2]), size(n->buffers_bytes, t[3]),
            size(n->delta_bytes, t[4]));
    fprintf(out, "  ephemeral    %s at most: activations %s, gradients %s, inputs %s\n",
            size(n->ephemeral_bytes, t[0]), size(n->activations_bytes, t[1]),
            size(n->gradients_bytes, t[2]), size(n->input_bytes, t[3]));
    if (a->p && a->p->ephemeral_delta_bytes != 0)
        fprintf(out, "    measured   programs on this device used %s %s than that (median)\n",
                size((uint64_t)fabs(a->p->ephemeral_delta_bytes), t[0]),
                a->p->ephemeral_delta_bytes > 0 ? "more" : "less");
}

static void text_unknown(const struct features *f, FILE *out) {
    uint32_t named = 0;

    for (uint32_t i = 0; i < f->kinds_count; i++) {
        fprintf(out, "  not counted  %u operators of kind %s have no known shape\n",
                f->kinds[i].count, f->kinds[i].kind);
        named += f->kinds[i].count;
    }
    if (f->unknown > named)
        fprintf(out, "  not counted  %u more of other kinds\n", f->unknown - named);
    if (f->bodies) fprintf(out, "  loops        %u: their bodies count once\n", f->bodies);
}

static void text_measured(const struct answer *a, FILE *out) {
    const struct predict_measured *m = &a->o->measured;
    char t[2][TEXT_BYTES];

    fprintf(out, "  measured, not predicted: '%s' ran %" PRIu64 " times\n", a->o->job, m->runs);
    if (m->demand_milli)
        fprintf(out, "  utilisation  %.0f %%\n", (double)m->demand_milli / 10);
    else
        fprintf(out, "  utilisation  unknown: the job was never alone on the device\n");
    fprintf(out, "  persistent   %s\n  ephemeral    %s\n", size(m->persistent_bytes, t[0]),
            size(m->ephemeral_bytes, t[1]));
}

void answer_text(const struct answer *a, FILE *out) {
    fprintf(out, "%s, batch %" PRIu64 ", on %s: %.3g GFLOPs a pass, %" PRIu64 " parameters\n",
            a->o->model, a->f->batch, a->device, a->f->flops / 1e9, a->f->parameters);
    if (a->o->measured.runs) {
        text_measured(a, out);
        return;
    }
    text_utilisation(a, out);
    text_memory(a, out);
    text_unknown(a->f, out);
}

/* ---- JSON -------------------------------------------------------------------------------------
 */

static void quoted(FILE *out, const char *text) {
    fputc('"', out);
    while (*text) {
        size_t count = complaint_character(text);
        unsigned char c = (unsigned char)*text;

        if (count == 0)
            fputc('?', out);
        else if (c < 0x20)
            fprintf(out, "\\u%04x", c);
        else
            fprintf(out, c == '"' || c == '\\' ? "\\%.*s" : "%.*s", (int)count, text);
        text += count ? count : 1;
    }
    fputc('"', out);
}

static void json_predictor(const struct answer *a, FILE *out) {
    const struct predictor *p = a->p;
    struct columns c;
    unsigned first;

    if (!p) {
        fputs(",\"predictor\":null", out);
        return;
    }
    columns_of(&c, a->f);
    fprintf(out,
            ",\"predictor\":{\"rmsle\":%.4f,\"linear_rmsle\":%.4f,\"measurements\":%u,"
            "\"features_outside\":%u,\"ephemeral_delta_bytes\":%.0f,\"trained_on\":",
            p->rmsle, p->linear_rmsle, p->rows, predictor_outside(p, &c, &first),
            p->ephemeral_delta_bytes);
    quoted(out, p->about);
    fputs(",\"families\":[", out);
    for (uint32_t i = 0; i < p->families_count; i++) {
        if (i) fputc(',', out);
        quoted(out, p->families[i].name);
    }
    fputs("]}", out);
}

static void json_features(const struct answer *a, FILE *out) {
    const struct features *f = a->f;

    fputs(",\"features\":{", out);
    for (unsigned i = 0; i < COLUMNS; i++)
        fprintf(out, "%s\"%s\":%.0f", i ? "," : "", columns_name(i), columns_value(f, i));
    fprintf(out, "},\"parameters\":%" PRIu64 ",\"not_counted\":{\"operators\":%u,\"kinds\":{",
            f->parameters, f->unknown);
    for (uint32_t i = 0; i < f->kinds_count; i++) {
        if (i) fputc(',', out);
        quoted(out, f->kinds[i].kind);
        fprintf(out, ":%u", f->kinds[i].count);
    }
    fprintf(out, "}},\"loops\":%u", f->bodies);
}

static void json_need(const struct answer *a, FILE *out) {
    const struct predict_measured *m = &a->o->measured;
    const struct need *n = &a->need;

    if (m->runs && m->demand_milli)
        fprintf(out, ",\"utilisation\":%.4f", (double)m->demand_milli / 1000);
    else if (!m->runs && a->p)
        fprintf(out, ",\"utilisation\":%.4f", a->utilisation);
    else
        fputs(",\"utilisation\":null", out);
    fprintf(out, ",\"persistent_bytes\":%" PRIu64 ",\"ephemeral_bytes\":%" PRIu64,
            m->runs ? m->persistent_bytes : n->persistent_bytes,
            m->runs ? m->ephemeral_bytes : n->ephemeral_bytes);
    fprintf(out,
            ",\"memory\":{\"parameters_bytes\":%" PRIu64 ",\"optimiser_bytes\":%" PRIu64
            ",\"buffers_bytes\":%" PRIu64 ",\"delta_bytes\":%" PRIu64
            ",\"activations_bytes\":%" PRIu64 ",\"gradients_bytes\":%" PRIu64
            ",\"input_bytes\":%" PRIu64 "}",
            n->parameters_bytes, n->optimiser_bytes, n->buffers_bytes, n->delta_bytes,
            n->activations_bytes, n->gradients_bytes, n->input_bytes);
}

void answer_json(const struct answer *a, FILE *out) {
    fputs("{\"model\":", out);
    quoted(out, a->o->model);
    fprintf(out, ",\"source\":\"%s\",\"batch\":%" PRIu64 ",\"device\":",
            a->o->measured.runs ? "measured" : "predicted", a->f->batch);
    quoted(out, a->device);
    json_need(a, out);
    json_predictor(a, out);
    json_features(a, out);
    fputs("}\n", out);
}

/* ---- one line of a table --------------------------------------------------------------------- */

/* RFC 4180: quotes within a field are doubled. */
static void csv_text(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++)
        fprintf(out, *text == '"' ? "%c\"" : "%c", *text);
    fputs("\",", out);
}

static void csv_measured(const struct answer *a, FILE *out) {
    const struct predict_measured *m = &a->o->measured;

    csv_text(out, a->o->family ? a->o->family : a->o->job);
    csv_text(out, a->o->job);
    csv_text(out, a->device);
    fprintf(out, "%.3f,%" PRIu64 ",%" PRIu64 ",", (double)m->demand_milli / 1000,
            m->persistent_bytes, m->ephemeral_bytes);
}

void answer_features(const struct answer *a, FILE *out) {
    bool measured = a->o->measured.runs > 0;

    if (measured) fputs("family,name,device,utilisation,persistent_bytes,ephemeral_bytes,", out);
    for (unsigned i = 0; i < COLUMNS; i++)
        fprintf(out, "%s,", columns_name(i));
    fputs("persistent_estimate,ephemeral_estimate\n", out);
    if (measured) csv_measured(a, out);
    for (unsigned i = 0; i < COLUMNS; i++)
        fprintf(out, "%.0f,", columns_value(a->f, i));
    fprintf(out, "%" PRIu64 ",%" PRIu64 "\n", a->need.persistent_bytes, a->need.ephemeral_bytes);
}
