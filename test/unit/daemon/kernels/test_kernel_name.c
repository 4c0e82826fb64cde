/* SPDX-License-Identifier: Apache-2.0
 *
 * Base names: the mangled names that nvcc writes and the names that profilers print have the same
 * base name.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "daemon/kernels/kernel_name.h"

static const char *base(const char *name) {
    static char out[KERNEL_NAME_BYTES];

    kernel_name_base(name, out);
    cr_assert(kernel_name_clean(out), "%s", name);
    return out;
}

#define SAME(name, wanted) cr_assert_str_eq(base(name), wanted)

/* As nvcc 12 and 13 mangle them, with the demangled forms. */
Test(kernel_name, mangled_and_demangled_are_one) {
    SAME("_Z4statPf", "stat");
    SAME("_ZL4statPf", "stat");
    SAME("stat(float*)", "stat");
    SAME("plain", "plain");
    SAME("volta_sgemm_128x64_tn", "volta_sgemm_128x64_tn");
    SAME("_ZN2at6native3vecILi4E2FnEEviT0_", "at::native::vec");
    SAME("void at::native::vec<4, Fn>(int, Fn)", "at::native::vec");
    SAME("void at::native::vec<(int)4, at::native::Fill<float>, at::detail::Array<char *, (int)1>>"
         "(int, T2, T3)",
         "at::native::vec");
    SAME("_ZN2at6native2v23abiEPi", "at::native::v2::abi");
    SAME("_ZN2at6native3vecILi4EZ2goPfEUliE_EEviT0_", "at::native::vec");
    SAME("void at::native::vec<4, go(float*)::{lambda(int)#1}>(int, go(float*)::{lambda(int)#1})",
         "at::native::vec");
    SAME("_ZNSt3foo3barEv", "std::foo::bar");
    SAME("std::foo::bar()", "std::foo::bar");
}

Test(kernel_name, namespaces_without_a_name) {
    SAME("_ZN36_GLOBAL__N__294626b8_4_a_cu_5e7bf01c4anonEPf", "(anonymous namespace)::anon");
    SAME("(anonymous namespace)::anon(float*)", "(anonymous namespace)::anon");
    SAME("<unnamed>::anon(float*)", "(anonymous namespace)::anon");
    SAME("_ZN36_GLOBAL__N__294626b8_4_a_cu_5e7bf01c2in2tkILi3EfEEvPT0_",
         "(anonymous namespace)::in::tk");
    SAME("void (anonymous namespace)::in::tk<3, float>(float*)", "(anonymous namespace)::in::tk");
    SAME("void <unnamed>::in::tk<3, float>(float*)", "(anonymous namespace)::in::tk");
    SAME("_ZN2at6native36_GLOBAL__N__294626b8_4_a_cu_5e7bf01c2mpEi",
         "at::native::(anonymous namespace)::mp");
    SAME("void at::native::(anonymous namespace)::mp", "at::native::(anonymous namespace)::mp");
}

Test(kernel_name, static_kernels_of_relocatable_code) {
    SAME("__nv_static_25__294626b8_4_a_cu_5e7bf01c__Z4statPf", "stat");
    SAME("__nv_static_25__294626b8_4_a_cu_5e7bf01c__ZN2at6native36_GLOBAL__N__294626b8_4_a_cu_"
         "5e7bf01c2mpEi",
         "at::native::(anonymous namespace)::mp");
    SAME("__nv_static_25__short", "__nv_static_25__short");
    SAME("__nv_static_", "__nv_static_");
    SAME("__nv_static_0_", "__nv_static_0_");
}

/* The rows of the paper's tables are truncated at the first '<'. */
Test(kernel_name, names_that_were_cut) {
    SAME("void at::native::vectorized_elementwise_kernel",
         "at::native::vectorized_elementwise_kernel");
    SAME("void at::native::vectorized_elementwise_kernel<4, at::nat",
         "at::native::vectorized_elementwise_kernel");
    SAME("void at::native::(anonymous namespace)::max_pool_forward_nchw",
         "at::native::(anonymous namespace)::max_pool_forward_nchw");
    SAME("void k <int> (int)", "k");
    SAME("  Conv  ", "Conv");
}

Test(kernel_name, a_mangled_name_that_is_none_is_taken_as_it_is) {
    static const char *const names[] = {
        "_Z",   "_ZN", "_ZNE",  "_ZN0E",       "_Z99x", "_ZN3ab",  "_ZN2at99999999999999999999xE",
        "_ZSt", "_Zx", "_ZNKE", "_ZZ2goPfE1k", "_Z0",   "_ZN2at0E"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        SAME(names[i], names[i]);
}

Test(kernel_name, anything_becomes_clean) {
    SAME("", "?");
    SAME("   ", "?");
    SAME("<int>", "<int>");
    SAME("(", "(");
    SAME("void ", "void");
    SAME("a\nb\tc", "a?b?c");
    SAME("_Z3a\nbv", "a?b");
    SAME("k\xc3\xa9", "k??");
    cr_assert_not(kernel_name_clean(""));
    cr_assert_not(kernel_name_clean(" a"));
    cr_assert_not(kernel_name_clean("a "));
    cr_assert_not(kernel_name_clean("a\nb"));
    cr_assert(kernel_name_clean("(anonymous namespace)::a"));
}

Test(kernel_name, long_names_are_cut) {
    char name[1000], wanted[KERNEL_NAME_BYTES];

    memset(name, 'x', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    memcpy(wanted, name, KERNEL_NAME_BYTES - 1);
    wanted[KERNEL_NAME_BYTES - 1] = '\0';
    SAME(name, wanted);
    memcpy(name, "_ZN2at900", 9); /* the length in the name exceeds the limit of a stored name */
    memcpy(wanted, "at::", 4);
    SAME(name, wanted);
    name[500] = '\0'; /* and now it exceeds the text */
    cr_assert_eq(strncmp(base(name), name, KERNEL_NAME_BYTES - 1), 0);
}

/* Every prefix of a name is a name, and a base name is its own base name. */
Test(kernel_name, beginnings_and_again) {
    static const char mangled[] =
        "__nv_static_25__294626b8_4_a_cu_5e7bf01c__ZN36_GLOBAL__N__294626b8_4_a_cu_5e7bf01c2in2tkE";
    char cut[sizeof(mangled)], once[KERNEL_NAME_BYTES];

    for (size_t n = 0; n < sizeof(mangled); n++) {
        memcpy(cut, mangled, n);
        cut[n] = '\0';
        base(cut);
    }
    strcpy(once, base("void at::native::(anonymous namespace)::mp<int>(int)"));
    cr_assert_str_eq(base(once), once);
}
