/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints every value's shape in a model as this code infers it, one per line: shapes FILE [BATCH
 * [NAME=SIZE]...]. The output is compared with onnx.shape_inference (run_shapes.py).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/predict/onnx/bytes.h"
#include "daemon/predict/onnx/model.h"
#include "daemon/predict/shape/infer.h"

static void print(const struct value *v) {
    printf("%s %d", v->name, v->type);
    if (!v->shape.known) printf(" ?");
    for (uint32_t i = 0; v->shape.known && i < v->shape.rank; i++)
        printf("%c%lld", i ? ',' : ' ', (long long)v->shape.dim[i]);
    printf("\n");
}

int main(int argc, char **argv) {
    struct infer_size sizes[8];
    struct infer_options o = {.sizes = sizes};
    struct complaint why = {{0}};
    unsigned char *bytes = NULL;
    size_t count;
    struct netgraph g = {0};
    int64_t batch;
    int err;

    if (argc < 2 || argc > 10) return 2;
    if (argc > 2) o.batch = atoll(argv[2]);
    for (int i = 3; i < argc; i++) {
        char *equals = strchr(argv[i], '=');

        if (!equals) return 2;
        *equals = '\0';
        sizes[o.sizes_count++] = (struct infer_size){argv[i], atoll(equals + 1)};
    }
    err = bytes_read(argv[1], BYTES_MODEL_MAX, &bytes, &count, &why);
    if (!err) err = model_read(&g, bytes, count, &why);
    if (!err) err = infer_shapes(&g, &o, &batch, &why);
    if (err) fprintf(stderr, "%s\n", why.text);
    for (uint32_t i = 0; i < g.values_count && !err; i++)
        print(&g.values[i]);
    netgraph_finish(&g);
    free(bytes);
    return err ? 1 : 0;
}
