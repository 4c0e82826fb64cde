/* SPDX-License-Identifier: Apache-2.0
 *
 * Lengths of code images from their own headers, and headers with wrong lengths.
 */
#include "shim/code/fatbin.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
};

struct wrapper {
    uint32_t magic, version;
    const void *data;
    const void *const *units;
};

struct blob {
    struct header h;
    char body[64];
};

static struct blob make_fatbin(uint64_t bytes, char fill) {
    struct blob b = {.h = {0xba55ed50, 1, 16, bytes}};
    memset(b.body, fill, sizeof(b.body));
    return b;
}

Test(shim_fatbin, ptx_ends_at_its_nul) {
    cr_assert_eq(fatbin_measure(".version 7.5"), 13);
    cr_assert_eq(fatbin_measure("//\n"), 4);
    cr_assert_eq(fatbin_measure(""), 0);
    cr_assert_eq(fatbin_measure(NULL), 0);
}

Test(shim_fatbin, container_is_header_and_body) {
    struct blob b = make_fatbin(40, 'x');
    cr_assert_eq(fatbin_measure(&b), 56);
    b.h.version = 2;
    cr_assert_eq(fatbin_measure(&b), 0);
}

Test(shim_fatbin, absurd_lengths_are_refused) {
    struct blob b = make_fatbin(UINT64_MAX - 3, 'x');
    cr_assert_eq(fatbin_measure(&b), 0);
    b.h.bytes = 1ull << 40;
    cr_assert_eq(fatbin_measure(&b), 0);
}

/* Returns a readable page, followed by memory that cannot be read, as long as a header can reach.
 */
static char *last_page(void) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = page + UINT16_MAX + 1;
    char *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(p, MAP_FAILED);
    cr_assert_eq(mprotect(p, page, PROT_READ | PROT_WRITE), 0);
    return p;
}

/* By its header the image reaches beyond the program's memory. */
Test(shim_fatbin, headers_that_reach_beyond_readable_memory_are_refused) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *p = last_page();
    struct blob b = make_fatbin(page - 16, 'x');
    memcpy(p, &b, sizeof(b));
    cr_expect_eq(fatbin_measure(p), page, "all of the page");
    b.h.bytes++;
    memcpy(p, &b, sizeof(b));
    cr_expect_eq(fatbin_measure(p), 0, "one byte more");
    b.h.bytes = 0;
    b.h.header_bytes = UINT16_MAX;
    memcpy(p, &b, sizeof(b));
    cr_expect_eq(fatbin_measure(p), 0, "its header alone");
    Elf64_Ehdr e = {.e_ehsize = sizeof(e), .e_shoff = page, .e_shnum = 1};
    e.e_shentsize = sizeof(Elf64_Shdr);
    memcpy(e.e_ident, ELFMAG, SELFMAG);
    e.e_ident[EI_CLASS] = ELFCLASS64;
    memcpy(p, &e, sizeof(e));
    cr_expect_eq(fatbin_measure(p), 0, "a section table");
}

/* The first and last byte of the image can be read, and some between them cannot. */
Test(shim_fatbin, a_hole_in_an_image_is_found_when_it_is_copied) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 3 * page;
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct blob b = make_fatbin(bytes - 16, 'x');
    cr_assert_neq(p, MAP_FAILED);
    memcpy(p, &b, sizeof(b));
    char *copy = malloc(bytes);
    cr_expect_eq(fatbin_copy(p, copy, bytes), 0);
    cr_expect_eq(fatbin_copy(p, copy, bytes - 1), -EFAULT, "it was measured before it grew");
    cr_assert_eq(munmap(p + page, page), 0);
    cr_expect_eq(fatbin_measure(p), bytes);
    cr_expect_eq(fatbin_copy(p, copy, bytes), -EFAULT);
    free(copy);
}

struct entry {
    uint16_t kind, version;
    uint32_t header_bytes;
    uint64_t payload_bytes;
    uint32_t more[12];
};
_Static_assert(sizeof(struct entry) == 64, "an entry's header");

/* One entry of PTX for sm_75, with a payload of eight bytes. */
struct one {
    struct header h;
    struct entry e;
    char payload[8];
};

static struct one make_one(void) {
    struct one o = {.h = {0xba55ed50, 1, 16, sizeof(o) - 16},
                    .e = {.kind = 1, .header_bytes = 64, .payload_bytes = 8}};
    o.e.more[3] = 75;
    return o;
}

/* Sizes in the headers of the container and the entries are not trusted: nothing after the image
 * is read, and PTX that the device would refuse does not count. */
Test(shim_fatbin, sizes_of_headers_are_held_against_the_image) {
    struct one o = make_one();
    cr_expect(fatbin_has_ptx(&o, sizeof(o), 75));
    for (uint32_t bytes = 0; bytes < 64; bytes++) {
        o.e.header_bytes = bytes;
        cr_expect_not(fatbin_has_ptx(&o, sizeof(o), 75), "an entry's header of %u bytes", bytes);
    }
    o.e.header_bytes = 73;
    cr_expect_not(fatbin_has_ptx(&o, sizeof(o), 75), "it reaches beyond the image");
    o = make_one();
    o.e.payload_bytes = UINT64_MAX - 63;
    cr_expect_not(fatbin_has_ptx(&o, sizeof(o), 75), "it wraps");
    o = make_one();
    for (uint32_t bytes = 0; bytes <= UINT16_MAX; bytes++) {
        o.h.header_bytes = (uint16_t)bytes;
        cr_expect(fatbin_has_ptx(&o, sizeof(o), 75) == (bytes == 16), "a header of %u bytes",
                  bytes);
    }
}

Test(shim_fatbin, wrapper_of_version_1_is_its_fatbin) {
    struct blob b = make_fatbin(40, 'x');
    const void *garbage[] = {&b, (void *)1};
    struct wrapper w = {0x466243b1, 1, &b, garbage};
    char out[56];
    cr_assert_eq(fatbin_measure(&w), 56, "version 1 has no array");
    cr_assert_eq(fatbin_copy(&w, out, sizeof(out)), 0);
    cr_assert_arr_eq(out, &b, 56);
    cr_assert_eq(fatbin_in_place(&w), &b);
}

Test(shim_fatbin, wrapper_of_version_2_is_all_of_its_units) {
    struct blob linked = make_fatbin(8, 'l'), one = make_fatbin(16, '1'),
                two = make_fatbin(24, '2');
    const void *units[] = {&one, &two, NULL};
    struct wrapper w = {0x466243b1, 2, &linked, units};
    char out[24 + 32 + 40];
    cr_assert_eq(fatbin_measure(&w), sizeof(out));
    cr_assert_eq(fatbin_copy(&w, out, sizeof(out)), 0);
    cr_assert_arr_eq(out, &linked, 24);
    cr_assert_arr_eq(out + 24, &one, 32);
    cr_assert_arr_eq(out + 56, &two, 40);
    cr_assert_null(fatbin_in_place(&w), "it is in pieces");
    two.h.magic = 0;
    cr_assert_eq(fatbin_measure(&w), 0, "one bad unit spoils it");
}

struct elf {
    Elf64_Ehdr h;
    Elf64_Shdr sections[3];
    char body[256];
};

static struct elf make_elf(void) {
    struct elf e = {.h = {.e_ehsize = sizeof(Elf64_Ehdr),
                          .e_shoff = offsetof(struct elf, sections),
                          .e_shnum = 3,
                          .e_shentsize = sizeof(Elf64_Shdr)}};
    memcpy(e.h.e_ident, ELFMAG, SELFMAG);
    e.h.e_ident[EI_CLASS] = ELFCLASS64;
    e.sections[1] = (Elf64_Shdr){
        .sh_type = SHT_PROGBITS, .sh_offset = offsetof(struct elf, body), .sh_size = 100};
    e.sections[2] = (Elf64_Shdr){.sh_type = SHT_NOBITS, .sh_offset = 1 << 20, .sh_size = 1 << 20};
    return e;
}

Test(shim_fatbin, elf_ends_with_its_last_byte_in_the_file) {
    struct elf e = make_elf();
    cr_assert_eq(fatbin_measure(&e), offsetof(struct elf, body) + 100);
    e.sections[1].sh_size = 0;
    cr_assert_eq(fatbin_measure(&e), offsetof(struct elf, body), "the section table is last");
    e.sections[1].sh_offset = UINT64_MAX;
    e.sections[1].sh_size = 2;
    cr_assert_eq(fatbin_measure(&e), 0, "wraps");
    e = make_elf();
    e.h.e_shentsize = 8;
    cr_assert_eq(fatbin_measure(&e), 0);
}

/* Data from a file is never read beyond its end. */
Test(shim_fatbin, every_truncation_of_a_file_is_refused) {
    struct elf e = make_elf();
    size_t whole = offsetof(struct elf, body) + 100;
    for (size_t n = 0; n < whole; n++) {
        char *file = malloc(n + 1);
        memcpy(file, &e, n);
        file[n] = '\0';
        cr_assert_eq(fatbin_measure_within(file, n), 0, "%zu bytes", n);
        free(file);
    }
    cr_assert_eq(fatbin_measure_within(&e, whole), whole);
    struct blob b = make_fatbin(40, 'x');
    cr_assert_eq(fatbin_measure_within(&b, 55), 0);
    cr_assert_eq(fatbin_measure_within(&b, 56), 56);
    cr_assert_eq(fatbin_measure_within(".version", 8), 9, "text with the NUL behind it");
}
