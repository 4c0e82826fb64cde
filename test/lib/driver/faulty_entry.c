/* SPDX-License-Identifier: Apache-2.0
 *
 * The exports. Only their names are known here; arguments stay in their registers.
 */
#ifndef __x86_64__
#error "written for x86-64"
#endif

enum {
#define CALL(name) INDEX_##name,
#include "daemon/device/cuda/driver/calls.def"
#undef CALL
};

/* r11 holds the call's index. All registers that may hold an argument are saved: seven words, so
 * that the stack is aligned. No listed driver call has an argument in a vector register. */
__asm__(".text\n"
        ".type faulty_common, @function\n"
        "faulty_common:\n"
        "    push %rdi\n    push %rsi\n    push %rdx\n    push %rcx\n"
        "    push %r8\n    push %r9\n    push %r11\n"
        "    mov %rdi, %rsi\n    mov %rcx, %rdx\n"
        "    mov %r11d, %edi\n"
        "    call faulty_before\n"
        "    pop %r11\n    pop %r9\n    pop %r8\n"
        "    pop %rcx\n    pop %rdx\n    pop %rsi\n    pop %rdi\n"
        "    test %eax, %eax\n"
        "    jnz 1f\n"
        "    lea faulty_real(%rip), %rax\n"
        "    jmp *(%rax, %r11, 8)\n"
        "1:  ret\n");

#define CALL(name)                          \
    void name(void) __attribute__((naked)); \
    void name(void) {                       \
        __asm__("mov %0, %%r11d\n"          \
                "    jmp faulty_common"     \
                :                           \
                : "i"(INDEX_##name));       \
    }
#include "daemon/device/cuda/driver/calls.def"
