/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of networks, and jobs made from its rows.
 */
#include "daemon/sim/workload/models.h"

#include <string.h>

#define REQUEST_ITEMS 4
/* MobileNetV2's; for small networks, launch overhead limits the speed. */
#define REQUEST_MIN_NS 2260000
#define SERVED_MB 17.3 /* persistent memory besides the weights */
#define WIDE 906, 547
#define SMALL 768, 515
#define SEQUENCE 825, 825

/* clang-format off */
const struct model models[] = {
    {"alexnet",    {"25", "50", "100"},           {25, 50, 100},  61.1,  822.2,   5.06, 2987, SMALL},
    {"googlenet",  {"25", "50", "100"},           {25, 50, 100},   7.0,  110.9,  24.54,  540, SMALL},
    {"inception3", {"25", "50", "100"},           {25, 50, 100},  23.8,  335.5,  68.80,  142, WIDE},
    {"inception4", {"25", "50", "75"},            {25, 50, 75},   42.7,  588.2, 115.74, 65.8, WIDE},
    {"overfeat",   {"25", "50", "100"},           {25, 50, 100}, 145.7,  822.2,  15.34,  768, SMALL},
    {"resnet50",   {"25", "50", "75"},            {25, 50, 75},   25.6,  359.6,  85.21,  219, WIDE},
    {"resnet101",  {"25", "50", "75"},            {25, 50, 75},   44.5,  612.3, 124.49,  129, WIDE},
    {"resnet152",  {"25", "50", "75"},            {25, 50, 75},   60.2,  822.2, 173.04, 91.8, WIDE},
    {"vgg11",      {"25", "50", "100"},           {25, 50, 100}, 132.9,  822.2,  57.07,  314, WIDE},
    {"vgg16",      {"25", "50", "100"},           {25, 50, 100}, 138.4,  822.2, 104.01,  154, WIDE},
    {"vgg19",      {"25", "50", "100"},           {25, 50, 100}, 143.7,  822.2, 113.98,  122, WIDE},
    {"vae",        {"64", "128", "256"},          {64, 128, 256},  0.65,  22.0,   0.05, 32000, SMALL},
    {"superres",   {"32", "64", "128"},           {32, 64, 128},   0.06,  18.1,   9.36, 2088, SMALL},
    {"speech",     {"25", "50", "75"},            {25, 50, 75},   36.0,  498.6,  78.23,   80, SEQUENCE},
    {"seq2seq",    {"small", "medium", "large"},  {20, 54, 90},   19.8,  282.0,   2.02, 1000, SEQUENCE},
};
/* clang-format on */
const uint32_t models_count = sizeof(models) / sizeof(models[0]);

const struct model *model_find(const char *name) {
    for (uint32_t i = 0; i < models_count; i++)
        if (strcmp(models[i].name, name) == 0) return &models[i];
    return NULL;
}

static uint64_t bytes_of_mb(double mb) {
    return (uint64_t)(mb * 1e6);
}

void model_train(struct workload_job *out, const struct model *m, uint32_t batch,
                 uint64_t duration_ns) {
    double iteration_ns = m->batches[batch] / m->items_s * 1e9;
    uint64_t iterations = (uint64_t)((double)duration_ns / iteration_ns + 0.5);
    *out = (struct workload_job){.persistent_bytes = bytes_of_mb(m->persistent_mb),
                                 .ephemeral_bytes = bytes_of_mb(m->item_mb * m->batches[batch]),
                                 .iteration_ns = (uint64_t)iteration_ns,
                                 .iterations = iterations ? (uint32_t)iterations : 1,
                                 .weight = 1,
                                 .demand_milli = m->train_milli,
                                 .boundaries = true};
}

void model_serve(struct workload_job *out, const struct model *m, uint32_t requests) {
    uint64_t ns = (uint64_t)(REQUEST_ITEMS / (3 * m->items_s) * 1e9);
    *out = (struct workload_job){.persistent_bytes = bytes_of_mb(SERVED_MB + 4 * m->params_m),
                                 .ephemeral_bytes = bytes_of_mb(m->item_mb / 2 * REQUEST_ITEMS),
                                 .iteration_ns = ns > REQUEST_MIN_NS ? ns : REQUEST_MIN_NS,
                                 .iterations = requests,
                                 .weight = 1,
                                 .demand_milli = m->request_milli,
                                 .boundaries = true};
}
