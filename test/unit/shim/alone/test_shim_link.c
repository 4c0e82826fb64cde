/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of a link at run time, host-code files that contain device code, and damaged files.
 * The test builds archives and objects.
 */
#include <criterion/criterion.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "shim/code/fatbin.h"
#include "shim/code/fatbin_layout.h"
#include "shim/code/link.h"
#include "shim/code/linked.h"
#include "shim/code/object.h"
#include "shim/code/ptx_target.h"
#include "test/lib/ptx/image_build.h"

#define PTX(target) ".version 8.0\n.target " target "\n.address_size 64\n"

static struct link l;
static struct buf fatbin, object, archive;
static char why[LINK_WHY_BYTES];

static void begin(void) {
    link_init(&l, 90);
    buf_init(&fatbin);
    buf_init(&object);
    buf_init(&archive);
}

static void end(void) {
    link_finish(&l);
    buf_finish(&fatbin);
    buf_finish(&object);
    buf_finish(&archive);
}

TestSuite(shim_link, .init = begin, .fini = end);

/* Adds an input from memory of exactly its length. Checks that a rejection has a reason and adds
 * nothing. */
static CUresult add(CUjitInputType type, const void *data, size_t bytes) {
    size_t before = l.image.len;
    void *copy = malloc(bytes ? bytes : 1);
    memcpy(copy, data, bytes);
    why[0] = '\0';
    CUresult r = link_add(&l, type, copy, bytes, "part", why);
    free(copy);
    cr_assert_eq(r == CUDA_SUCCESS, why[0] == '\0', "%d: %s", (int)r, why);
    if (r) cr_assert_eq(l.image.len, before);
    return r;
}

static CUresult add_buf(CUjitInputType type, const struct buf *b) {
    return add(type, b->data, b->len);
}

/* Counts the fatbins after the empty one in the part that is sent to the worker. */
static uint32_t units(void) {
    size_t bytes, n = 0;
    const void *image = link_image(&l, &bytes);
    cr_assert_eq(fatbin_measure_within(image, bytes), bytes);
    char *chain = malloc(fatbin_measure(image)), *at = chain;
    size_t left = fatbin_measure(image);
    cr_assert_eq(left, bytes - 16, "all but our header");
    cr_assert_eq(fatbin_copy(image, chain, fatbin_measure(image)), 0);
    cr_assert_arr_eq(fatbin_in_place(image), chain, left);
    for (; left; n++) {
        size_t one = fatbin_container_bytes(at, left);
        cr_assert(one && (n > 0 || one == 16), "fatbin %zu has %zu bytes", n, one);
        at += one;
        left -= one;
    }
    free(chain);
    return (uint32_t)n - 1;
}

static void build_fatbin(uint16_t kind, uint32_t target, uint64_t flags) {
    const char *text = PTX("sm_75");
    struct image_entry e = {kind, target, flags, IMAGE_PLAIN, text, strlen(text) + 1};
    image_build_fatbin(&fatbin, &e, 1);
}

/* Builds a host object with the fatbin `times` times in a section of this name, at multiples of
 * eight. */
static void build_object(const char *section, int times) {
    static const char names[] = "\0.shstrtab\0.nv_fatbin\0__nv_relfatbin\0.other";
    Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                    .e_type = ET_REL,
                    .e_machine = EM_X86_64,
                    .e_ehsize = sizeof(h),
                    .e_shentsize = sizeof(Elf64_Shdr),
                    .e_shnum = 3,
                    .e_shstrndx = 1};
    size_t name =
        (size_t)((const char *)memmem(names, sizeof(names), section, strlen(section)) - names);
    size_t padded = (fatbin.len + 7) & ~(size_t)7, data = padded * (size_t)times;
    Elf64_Shdr sections[3] = {{0},
                              {.sh_name = 1,
                               .sh_type = SHT_STRTAB,
                               .sh_offset = sizeof(h) + sizeof(sections),
                               .sh_size = sizeof(names)},
                              {.sh_name = (uint32_t)name,
                               .sh_type = SHT_PROGBITS,
                               .sh_offset = sizeof(h) + sizeof(sections) + sizeof(names),
                               .sh_size = data}};
    h.e_shoff = sizeof(h);
    buf_append(&object, &h, sizeof(h));
    buf_append(&object, sections, sizeof(sections));
    buf_append(&object, names, sizeof(names));
    for (int i = 0; i < times; i++)
        memcpy(buf_extend(&object, padded), fatbin.data, fatbin.len);
}

static void build_member(const char *name, const void *data, size_t bytes) {
    if (archive.len == 0) buf_append(&archive, "!<arch>\n", 8);
    buf_printf(&archive, "%-16s%-12d%-6d%-6d%-8d%-10zu`\n", name, 0, 0, 0, 644, bytes);
    buf_append(&archive, data, bytes);
    if (bytes & 1) buf_append(&archive, "\n", 1);
}

/* ---- PTX ------------------------------------------------------------------------------------- */

static uint32_t target(const char *text) {
    char *copy = malloc(strlen(text) + 1);
    memcpy(copy, text, strlen(text));
    uint32_t t = ptx_target(copy, strlen(text));
    free(copy);
    return t;
}

Test(shim_link, ptx_says_for_which_architecture_it_is) {
    cr_assert_eq(target(PTX("sm_75")), 75);
    cr_assert_eq(target(PTX("sm_90a, debug")), 90);
    cr_assert_eq(target("// .target sm_70\n/* .target sm_60 */ .version 8.0 .target /**/ sm_120 "),
                 120);
    static const char *const none[] = {"",
                                       " ",
                                       "/",
                                       "/*",
                                       "// x",
                                       ".version",
                                       ".version 8.0",
                                       ".version 8.0\n.target",
                                       ".version 8.0 .target texmode",
                                       ".target sm_75 ",
                                       "text",
                                       ".version 8.0\x01\x02 .target "};
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        cr_assert_eq(target(none[i]), 0, "%s", none[i]);
    cr_assert_geq(target(".version 8.0 .target sm_99999999999999999999 "), 10000);
}

Test(shim_link, each_text_is_a_unit) {
    cr_assert_eq(add(CU_JIT_INPUT_PTX, PTX("sm_75"), strlen(PTX("sm_75")) + 1), CUDA_SUCCESS);
    cr_assert_eq(add(CU_JIT_INPUT_PTX, PTX("sm_90"), strlen(PTX("sm_90"))), CUDA_SUCCESS,
                 "without its NUL");
    cr_assert_eq(units(), 2);
    cr_assert_eq(add(CU_JIT_INPUT_PTX, PTX("sm_100"), 40), CUDA_ERROR_NO_BINARY_FOR_GPU);
    cr_assert_str_eq(why, "part: the PTX is for sm_100, the device is sm_90");
    cr_assert_eq(add(CU_JIT_INPUT_PTX, "int main", 8), CUDA_ERROR_INVALID_PTX);
    cr_assert_eq(units(), 2);
}

Test(shim_link, nothing_makes_no_image) {
    size_t bytes;
    cr_assert_null(link_image(&l, &bytes));
    cr_assert_eq(add(CU_JIT_INPUT_NVVM, "BC", 2), CUDA_ERROR_NO_BINARY_FOR_GPU);
    cr_assert_eq(add((CUjitInputType)6, "BC", 2), CUDA_ERROR_INVALID_VALUE);
    cr_assert_null(link_image(&l, &bytes));
}

/* ---- fatbins and cubins ---------------------------------------------------------------------- */

Test(shim_link, a_fatbin_needs_ptx_that_the_device_runs) {
    const struct {
        uint16_t kind;
        uint32_t target;
        uint64_t flags;
        CUresult want;
    } cases[] = {
        {1, 75, 0, CUDA_SUCCESS},
        {1, 90, 0, CUDA_SUCCESS},
        {1, 90, FATBIN_ARCH, CUDA_SUCCESS},
        {1, 100, 0, CUDA_ERROR_NO_BINARY_FOR_GPU},
        {1, 80, FATBIN_ARCH, CUDA_ERROR_NO_BINARY_FOR_GPU},
        {1, 80, FATBIN_FAMILY, CUDA_ERROR_NO_BINARY_FOR_GPU},
        {2, 75, 0, CUDA_ERROR_NO_BINARY_FOR_GPU},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        buf_clear(&fatbin);
        build_fatbin(cases[i].kind, cases[i].target, cases[i].flags);
        cr_assert_eq(add_buf(CU_JIT_INPUT_FATBINARY, &fatbin), cases[i].want, "case %zu", i);
    }
    cr_assert_eq(units(), 3);
}

Test(shim_link, code_is_known_by_what_it_is) {
    Elf64_Ehdr cubin = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64}, .e_machine = 190};
    build_fatbin(1, 75, 0);
    cr_assert_eq(add_buf(CU_JIT_INPUT_CUBIN, &fatbin), CUDA_SUCCESS);
    cr_assert_eq(add(CU_JIT_INPUT_CUBIN, PTX("sm_75"), 40), CUDA_SUCCESS);
    cr_assert_eq(add(CU_JIT_INPUT_CUBIN, &cubin, sizeof(cubin)), CUDA_ERROR_NO_BINARY_FOR_GPU);
    cr_assert_str_eq(why,
                     "part: the input has only machine code, and no PTX that this device (sm_90) "
                     "can run");
    cr_assert_eq(add(CU_JIT_INPUT_CUBIN, "code", 4), CUDA_ERROR_INVALID_IMAGE);
    for (size_t n = 1; n < fatbin.len; n++)
        cr_assert_neq(add(CU_JIT_INPUT_FATBINARY, fatbin.data, n), CUDA_SUCCESS, "%zu bytes", n);
    cr_assert_eq(units(), 2);
}

Test(shim_link, a_link_is_an_input_of_another) {
    struct link first;
    size_t bytes;
    link_init(&first, 90);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(link_add(&first, CU_JIT_INPUT_PTX, PTX("sm_75"), 40, NULL, why), 0);
    const void *image = link_image(&first, &bytes);
    cr_assert_eq(add(CU_JIT_INPUT_CUBIN, image, bytes), CUDA_SUCCESS);
    for (size_t n = 1; n < bytes; n++)
        cr_assert_neq(add(CU_JIT_INPUT_CUBIN, image, n), CUDA_SUCCESS, "%zu bytes", n);
    link_finish(&first);
    cr_assert_eq(units(), 2);
}

/* ---- files of host code ---------------------------------------------------------------------- */

Test(shim_link, an_object_brings_what_its_sections_hold) {
    build_fatbin(1, 75, 0);
    build_object(".nv_fatbin", 3);
    cr_assert_eq(add_buf(CU_JIT_INPUT_OBJECT, &object), CUDA_SUCCESS);
    cr_assert_eq(units(), 3);
    buf_clear(&object);
    build_object("__nv_relfatbin", 1);
    cr_assert_eq(add_buf(CU_JIT_INPUT_OBJECT, &object), CUDA_SUCCESS);
    cr_assert_eq(units(), 4);
    buf_clear(&object);
    build_object(".other", 1);
    cr_assert_eq(add_buf(CU_JIT_INPUT_OBJECT, &object), CUDA_SUCCESS, "host code alone");
    cr_assert_eq(units(), 4);
}

Test(shim_link, an_archive_brings_what_can_be_used) {
    build_fatbin(1, 75, 0);
    build_object(".nv_fatbin", 1);
    build_member("/", "symbols", 7);
    build_member("one.o/", object.data, object.len);
    build_member("/12", object.data, object.len);
    build_member("text/", "no object", 9);
    buf_clear(&fatbin);
    buf_clear(&object);
    build_fatbin(2, 75, 0);
    build_object(".nv_fatbin", 1);
    build_member("machine.o/", object.data, object.len);
    cr_assert_eq(add_buf(CU_JIT_INPUT_OBJECT, &object), CUDA_ERROR_NO_BINARY_FOR_GPU, "by itself");
    cr_assert_eq(add_buf(CU_JIT_INPUT_LIBRARY, &archive), CUDA_SUCCESS);
    cr_assert_eq(units(), 2);
    cr_assert_eq(add_buf(CU_JIT_INPUT_OBJECT, &archive), CUDA_ERROR_INVALID_IMAGE);
    cr_assert_eq(add_buf(CU_JIT_INPUT_LIBRARY, &object), CUDA_ERROR_INVALID_IMAGE);
}

/* Checks that no member reaches beyond the archive. */
static void check_members(const struct buf *b) {
    struct archive a;
    struct object_piece m;
    if (!archive_open(&a, b->data, b->len)) return;
    while (archive_next(&a, &m) > 0)
        cr_assert(m.data >= b->data && m.bytes <= b->len && m.data + m.bytes <= b->data + b->len);
}

/* An input that is truncated anywhere, or has any byte changed, is rejected or accepted, and
 * never read beyond its end. */
Test(shim_link, lies_are_survived) {
    build_fatbin(1, 75, 0);
    build_object(".nv_fatbin", 2);
    build_member("one.o/", object.data, object.len);
    for (size_t n = 0; n < archive.len; n++)
        add(CU_JIT_INPUT_LIBRARY, archive.data, n);
    for (size_t n = 0; n < archive.len; n++) {
        for (int v = 0; v < 3; v++) {
            unsigned char old = archive.data[n];
            archive.data[n] = (unsigned char)(v == 0 ? 0xff : v == 1 ? '9' : old + 1);
            check_members(&archive);
            add_buf(CU_JIT_INPUT_LIBRARY, &archive);
            archive.data[n] = old;
        }
    }
    cr_assert_gt(units(), 100, "most bytes are not looked at");
}
