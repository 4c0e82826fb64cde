/* SPDX-License-Identifier: Apache-2.0
 *
 * The owner of a kernel, from frameworks' kernel names and installed files, and the remedies that
 * users are told.
 */
#include "proto/cuda/code_owner.h"

#include <criterion/criterion.h>
#include <string.h>

static const struct {
    const char *kernel, *file;
    enum code_owner owner;
} known[] = {
    {"_ZN2at6native18elementwise_kernelILi128ELi2EZNS0_22gpuE", "-", CODE_PYTORCH},
    {"_ZN3c104cuda6detail", "", CODE_PYTORCH},
    {"_Z39fmha_cutlassF_f32_aligned_64x64_rf_sm80N22PyTorchMemEffAttention15AttentionE", "-",
     CODE_PYTORCH},
    {"_ZN13pytorch_flash16flash_fwd_kernelE", "-", CODE_PYTORCH},
    {"_ZN7cutlass6KernelI", "libtorch_cuda.so", CODE_PYTORCH},
    {"", "/site-packages/torch/lib/libtorch_cuda_linalg.so", CODE_PYTORCH},
    {"_ZN5flash16flash_fwd_kernelI23Flash_fwd_kernel_traits", "-", CODE_EXTENSION},
    {"_ZN2at6native13reduce", "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so", CODE_EXTENSION},
    {"k", "/site-packages/torchvision/_C.abi3.so", CODE_EXTENSION},
    {"_Z39fmha_cutlassF_f32_aligned_64x64_rf_sm80N15AttentionKernelE", "-", CODE_EXTENSION},
    {"_Z25multi_tensor_apply_kernelI18TensorListMetadata", "amp_C", CODE_EXTENSION},
    {"_Z3addN2at20PackedTensorAccessor", "-", CODE_EXTENSION},
    {"", "/nvidia/cu13/lib/libcublasLt.so.13", CODE_NVIDIA},
    {"_ZN2at6native13reduce", "libcudnn_ops.so.9", CODE_NVIDIA},
    {"k", "libonnxruntime_providers_cuda.so", CODE_LIBRARY},
    {"_Z4axpyfPfS_", "axpy", CODE_PROGRAM},
    {"_Z4axpyfPfS_", "-", CODE_PROGRAM},
    {"", "", CODE_PROGRAM},
    {"my_atomics", "mycublas", CODE_PROGRAM},
};

Test(code_owner, is_known_by_name_and_file) {
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        cr_expect_eq(code_owner(known[i].kernel, known[i].file), known[i].owner, "%s of %s",
                     known[i].kernel, known[i].file);
}

static bool says(enum code_owner owner, const char *word) {
    return strstr(code_remedy(owner), word) != NULL;
}

/* Compiler flags are of no use to a user who did not compile the code. */
Test(code_owner, remedies_are_for_who_can_follow_them) {
    cr_assert(says(CODE_PYTORCH, "torch.compile") && !says(CODE_PYTORCH, "nvcc"));
    cr_assert(!says(CODE_PYTORCH, "--capability"));
    cr_assert(says(CODE_EXTENSION, "TORCH_CUDA_ARCH_LIST"));
    cr_assert(says(CODE_NVIDIA, "version") && !says(CODE_NVIDIA, "nvcc"));
    cr_assert(says(CODE_LIBRARY, "nvcc") && says(CODE_PROGRAM, "nvcc"));
    for (int owner = CODE_PYTORCH; owner <= CODE_LIBRARY; owner++)
        cr_expect(says((enum code_owner)owner, "--device-mode=null"), "%d", owner);
}
