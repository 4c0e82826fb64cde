/* SPDX-License-Identifier: Apache-2.0
 *
 * The file decides if it is known to belong to a library; otherwise the kernel's name decides.
 */
#include "proto/cuda/code_owner.h"

#include <stddef.h>
#include <string.h>

static const char *const nvidias[] = {
    "libcublas",   "libcudnn", "libcufft", "libcurand", "libcusolver",
    "libcusparse", "libnccl.", "libnpp",   "libnvjpeg",
};

static const char *const pytorchs[] = {"libtorch", "libc10", "libcaffe2"};

/* Endings of compiled Python modules: "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so". */
static const char *const modules[] = {".cpython-", ".abi3.so", ".pypy"};

/* Parts of mangled names: at::native::, c10::, and the attention kernels that PyTorch has copies
 * of. */
static const char *const names_of_pytorch[] = {"_ZN2at", "_ZN3c10", "PyTorchMemEffAttention",
                                               "13pytorch_flash"};

/* Parts of mangled names: flash-attn, vLLM, torchvision, apex, xformers, and kernels that take
 * PyTorch tensors. */
static const char *const names_of_extensions[] = {
    "_ZN5flash", "_ZN4vllm", "_ZN6vision", "multi_tensor_apply", "fmha_cutlass", "N2at", "N3c10",
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool begins(const char *name, const char *const *with, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strncmp(name, with[i], strlen(with[i])) == 0) return true;
    return false;
}

static bool contains(const char *name, const char *const *parts, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strstr(name, parts[i])) return true;
    return false;
}

bool code_is_nvidias(const char *file) {
    return begins(base_name(file), nvidias, COUNT(nvidias));
}

enum code_owner code_owner(const char *kernel, const char *file) {
    const char *name = base_name(file);

    if (begins(name, pytorchs, COUNT(pytorchs))) return CODE_PYTORCH;
    if (code_is_nvidias(name)) return CODE_NVIDIA;
    if (contains(name, modules, COUNT(modules))) return CODE_EXTENSION;
    if (contains(kernel, names_of_pytorch, COUNT(names_of_pytorch))) return CODE_PYTORCH;
    if (contains(kernel, names_of_extensions, COUNT(names_of_extensions))) return CODE_EXTENSION;
    return strstr(name, ".so") ? CODE_LIBRARY : CODE_PROGRAM;
}

#define OR_NULL "or run it without computing (salusctl run --device-mode=null)"

const char *code_remedy(enum code_owner owner) {
    switch (owner) {
    case CODE_PYTORCH:
        return "PyTorch's own kernels are machine code: compile the whole step with torch.compile, "
               "whose kernels are PTX, " OR_NULL "; see docs/frameworks.md";
    case CODE_EXTENSION:
        return "build this extension from source with PTX (TORCH_CUDA_ARCH_LIST=\"8.0+PTX\" where "
               "PyTorch builds it), use an operation of torch.compile in its place, " OR_NULL;
    case CODE_NVIDIA:
        return "try another version of this library, or another --capability (13.0 is what it is "
               "told unless you ask for one), " OR_NULL;
    case CODE_LIBRARY:
        return "build this library with PTX (nvcc -gencode "
               "arch=compute_75,code=compute_75), " OR_NULL;
    default:
        return "compile it with PTX (nvcc -gencode arch=compute_75,code=compute_75); where a "
               "library of NVIDIA's is linked into the program try --capability 13.0";
    }
}
