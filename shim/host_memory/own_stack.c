/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls a function on another stack. The caller's stack pointer is in a register that calls
 * preserve.
 */
#include "shim/host_memory/own_stack.h"

#define STACK_BYTES (64u << 10)

static _Alignas(64) char stack[STACK_BYTES];

__attribute__((noinline)) int own_stack_call(int (*call)(const void *arg), const void *arg) {
    int result;
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %[top], %%rsp\n\t"
                     "callq *%[call]\n\t"
                     "movq %%rbx, %%rsp"
                     : "=a"(result), "+D"(arg)
                     : [top] "r"(stack + STACK_BYTES), [call] "r"(call)
                     : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0",
                       "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                       "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
    return result;
}
