/* SPDX-License-Identifier: Apache-2.0
 *
 * The exports, of which only the names are known here: arguments stay where they are.
 */
#ifndef __x86_64__
#error "written for x86-64"
#endif

enum {
#define CALL(name) INDEX_##name,
#include "daemon/device/cuda/driver/calls.def"
#undef CALL
};

/* r11: which call. What may hold an argument is kept beside it: seven words, so that the stack is
 * aligned. No call of the driver that is listed takes one in a vector register. */
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
