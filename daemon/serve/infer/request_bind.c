/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks a request against its model.
 */
#include "daemon/serve/infer/request_bind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int bind_inputs(const struct request *r, const struct model *m, struct refusal *why) {
    for (uint32_t i = 0; i < r->inputs_count; i++) {
        const struct tensor *t = &r->inputs[i];
        const struct model_tensor *should = model_tensor_find(m->inputs, m->inputs_count, t->name);
        if (!should)
            return refusal_say(why, 400, "model \"%.64s\" has no input \"%.64s\"", m->name,
                               t->name);
        int err = model_tensor_fits(should, t, "input", 400, why);
        if (err) return err;
    }
    if (r->inputs_count == m->inputs_count) return 0;
    return refusal_say(why, 400,
                       "the request has %u inputs, but model \"%.64s\" needs %u: see its metadata",
                       r->inputs_count, m->name, m->inputs_count);
}

/* Requests all outputs of the model. */
static int add_outputs(struct request *r, const struct model *m, struct refusal *why) {
    struct request_output *all = calloc((size_t)m->outputs_count + 1, sizeof(*all));

    if (!all) return refusal_memory(why);
    for (uint32_t i = 0; i < m->outputs_count; i++)
        all[i] = (struct request_output){m->outputs[i].name, r->binary_output};
    free(r->outputs);
    r->outputs = all;
    r->outputs_count = m->outputs_count;
    return 0;
}

int request_bind(struct request *r, const struct model *m, const char *version,
                 struct refusal *why) {
    int err = bind_inputs(r, m, why);

    if (err) return err;
    r->model = m;
    r->version = version;
    if (r->outputs_count == 0) return add_outputs(r, m, why);
    for (uint32_t i = 0; i < r->outputs_count; i++)
        if (!model_tensor_find(m->outputs, m->outputs_count, r->outputs[i].name))
            return refusal_say(why, 400, "model \"%.64s\" has no output \"%.64s\"", m->name,
                               r->outputs[i].name);
    return 0;
}
