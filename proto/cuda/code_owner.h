/* SPDX-License-Identifier: Apache-2.0
 *
 * The owner of a kernel that exists as machine code only, found by its mangled name and by the file
 * that holds it, and the remedy for its user. A user of PyTorch does not compile PyTorch's kernels.
 * Any thread; no state.
 */
#ifndef PROTO_CUDA_CODE_OWNER_H
#define PROTO_CUDA_CODE_OWNER_H

#include <stdbool.h>

enum code_owner {
    CODE_PROGRAM,   /* the user's own program, as far as is known */
    CODE_PYTORCH,   /* PyTorch itself (ATen, c10, its attention) */
    CODE_EXTENSION, /* an extension module of Python: flash-attn, xformers, apex, vLLM, ... */
    CODE_NVIDIA,    /* a closed library of NVIDIA's: cuBLAS, cuDNN, ... */
    CODE_LIBRARY,   /* another shared library */
};

/* `kernel`: a mangled name, or "" for a whole module. `file`: path or name of the file that holds
 * the code, "" or "-" where it is not known. */
enum code_owner code_owner(const char *kernel, const char *file);

/* A sentence without its full stop. */
const char *code_remedy(enum code_owner owner);

/* True if a file of this name ("/x/libcublasLt.so.13") is a closed library of NVIDIA's. */
bool code_is_nvidias(const char *file);

#endif
