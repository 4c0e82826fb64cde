/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a model; two bytes at the end choose a batch. An accepted model has sound shapes and
 * features within their bounds; a rejected one gives a reason in one printable line. A second run
 * gives the same.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/predict/features/measure.h"
#include "daemon/predict/onnx/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect_sound(const struct netgraph *g) {
    for (uint32_t i = 0; i < g->values_count; i++) {
        const struct value *v = &g->values[i];

        if (v->shape.known && !shape_sound(&v->shape)) abort();
        if (v->data_count > NETGRAPH_DATA_MAX || (v->data_count && !v->data)) abort();
        if (v->data && v->shape.known && v->kind == VALUE_WEIGHT &&
            shape_elements(&v->shape) != v->data_count)
            abort();
    }
    for (uint32_t i = 0; i < g->refs_count; i++)
        if (g->refs[i] != NETGRAPH_NONE && g->refs[i] >= g->values_count) abort();
}

static void expect_features(const struct features *f) {
    if (!(f->flops >= 0) || f->activations_bytes > FEATURES_BYTES_MAX ||
        f->parameters_bytes > FEATURES_BYTES_MAX || f->unknown > f->nodes ||
        f->kinds_count > FEATURES_KINDS_MAX)
        abort();
}

static void expect_text(const struct complaint *why, int err) {
    if ((err != 0) != (why->text[0] != '\0')) abort();
    for (const char *p = why->text; *p; p++)
        if ((unsigned char)*p < 0x20) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct infer_size sequence = {"sequence", 16};
    struct infer_options o = {.sizes = &sequence, .sizes_count = 1};
    struct complaint why, why_again = {{0}};
    struct features f, again;
    struct netgraph g;
    int64_t batch;
    int err;

    if (size >= 2) {
        o.batch = data[size - 1] | data[size - 2] << 8;
        size -= 2;
    }
    err = model_read(&g, data, size, &why);
    if (!err) err = infer_shapes(&g, &o, &batch, &why);
    expect_sound(&g);
    if (!err) err = features_take(&f, &g, batch, &why);
    netgraph_finish(&g);
    expect_text(&why, err);
    if (measure_bytes(&again, data, size, &o, &why_again) != err) abort();
    if (err && strcmp(why.text, why_again.text) != 0) abort();
    if (err) return 0;
    expect_features(&f);
    if (f.flops != again.flops || f.activations_bytes != again.activations_bytes ||
        f.gradients_bytes != again.gradients_bytes || f.unknown != again.unknown)
        abort();
    return 0;
}
