/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver's two calls about clusters.
 */
#include "daemon/device/cuda/module/cuda_cluster.h"

#include "daemon/device/cuda/module/cuda_module.h"

int cuda_cluster_count(const struct dev_launch *like, bool largest, uint32_t *count) {
    struct context *c = like->func->module->context;
    CUlaunchAttribute attr = {
        .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
        .value.clusterDim = {like->cluster[0], like->cluster[1], like->cluster[2]}};
    const CUlaunchConfig config = {.gridDimX = like->grid[0],
                                   .gridDimY = like->grid[1],
                                   .gridDimZ = like->grid[2],
                                   .blockDimX = like->block[0],
                                   .blockDimY = like->block[1],
                                   .blockDimZ = like->block[2],
                                   .sharedMemBytes = like->shared_bytes,
                                   .attrs = &attr,
                                   .numAttrs = largest ? 0 : 1};
    int value = 0, err = cuda_func_allow_shared(like->func, like->shared_bytes);
    if (err) return err;
    CUresult r =
        largest ? c->driver.cuOccupancyMaxPotentialClusterSize(&value, like->func->handle, &config)
                : c->driver.cuOccupancyMaxActiveClusters(&value, like->func->handle, &config);
    if (r == CUDA_ERROR_INVALID_CLUSTER_SIZE) r = CUDA_SUCCESS; /* no such cluster fits */
    err = context_result(c, r);
    *count = err || value < 0 ? 0 : (uint32_t)value;
    return err;
}
