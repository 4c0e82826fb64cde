/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies parameters of nodes.
 */
#include "shim/graph/params.h"

#include <stdlib.h>
#include <string.h>

#include "shim/code/function.h"
#include "shim/connection/refuse.h"
#include "shim/graph/condition.h"

CUresult params_clone_kernel(struct params_kernel *to, const struct params_kernel *from) {
    unsigned char *values = malloc(from->launch.param_bytes + 1u);
    if (!values) return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(values, from->values, from->launch.param_bytes);
    *to = *from;
    to->values = values;
    to->pointers = NULL;
    to->changing = NULL;
    to->written = false;
    if (condition_share(from->changing, &to->changing) == CUDA_SUCCESS) return CUDA_SUCCESS;
    params_free_kernel(to);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

void params_free_kernel(struct params_kernel *k) {
    condition_free(k->changing);
    k->changing = NULL;
    free(k->values);
    free(k->pointers);
    k->values = NULL;
    k->pointers = NULL;
}

CUresult params_clone_values(struct params_values *to, const struct params_values *from) {
    size_t bytes = from->count * sizeof(*from->list);
    CUstreamBatchMemOpParams *list = malloc(bytes + 1);
    if (!list) return CUDA_ERROR_OUT_OF_MEMORY;
    if (bytes) memcpy(list, from->list, bytes);
    *to = *from;
    to->list = list;
    return CUDA_SUCCESS;
}

void **params_pointers(struct params_kernel *k) {
    const struct function *f = function_find(k->function);
    if (!f || f->info.param_count == 0) return NULL;
    if (!k->pointers) k->pointers = malloc(f->info.param_count * sizeof(*k->pointers));
    for (uint32_t i = 0; k->pointers && i < f->info.param_count; i++)
        k->pointers[i] = k->values + f->params[i].offset;
    return k->pointers;
}

const CUlaunchAttributeValue *params_attribute(const struct params_kernel *k,
                                               CUlaunchAttributeID id) {
    for (uint32_t i = 0; i < k->attribute_count; i++)
        if (k->attributes[i].id == id) return &k->attributes[i].value;
    return NULL;
}

bool params_set_attribute(struct params_kernel *k, CUlaunchAttributeID id,
                          const CUlaunchAttributeValue *value) {
    uint32_t i = 0;
    while (i < k->attribute_count && k->attributes[i].id != id)
        i++;
    if (i == PARAMS_ATTRIBUTES) return false;
    if (i == k->attribute_count) k->attribute_count++;
    k->attributes[i].id = id;
    k->attributes[i].value = *value;
    return true;
}

CUresult params_keep_changing(struct params_kernel *to, struct params_kernel *from) {
    if (!from->changing) return CUDA_SUCCESS;
    if (to->function != from->function)
        return refuse_call("another kernel for a node that kernels change");
    to->changing = from->changing;
    to->written = false;
    from->changing = NULL;
    return CUDA_SUCCESS;
}

void params_copy_attributes(struct params_kernel *to, const struct params_kernel *from) {
    to->launch.flags = from->launch.flags;
    to->attribute_count = from->attribute_count;
    memcpy(to->attributes, from->attributes, sizeof(to->attributes));
}
