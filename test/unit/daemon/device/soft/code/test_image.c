/* SPDX-License-Identifier: Apache-2.0
 *
 * Fatbins and cubins. The tests build them; they are never read from files.
 */
#include <criterion/criterion.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/image/image.h"
#include "test/lib/ptx/image_build.h"

static struct image image;
static struct buf out, cubin;
static char why[160];
static enum image_use use; /* the purpose for which images are read */

static const struct image_param params[] = {{0, 0, 8, 0}, {1, 8, 4, 0}};
static const struct image_build_kernel kernels[] = {
    {"first", 40, 512, 400, {256, 1, 1}, 12, params, 2, 0, 0},
    {"second", 8, 0, 0, {0}, 0, NULL, 0, 0, 0},
};

static void start(void) {
    buf_init(&out);
    buf_init(&cubin);
    use = IMAGE_RUN;
    image_build_cubin(&cubin, 90, kernels, 2);
}

static void done(void) {
    image_finish(&image);
    buf_finish(&out);
    buf_finish(&cubin);
}

TestSuite(image, .init = start, .fini = done);

/* Reads a copy of exactly the image's length. */
static int read_image(const void *data, size_t bytes, uint32_t capability) {
    image_finish(&image);
    void *copy = malloc(bytes ? bytes : 1);
    if (bytes) memcpy(copy, data, bytes);
    int err = image_read(copy, bytes, capability, use, &image, why, sizeof(why));
    cr_assert_eq(err == 0, why[0] == 0, "a refusal says why, success says nothing");
    if (err) cr_assert(!image.ptx && !image.kernels, "nothing is left of a refused image");
    free(copy);
    return err;
}

static int read_out(uint32_t capability) {
    return read_image(out.data, out.len, capability);
}

static const char *ptx(const char *target) {
    static char text[8][80];
    static int turn;
    turn = (turn + 1) % 8;
    snprintf(text[turn], sizeof(text[turn]), ".version 8.0\n.target %s\n.address_size 64\n",
             target);
    return text[turn];
}

static struct image_entry text_entry(uint32_t target, uint64_t flags, enum image_packing packing,
                                     const char *text) {
    return (struct image_entry){1, target, flags, packing, text, strlen(text) + 1};
}

static struct image_entry cubin_entry(uint32_t target, enum image_packing packing) {
    return (struct image_entry){2, target, 0, packing, cubin.data, cubin.len};
}

static void check_kernels(void) {
    cr_assert(image.kernel_count == 2 && image.cubin_target == 90);
    const struct image_kernel *k = &image.kernels[0];
    cr_assert_str_eq(k->name, "first");
    cr_assert(k->regs == 40 && k->local_bytes == 512 && k->max_threads == 256);
    cr_assert_eq(k->shared_bytes, 400, "without the system's share");
    cr_assert(k->param_count == 2 && k->param_bytes == 12 && k->params[1].offset == 8);
    k = &image.kernels[1];
    cr_assert(k->regs == 8 && k->param_count == 0 && k->shared_bytes == 0 && k->max_threads == 0);
}

Test(image, every_packing) {
    for (int packing = IMAGE_PLAIN; packing <= IMAGE_ZSTD; packing++) {
        const struct image_entry entries[] = {
            cubin_entry(90, (enum image_packing)packing),
            text_entry(75, 0, (enum image_packing)packing, ptx("sm_75")),
        };
        buf_clear(&out);
        image_build_fatbin(&out, entries, 2);
        cr_assert_eq(read_out(90), 0, "%s", why);
        cr_assert(image.ptx_count == 1 && image.ptx_target == 75);
        cr_assert_str_eq(image.ptx[0], ptx("sm_75"));
        cr_assert_eq(image.ptx_bytes[0], strlen(image.ptx[0]));
        check_kernels();
        cr_assert_eq(image_extent(out.data, out.len), out.len);
    }
}

Test(image, the_newest_that_the_device_can_run) {
    const struct image_entry entries[] = {
        text_entry(75, 0, IMAGE_PLAIN, ptx("sm_75")),
        text_entry(90, 0x100000, IMAGE_PLAIN, ptx("sm_90a")),
        text_entry(90, 0, IMAGE_PLAIN, ptx("sm_90")),
        text_entry(80, 0x100000, IMAGE_PLAIN, ptx("sm_80a")),
        text_entry(100, 0, IMAGE_PLAIN, ptx("sm_100")),
        text_entry(100, 0x200000, IMAGE_PLAIN, ptx("sm_100f")),
    };
    image_build_fatbin(&out, entries, 6);
    static const struct {
        uint32_t capability;
        const char *target;
    } cases[] = {{75, "sm_75"}, {80, "sm_80a"}, {86, "sm_75"}, {90, "sm_90"}, {103, "sm_100"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_assert_eq(read_out(cases[i].capability), 0);
        cr_assert_str_eq(image.ptx[0], ptx(cases[i].target));
    }
    cr_assert_eq(read_out(70), ERR_NO_BINARY);
    cr_assert_str_eq(why, "the PTX is for sm_75, the device is sm_70");
    buf_clear(&out);
    image_build_fatbin(&out, entries + 1, 1);
    cr_assert_eq(read_out(90), 0, "bound to this very architecture");
    buf_clear(&out);
    image_build_fatbin(&out, entries + 5, 1);
    cr_assert_eq(read_out(103), 0, "bound to this family");
    cr_assert_eq(read_out(120), ERR_NO_BINARY);
}

Test(image, what_there_is_instead_of_ptx) {
    const struct image_entry entries[] = {
        {8, 90, 0, IMAGE_PLAIN, "BC", 2},
        cubin_entry(100, IMAGE_PLAIN),
    };
    image_build_fatbin(&out, entries, 2);
    cr_assert_eq(read_out(90), ERR_NO_BINARY);
    cr_assert_str_eq(why, "the image has only code that must be linked first (lto_90), and no PTX");
    buf_clear(&out);
    image_build_fatbin(&out, entries + 1, 1);
    cr_assert_eq(read_out(90), ERR_NO_BINARY);
    cr_assert_str_eq(why, "the fatbin has nothing for sm_90 or older");
}

/* When no PTX runs on the device, the nearest higher capability that has PTX is reported. */
Test(image, the_nearest_that_is_too_new) {
    const struct image_entry entries[] = {
        cubin_entry(80, IMAGE_PLAIN),
        text_entry(121, 0, IMAGE_PLAIN, ptx("sm_121")),
        text_entry(120, 0, IMAGE_PLAIN, ptx("sm_120")),
    };
    image_build_fatbin(&out, entries, 3);
    cr_assert_eq(read_out(90), 0);
    cr_assert_eq(image.ptx_count, 0, "no GPU of 9.0 runs code for 8.0");
    cr_assert_eq(image.ptx_above, 120);
    cr_assert_eq(read_out(120), 0);
    cr_assert_eq(image.ptx_count, 1);
    cr_assert_eq(image.ptx_above, 121);
    cr_assert_eq(read_out(130), 0);
    cr_assert_eq(image.ptx_above, 0);
}

/* A GPU would run its machine code; here PTX stands in for it, whatever its target. */
Test(image, ptx_that_is_too_new_stands_for_machine_code) {
    const struct image_entry entries[] = {
        text_entry(121, 0, IMAGE_PLAIN, ptx("sm_121")),
        cubin_entry(90, IMAGE_PLAIN),
        text_entry(100, 0x100000, IMAGE_PLAIN, ptx("sm_100a")),
        text_entry(120, 0, IMAGE_PLAIN, ptx("sm_120")),
    };
    image_build_fatbin(&out, entries, 4);
    cr_assert_eq(read_out(90), 0, "%s", why);
    cr_assert(image.ptx_count == 1 && image.ptx_target == 120 && image.cubin_target == 90);
    cr_assert_str_eq(image.ptx[0], ptx("sm_120"));
    cr_assert_eq(read_out(89), ERR_NO_BINARY, "for 8.9 there is nothing");
    buf_clear(&out);
    image_build_fatbin(&out, entries + 1, 2);
    cr_assert_eq(read_out(90), 0);
    cr_assert_eq(image.ptx_count, 0, "what is bound to an architecture stands for nothing else");
}

/* Beyond the known families, each capability is a family of its own: the newest PTX is used if
 * nothing else fits. */
Test(image, ptx_that_is_bound_to_another_family) {
    const struct image_entry entries[] = {
        text_entry(75, 0, IMAGE_PLAIN, ptx("sm_75")),
        cubin_entry(90, IMAGE_PLAIN),
        text_entry(100, 0x200000, IMAGE_PLAIN, ptx("sm_100f")),
        text_entry(120, 0x200000, IMAGE_PLAIN, ptx("sm_120f")),
        text_entry(110, 0x200000, IMAGE_PLAIN, ptx("sm_110f")),
    };
    image_build_fatbin(&out, entries + 1, 4);
    cr_assert_eq(read_out(130), 0, "%s", why);
    cr_assert(image.ptx_count == 1 && image.ptx_target == 120 && image.cubin_target == 90);
    cr_assert_str_eq(image.ptx[0], ptx("sm_120f"));
    buf_clear(&out);
    image_build_fatbin(&out, entries + 1, 2);
    cr_assert_eq(read_out(121), 0);
    cr_assert_eq(image.ptx_count, 0, "a GPU of 12.1 runs neither");
    buf_clear(&out);
    image_build_fatbin(&out, entries, 5);
    cr_assert_eq(read_out(130), 0);
    cr_assert_str_eq(image.ptx[0], ptx("sm_75"), "what is bound to nothing comes first");
}

Test(image, units) {
    const struct image_entry linked = cubin_entry(90, IMAGE_ZSTD);
    const struct image_entry a = text_entry(75, 0, IMAGE_LZ4, ptx("sm_75 // a"));
    const struct image_entry b = text_entry(80, 0, IMAGE_ZSTD, ptx("sm_80 // b"));
    image_build_fatbin(&out, &linked, 1);
    image_build_fatbin(&out, &a, 1);
    image_build_fatbin(&out, &linked, 1); /* a unit without PTX adds nothing */
    image_build_fatbin(&out, &b, 1);
    cr_assert_eq(read_out(90), 0, "%s", why);
    cr_assert(image.ptx_count == 2 && image.ptx_target == 80);
    cr_assert_str_eq(image.ptx[0], ptx("sm_75 // a"));
    cr_assert_str_eq(image.ptx[1], ptx("sm_80 // b"));
    check_kernels();
    cr_assert_lt(image_extent(out.data, out.len), out.len, "the extent is that of one fatbin");
    buf_clear(&out);
    image_build_fatbin(&out, &b, 1);
    image_build_fatbin(&out, &a, 1);
    cr_assert_eq(read_out(90), 0);
    cr_assert_eq(image.ptx_count, 1, "a first fatbin with PTX stands for the program");
    cr_assert_str_eq(image.ptx[0], ptx("sm_80 // b"));
}

Test(image, the_device_runtimes_own_ptx_is_left_out) {
    const char *runtime =
        ".version 9.0\n.target sm_75\n.visible .func (.param .b32 r) cudaGetLastError();\n"
        ".visible .global .align 4 .u32 __CNPRT_VERSION_NUMBER__ = 6000;\n";
    struct image_entry entry = text_entry(75, 0, IMAGE_ZSTD, ptx("sm_75"));
    image_build_fatbin(&out, NULL, 0);
    image_build_fatbin(&out, &entry, 1);
    entry = text_entry(75, 0, IMAGE_ZSTD, runtime);
    image_build_fatbin(&out, &entry, 1);
    cr_assert_eq(read_out(90), 0, "%s", why);
    cr_assert_eq(image.ptx_count, 1);
    cr_assert_str_eq(image.ptx[0], ptx("sm_75"));
}

Test(image, cubins) {
    cr_assert_eq(read_image(cubin.data, cubin.len, 90), 0, "%s", why);
    cr_assert_eq(image.ptx_count, 0);
    check_kernels();
    cr_assert_eq(image_extent(cubin.data, cubin.len), cubin.len);
    cr_assert_eq(read_image(cubin.data, cubin.len, 89), ERR_NO_BINARY);
    cr_assert_str_eq(why, "the cubin is for sm_90, the device is sm_89");
    const struct image_entry only = cubin_entry(90, IMAGE_PLAIN);
    image_build_fatbin(&out, &only, 1);
    cr_assert_eq(read_out(90), 0);
    cr_assert_eq(image.ptx_count, 0);
    check_kernels();
}

Test(image, a_damaged_cubin_does_not_spoil_its_ptx) {
    cubin.data[18] ^= 1; /* the machine */
    const struct image_entry entries[] = {cubin_entry(90, IMAGE_PLAIN),
                                          text_entry(75, 0, IMAGE_PLAIN, ptx("sm_75"))};
    image_build_fatbin(&out, entries, 2);
    cr_assert_eq(read_out(90), 0);
    cr_assert(image.ptx_count == 1 && image.kernel_count == 0 && image.cubin_target == 0);
    buf_clear(&out);
    image_build_fatbin(&out, entries, 1);
    cr_assert_eq(read_out(90), ERR_INVALID_IMAGE);
    cr_assert_str_eq(why, "the image is an ELF file, but not a cubin");
}

Test(image, text) {
    const char *text = ptx("sm_80");
    cr_assert_eq(read_image(text, strlen(text), 90), 0);
    cr_assert(image.ptx_count == 1 && image.ptx_target == 80 && image.cubin_target == 0);
    cr_assert_str_eq(image.ptx[0], text);
    cr_assert_eq(read_image("// c\n\n.version 8.0\0rubbish", 26, 90), 0);
    cr_assert_eq(image.ptx_bytes[0], 18);
    cr_assert_eq(read_image(ptx("sm_100"), 60, 90), ERR_NO_BINARY);
    cr_assert_str_eq(why, "the PTX is for sm_100, the device is sm_90");
    cr_assert_eq(read_image("hello", 5, 90), ERR_INVALID_IMAGE);
    cr_assert_str_eq(why, "the image is neither a fatbin, a cubin nor PTX");
    cr_assert_eq(read_image("", 0, 90), ERR_INVALID_IMAGE);
    cr_assert_eq(image_extent(text, strlen(text)), 0);
}

/* ---- variables and kernels that are only described ------------------------------------------- */

static const unsigned char words[] = {1, 2, 3, 4, 5, 6, 7, 8};
static const struct image_build_var vars[] = {
    {"zeros", NULL, 100, 0, 0, 0},
    {"filled", words, 8, 0, 0, 0},
    {"shared_with_host", words + 4, 4, 0, 1, 0},
    {"constant", words + 1, 3, 1, 0, 0},
};

static void build_with_vars(void) {
    buf_clear(&cubin);
    image_build_cubin_vars(&cubin, 90, kernels, 2, vars, 4);
    use = IMAGE_DESCRIBE;
}

static const struct image_var *var_named(const char *name) {
    for (uint32_t i = 0; i < image.var_count; i++)
        if (!strcmp(image.vars[i].name, name)) return &image.vars[i];
    cr_assert(false, "no %s", name);
    return NULL;
}

Test(image, variables_of_a_cubin) {
    build_with_vars();
    cr_assert_eq(read_image(cubin.data, cubin.len, 90), 0, "%s", why);
    check_kernels();
    cr_assert_eq(image.var_count, 4);
    const struct image_var *v = var_named("zeros");
    cr_assert(v->bytes == 100 && !v->init && !v->managed);
    v = var_named("filled");
    cr_assert(v->bytes == 8 && !memcmp(v->init, words, 8) && !v->managed);
    v = var_named("shared_with_host");
    cr_assert(v->bytes == 4 && !memcmp(v->init, words + 4, 4) && v->managed);
    v = var_named("constant");
    cr_assert(v->bytes == 3 && !memcmp(v->init, words + 1, 3) && !v->managed);
    use = IMAGE_RUN;
    cr_assert_eq(read_image(cubin.data, cubin.len, 90), 0);
    cr_assert_eq(image.var_count, 0, "whoever runs PTX has its variables");
}

Test(image, a_cubin_goes_before_its_ptx_where_nothing_is_run) {
    const struct image_entry both[] = {text_entry(75, 0, IMAGE_ZSTD, ptx("sm_75")),
                                       cubin_entry(90, IMAGE_PLAIN)};
    use = IMAGE_DESCRIBE;
    image_build_fatbin(&out, both, 2);
    cr_assert_eq(read_out(90), 0, "%s", why);
    cr_assert_eq(image.ptx_count, 0);
    check_kernels();
    cr_assert_eq(read_out(80), 0, "without a cubin for it");
    cr_assert(image.ptx_count == 1 && image.kernel_count == 0);
}

/* Inverts each byte and truncates at each place: the result is a rejection or a module, without
 * a fault. */
Test(image, damaged_variables) {
    unsigned refused = 0;
    build_with_vars();
    for (size_t i = 0; i < cubin.len; i++) {
        cubin.data[i] ^= 0xff;
        refused += read_image(cubin.data, cubin.len, 255) != 0;
        cubin.data[i] ^= 0xff;
    }
    cr_assert_gt(refused, 100);
    for (size_t n = 0; n < cubin.len; n++)
        cr_assert_eq(read_image(cubin.data, n, 90), ERR_INVALID_IMAGE, "cut at %zu", n);
}

/* The last symbol of the table, which is two sections before the last. */
static size_t last_symbol(void) {
    Elf64_Ehdr h;
    Elf64_Shdr table;
    memcpy(&h, cubin.data, sizeof(h));
    memcpy(&table, cubin.data + h.e_shoff + (h.e_shnum - 3u) * sizeof(table), sizeof(table));
    cr_assert_eq(table.sh_type, SHT_SYMTAB);
    return table.sh_offset + table.sh_size - sizeof(Elf64_Sym);
}

Test(image, a_variable_beyond_its_section) {
    Elf64_Sym s;
    build_with_vars();
    memcpy(&s, cubin.data + last_symbol(), sizeof(s));
    cr_assert_eq(s.st_size, 3);
    s.st_value = 1;
    memcpy(cubin.data + last_symbol(), &s, sizeof(s));
    cr_assert_eq(read_image(cubin.data, cubin.len, 90), ERR_INVALID_IMAGE);
    cr_assert_str_eq(why, "the cubin for sm_90 is damaged");
    s.st_value = UINT64_MAX;
    memcpy(cubin.data + last_symbol(), &s, sizeof(s));
    cr_assert_eq(read_image(cubin.data, cubin.len, 90), ERR_INVALID_IMAGE);
}

/* Symbols that repeat the same bytes must not multiply memory. */
Test(image, contents_told_twice) {
    static unsigned char big[100000];
    struct image_build_var many[40];
    for (int i = 0; i < 40; i++)
        many[i] = (struct image_build_var){i ? "v" : "big", big, i ? 1 : sizeof(big), 0, 0, 0};
    buf_clear(&cubin);
    use = IMAGE_DESCRIBE;
    image_build_cubin_vars(&cubin, 90, NULL, 0, many, 40);
    cr_assert_eq(read_image(cubin.data, cubin.len, 90), 0, "%s", why);
    cr_assert_eq(image.var_count, 40);
    for (size_t i = 0; i < 39; i++) {
        Elf64_Sym s;
        memcpy(&s, cubin.data + last_symbol() - i * sizeof(s), sizeof(s));
        s.st_value = 0;
        s.st_size = sizeof(big);
        memcpy(cubin.data + last_symbol() - i * sizeof(s), &s, sizeof(s));
    }
    cr_assert_eq(read_image(cubin.data, cubin.len, 90), ERR_INVALID_IMAGE);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Every prefix, in every compression, is rejected; so is a fatbin with trailing bytes. */
Test(image, prefixes) {
    for (int packing = IMAGE_PLAIN; packing <= IMAGE_ZSTD; packing++) {
        const struct image_entry entries[] = {
            text_entry(75, 0, (enum image_packing)packing, ptx("sm_75")),
            cubin_entry(90, (enum image_packing)packing),
        };
        buf_clear(&out);
        image_build_fatbin(&out, entries, 2);
        for (size_t n = 0; n < out.len; n++) {
            cr_assert_eq(read_image(out.data, n, 90), ERR_INVALID_IMAGE, "cut at %zu", n);
            cr_assert_eq(image_extent(out.data, n), 0);
        }
        buf_append(&out, "x", 1);
        cr_assert_eq(read_out(90), ERR_INVALID_IMAGE);
        cr_assert_str_eq(why, "fatbin 1 is damaged or cut short");
    }
    for (size_t n = 0; n < cubin.len; n++)
        cr_assert_eq(read_image(cubin.data, n, 90), ERR_INVALID_IMAGE, "cut at %zu", n);
}

/* Each byte of a cubin inverted: the result is a rejection or a module, without a fault. */
Test(image, flipped_bytes) {
    unsigned refused = 0;
    for (size_t i = 0; i < cubin.len; i++) {
        cubin.data[i] ^= 0xff;
        refused += read_image(cubin.data, cubin.len, 255) != 0;
        image_extent(cubin.data, cubin.len);
        cubin.data[i] ^= 0xff;
    }
    cr_assert_gt(refused, 100);
}

/* A symbol table that repeats one long name must not multiply memory. */
Test(image, names_told_twice) {
    static char name[3000];
    struct image_build_kernel many[20];
    memset(name, 'x', sizeof(name) - 1);
    for (int i = 0; i < 20; i++)
        many[i] = (struct image_build_kernel){.name = i ? "k" : name};
    image_build_cubin(&out, 90, many, 20);
    cr_assert_eq(read_out(90), 0, "%s", why);
    cr_assert_eq(image.kernel_count, 20);
    Elf64_Ehdr h;
    Elf64_Shdr table;
    memcpy(&h, out.data, sizeof(h));
    memcpy(&table, out.data + h.e_shoff + (h.e_shnum - 3u) * sizeof(table), sizeof(table));
    cr_assert_eq(table.sh_type, SHT_SYMTAB);
    for (size_t i = 2; i < 21; i++)
        memcpy(out.data + table.sh_offset + i * sizeof(Elf64_Sym), "\x01\0\0", 4);
    cr_assert_eq(read_out(90), ERR_INVALID_IMAGE);
    cr_assert_str_eq(why, "the cubin for sm_90 is damaged");
}

static void poke(size_t at, uint64_t value, size_t bytes) {
    memcpy(out.data + at, &value, bytes);
}

/* Offsets are those of the fatbin's only entry, whose header begins at 16. */
Test(image, sizes_that_lie) {
    static const struct {
        size_t at, bytes;
        uint64_t value;
        const char *why;
    } cases[] = {
        {8, 8, UINT64_MAX, "fatbin 0 is damaged or cut short"},
        {6, 2, 0xffff, "fatbin 0 is damaged or cut short"},
        {6, 2, 8, "fatbin 0 is damaged or cut short"},
        {16 + 4, 4, 32, "fatbin 0 has a damaged entry"},
        {16 + 4, 4, 0xffffffff, "fatbin 0 has a damaged entry"},
        {16 + 8, 8, UINT64_MAX - 15, "fatbin 0 has a damaged entry"},
        {16 + 16, 4, 0xffffffff, "an entry for sm_75 does not unpack"},
        {16 + 16, 4, 3, "an entry for sm_75 does not unpack"},
        {16 + 56, 8, 7, "an entry for sm_75 does not unpack"},
        {16 + 56, 8, 1000, "an entry for sm_75 does not unpack"},
        {16 + 56, 8, 1u << 30, "the image unpacks to more than 256 MiB"},
        {16 + 56, 8, UINT64_MAX, "the image unpacks to more than 256 MiB"},
    };
    for (int packing = IMAGE_LZ4; packing <= IMAGE_ZSTD; packing++)
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
            const struct image_entry e =
                text_entry(75, 0, (enum image_packing)packing, ptx("sm_75"));
            buf_clear(&out);
            image_build_fatbin(&out, &e, 1);
            poke(cases[i].at, cases[i].value, cases[i].bytes);
            cr_assert_eq(read_out(90), ERR_INVALID_IMAGE, "case %zu", i);
            cr_assert_str_eq(why, cases[i].why, "case %zu: %s", i, why);
        }
}

Test(image, units_together_are_bounded) {
    static char text[1 << 20];
    memset(text, ' ', sizeof(text) - 1);
    memcpy(text, ".version 8.0", 12);
    const struct image_entry linked = cubin_entry(90, IMAGE_PLAIN);
    const struct image_entry big = {1, 75, 0, IMAGE_ZSTD, text, sizeof(text)};
    image_build_fatbin(&out, &linked, 1);
    for (int i = 0; i < 257; i++)
        image_build_fatbin(&out, &big, 1);
    cr_assert_eq(read_out(90), ERR_INVALID_IMAGE);
    cr_assert_str_eq(why, "the image unpacks to more than 256 MiB");
}
