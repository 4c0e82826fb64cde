/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as a predictor's file. An accepted predictor yields values from 0 to 1 for any input,
 * and writing and reading it again gives the same predictions. A rejected file gives a reason.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/predict/learn/predictor.h"
#include "daemon/predict/learn/predictor_read.h"
#include "daemon/predict/learn/predictor_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *written(const struct predictor *p, size_t *bytes) {
    char *text = NULL;
    FILE *f = open_memstream(&text, bytes);

    if (!f) abort();
    predictor_write(p, f);
    if (fclose(f) != 0) abort();
    return text;
}

static void expect_the_same(const struct predictor *p, const struct predictor *q) {
    struct columns c = {{0}};

    for (unsigned i = 0; i < 64; i++) {
        double was = predictor_utilisation(p, &c);

        if (!(was >= 0) || !(was <= 1) || was != predictor_utilisation(q, &c)) abort();
        c.x[i % COLUMNS] += (float)(i % 9);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct complaint why = {{0}};
    struct predictor p, again;
    int err = predictor_parse(&p, (const char *)data, size, &why);

    if ((err != 0) != (why.text[0] != '\0')) abort();
    if (!err) {
        size_t bytes;
        char *text = written(&p, &bytes);

        if (predictor_parse(&again, text, bytes, &why)) abort();
        expect_the_same(&p, &again);
        predictor_finish(&again);
        free(text);
    }
    predictor_finish(&p);
    return 0;
}
