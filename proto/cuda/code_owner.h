/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the owner of a kernel that exists only as machine code, and the remedy for its user. The
 * kernel is known by its mangled name and the file that contains it. A user of PyTorch does not
 * compile PyTorch's kernels. Any thread; stateless.
 */
#ifndef PROTO_CUDA_CODE_OWNER_H
#define PROTO_CUDA_CODE_OWNER_H

#include <stdbool.h>

enum code_owner {
    CODE_PROGRAM,   /* the user's own program, as far as is known */
    CODE_PYTORCH,   /* PyTorch itself (ATen, c10, its attention) */
    CODE_EXTENSION, /* a Python extension module: flash-attn, xformers, apex, vLLM, ... */
    CODE_NVIDIA,    /* a closed library of NVIDIA: cuBLAS, cuDNN, ... */
    CODE_LIBRARY,   /* another shared library */
};

/* `kernel`: a mangled name, or "" for a whole module. `file`: path or name of the file that
 * contains the code, "" or "-" if unknown. */
enum code_owner code_owner(const char *kernel, const char *file);

/* Returns a sentence without its full stop. */
const char *code_remedy(enum code_owner owner);

/* True if a file of this name ("/x/libcublasLt.so.13") is a closed library of NVIDIA. */
bool code_is_nvidias(const char *file);

#endif
