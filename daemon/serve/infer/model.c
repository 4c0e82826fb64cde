/* SPDX-License-Identifier: Apache-2.0
 *
 * A server has few models with few tensors, so searches are linear.
 */
#include "daemon/serve/infer/model.h"

#include <errno.h>
#include <string.h>

#include "daemon/serve/infer/text.h"

const struct model *model_find(const struct model *models, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(models[i].name, name) == 0) return &models[i];
    return NULL;
}

const char *model_version(const struct model *m, const char *version) {
    if (!version || !*version) return m->versions[m->versions_count - 1];
    for (uint32_t i = 0; i < m->versions_count; i++)
        if (strcmp(m->versions[i], version) == 0) return m->versions[i];
    return NULL;
}

const struct model_tensor *model_tensor_find(const struct model_tensor *list, uint32_t count,
                                             const char *name) {
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0) return &list[i];
    return NULL;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static bool shape_fits(const struct model_tensor *m, const struct tensor *t) {
    if (m->rank != t->rank) return false;
    for (uint32_t i = 0; i < m->rank; i++)
        if (m->shape[i] >= 0 && m->shape[i] != t->shape[i]) return false;
    return true;
}

static int refuse_shape(const struct model_tensor *m, const struct tensor *t, const char *what,
                        int status, struct refusal *why) {
    struct buf is, should;

    buf_init(&is);
    buf_init(&should);
    tensor_write_shape(&is, t->shape, t->rank);
    tensor_write_shape(&should, m->shape, m->rank);
    refusal_say(why, status, "%s \"%.64s\" has shape %.100s, and must have shape %.100s%s", what,
                t->name, buf_str(&is), buf_str(&should),
                strchr(buf_str(&should), '-') ? " (-1: any)" : "");
    buf_finish(&is);
    buf_finish(&should);
    return -EINVAL;
}

int model_tensor_fits(const struct model_tensor *m, const struct tensor *t, const char *what,
                      int status, struct refusal *why) {
    if (m->type != t->type)
        return refusal_say(why, status, "%s \"%.64s\" has datatype %s, and must have %s", what,
                           t->name, datatype_name(t->type), datatype_name(m->type));
    return shape_fits(m, t) ? 0 : refuse_shape(m, t, what, status, why);
}

/* ---- JSON objects ---------------------------------------------------------------------------- */

static void write_string(struct buf *json, const char *s) {
    text_write(json, s, strlen(s));
}

static void write_tensors(struct buf *json, const char *key, const struct model_tensor *list,
                          uint32_t count) {
    buf_printf(json, ",\"%s\":[", key);
    for (uint32_t i = 0; i < count; i++) {
        buf_printf(json, "%s{\"name\":", i ? "," : "");
        write_string(json, list[i].name);
        buf_printf(json, ",\"datatype\":\"%s\",\"shape\":", datatype_name(list[i].type));
        tensor_write_shape(json, list[i].shape, list[i].rank);
        buf_printf(json, "}");
    }
    buf_printf(json, "]");
}

void model_write_metadata(const struct model *m, struct buf *json) {
    buf_printf(json, "{\"name\":");
    write_string(json, m->name);
    buf_printf(json, ",\"versions\":[");
    for (uint32_t i = 0; i < m->versions_count; i++) {
        if (i) buf_printf(json, ",");
        write_string(json, m->versions[i]);
    }
    buf_printf(json, "],\"platform\":\"salus\"");
    write_tensors(json, "inputs", m->inputs, m->inputs_count);
    write_tensors(json, "outputs", m->outputs, m->outputs_count);
    buf_printf(json, "}");
}

static void write_config_tensors(struct buf *json, const char *key, const struct model_tensor *list,
                                 uint32_t count) {
    buf_printf(json, ",\"%s\":[", key);
    for (uint32_t i = 0; i < count; i++) {
        buf_printf(json, "%s{\"name\":", i ? "," : "");
        write_string(json, list[i].name);
        buf_printf(json, ",\"data_type\":\"%s\",\"dims\":", datatype_config_name(list[i].type));
        tensor_write_shape(json, list[i].shape, list[i].rank);
        buf_printf(json, "}");
    }
    buf_printf(json, "]");
}

void model_write_config(const struct model *m, struct buf *json) {
    buf_printf(json, "{\"name\":");
    write_string(json, m->name);
    /* 0: clients give full shapes, and batches are formed without their knowledge */
    buf_printf(json, ",\"platform\":\"salus\",\"backend\":\"salus\",\"max_batch_size\":0");
    write_config_tensors(json, "input", m->inputs, m->inputs_count);
    write_config_tensors(json, "output", m->outputs, m->outputs_count);
    buf_printf(json, "}");
}

void model_write_index(const struct model *m, bool ready, struct buf *json) {
    for (uint32_t i = 0; i < m->versions_count; i++) {
        buf_printf(json, "%s{\"name\":", i ? "," : "");
        write_string(json, m->name);
        buf_printf(json, ",\"version\":");
        write_string(json, m->versions[i]);
        buf_printf(json, ",\"state\":\"%s\",\"reason\":\"%s\"}", ready ? "READY" : "UNAVAILABLE",
                   ready ? "" : "not ready yet");
    }
}
