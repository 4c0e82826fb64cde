/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets of profiles and hints between broker and worker, and invalid messages.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "daemon/kernels/kernel_adopt.h"
#include "daemon/kernels/kernel_text.h"
#include "daemon/kernels/kernel_wire.h"

static struct kernel_set set;

static const char text[] =
    "salus-kernels 1 3 2\n"
    "device sms=8 name=GPU\n"
    "hint grid=0,0,0 block=0,0,0 sms=4 class=memory compute=0 memory=700 ns=5000 name=a\n"
    "hint grid=0,0,0 block=0,0,0 sms=0 class=unknown compute=0 memory=0 ns=9 name=z\n"
    "kernel func=0000000000000001 grid=1,1,1 block=32,1,1 shared=0 uid=7 sms=1 class=compute "
    "source=counted compute=900 memory=100 lone=1 sum=600 bins=1:1 name=k\n"
    "kernel func=0000000000000002 grid=2,1,1 block=32,1,1 shared=0 uid=7 sms=0 class=unknown "
    "source=none compute=0 memory=0 lone=0 sum=0 bins= name=k\n"
    "kernel func=0000000000000003 grid=3,1,1 block=32,1,1 shared=0 uid=8 sms=2 class=unknown "
    "source=none compute=0 memory=0 lone=1 sum=0 bins= name=l\n";

static void setup(void) {
    char why[KERNEL_PROFILE_WHY_BYTES] = "";

    kernel_set_init(&set, 1);
    cr_assert_eq(kernel_text_parse(&set, text, strlen(text), why), 0, "%s", why);
}

static void teardown(void) {
    kernel_set_finish(&set);
}

TestSuite(kernel_wire, .init = setup, .fini = teardown);

Test(kernel_wire, a_set_arrives_in_the_order_of_use) {
    struct kernel_profile p = *kernel_set_find(&set, &set.items[0].key), out;
    int fd;
    struct kernel_profile_hint hint;
    struct kernel_wire k;

    cr_assert_eq(kernel_set_learn(&set, &p), 0); /* now the most recent one */
    fd = kernel_wire_pack(&set, true);
    cr_assert_geq(fd, 0);
    cr_assert_eq(fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK, F_SEAL_SHRINK);
    cr_assert_lt(write(fd, "x", 1), 0, "nobody writes to it");
    cr_assert_eq(kernel_wire_open(&k, fd), 0);
    cr_assert_eq(k.hints, 2);
    cr_assert_eq(k.profiles, 3);
    kernel_wire_hint(&k, 1, &hint);
    cr_assert_eq(memcmp(&hint, &set.hints[1], sizeof(hint)), 0);
    kernel_wire_profile(&k, 0, &out);
    cr_assert_eq(out.key.func, 2);
    kernel_wire_profile(&k, 2, &out);
    cr_assert_eq(memcmp(&out, &p, sizeof(p)), 0);
    kernel_wire_close(&k);
    close(fd);
}

Test(kernel_wire, hints_alone) {
    int fd = kernel_wire_pack(&set, false);
    struct kernel_wire k;

    cr_assert_eq(kernel_wire_open(&k, fd), 0);
    cr_assert_eq(k.hints, 2);
    cr_assert_eq(k.profiles, 0);
    kernel_wire_close(&k);
    close(fd);
}

Test(kernel_wire, what_is_no_set_of_kernels) {
    int good = kernel_wire_pack(&set, true), fd;
    size_t bytes = (size_t)lseek(good, 0, SEEK_END);
    uint32_t *words = malloc(bytes + 4);
    struct kernel_wire k;

    cr_assert_eq(pread(good, words, bytes, 0), (ssize_t)bytes);
    fd = memfd_create("open", 0);
    cr_assert_eq(write(fd, words, bytes), (ssize_t)bytes);
    cr_assert_eq(kernel_wire_open(&k, fd), -EINVAL, "it may shrink");
    close(fd);
    /* wrong magic, hints, profiles, and a length that does not fit them */
    for (int i = 0; i < 4; i++) {
        size_t length = bytes + (i == 3 ? 4 : 0);

        fd = fdutil_memfd("bad", length, 1);
        words[i < 3 ? i : 0]++;
        cr_assert_eq(pwrite(fd, words, length, 0), (ssize_t)length);
        cr_assert_eq(kernel_wire_open(&k, fd), -EINVAL, "%d", i);
        cr_assert_null(k.map);
        words[i < 3 ? i : 0]--;
        close(fd);
    }
    free(words);
    close(good);
}

Test(kernel_wire, a_batch_is_as_long_as_it_says) {
    union kernel_wire_message m = {.batch = {.kind = WIRE_PROFILES, .count = 2}};

    cr_assert(kernel_wire_is_batch(&m, kernel_wire_batch_bytes(2)));
    cr_assert_not(kernel_wire_is_batch(&m, kernel_wire_batch_bytes(2) - 1));
    cr_assert_not(kernel_wire_is_batch(&m, kernel_wire_batch_bytes(1)));
    cr_assert_not(kernel_wire_is_batch(&m, 4));
    m.batch.count = KERNEL_WIRE_BATCH + 1;
    cr_assert_not(kernel_wire_is_batch(&m, kernel_wire_batch_bytes(KERNEL_WIRE_BATCH + 1)));
    m.batch.count = 0;
    m.batch.kind = WIRE_BEAT;
    cr_assert_not(kernel_wire_is_batch(&m, kernel_wire_batch_bytes(0)));
}

Test(kernel_wire, of_another_device_only_classes_and_sms_are_taken) {
    cr_assert_eq(kernel_adopt(&set), 0);
    cr_assert_eq(set.count, 0);
    cr_assert_eq(set.device.sms, 0);
    cr_assert_str_eq(set.device.name, "?");
    cr_assert_eq(set.hint_count, 4, "a kernel of which nothing is known becomes none");
    for (uint32_t i = 0; i < set.hint_count; i++)
        cr_assert_eq(set.hints[i].duration_ns, 0);
    cr_assert_str_eq(set.hints[1].name, "k");
    cr_assert_eq(set.hints[1].grid[0], 1);
    cr_assert_eq(set.hints[1].class, KERNEL_PROFILE_COMPUTE);
    cr_assert_eq(set.hints[2].sms, 2);
}
