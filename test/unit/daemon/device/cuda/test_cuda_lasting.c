/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the real driver's device that outlives its process: the context is lost, all of the
 * fake driver's objects are freed, and another device is opened on the kept descriptors.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/err.h"
#include "common/fdutil.h"
#include "daemon/device/device_recovery.h"
#include "daemon/device/device_spares.h"
#include "test/lib/cuda/cuda_rig.h"

static struct cuda_rig rig;
static struct rig_space space;
static const struct fake_options plain = {.greatest = -2}, stepping = {.stepping = true};

static void open_with(const struct fake_options *options) {
    cuda_rig_load(&rig, false);
    cuda_rig_keep(&rig);
    rig.fake->start(options);
    cr_assert_eq(cuda_rig_open(&rig), 0);
    cr_assert_eq(cuda_rig_space(&rig, &space, 0), 0);
}

static void setup(void) {
    open_with(&plain);
}

static void teardown(void) {
    cuda_rig_space_end(&rig, &space);
    cr_expect_eq(rig.ops->mem_used(rig.dev), 0, "memory left behind");
    cuda_rig_close(&rig);
    cr_expect_str_eq(cuda_rig_complaint(&rig), "");
    cuda_rig_drop(&rig);
}

TestSuite(cuda_lasting, .init = setup, .fini = teardown);

/* The space's host window stays, because the client owns it. */
static void die_to(const struct fake_options *options) {
    cr_assert_eq(cuda_rig_die(&rig, options), 0);
    munmap(space.host, RIG_HOST);
    cr_assert_eq(cuda_rig_space(&rig, &space, 0), 0);
}

static void die(void) {
    die_to(&plain);
}

static uint64_t base(void) {
    return space.windows.dev_base;
}

static uint64_t show(struct dev_chunk *chunk, uint32_t at) {
    cr_assert_eq(rig.ops->chunk_map(space.space, base() + at * RIG_GRANULE, &chunk, 1), 0);
    return base() + at * RIG_GRANULE;
}

static void hide(struct dev_chunk *chunk, uint32_t at) {
    cuda_rig_unmap(&rig, &space, at, 1, &chunk);
}

static bool is_all(uint64_t addr, uint8_t value) {
    const uint8_t *b = (const void *)(uintptr_t)addr;
    return b[0] == value && !memcmp(b, b + 1, RIG_GRANULE - 1);
}

static uint64_t id_of(const struct dev_chunk *chunk) {
    return rig.ops->recovery->chunk_id(rig.dev, chunk);
}

static int adopt(uint64_t id, struct dev_chunk **out) {
    return rig.ops->recovery->chunk_adopt(rig.dev, id, out);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

Test(cuda_lasting, what_is_adopted_is_as_it_was) {
    struct dev_chunk *chunks[4], *again, *fresh;
    cr_assert_eq(cuda_rig_map(&rig, &space, 0, 4, chunks), 0);
    for (uint32_t i = 0; i < 4; i++)
        memset(cuda_rig_words(base() + i * RIG_GRANULE), (int)(0x10 + i), RIG_GRANULE);
    uint64_t id = id_of(chunks[2]), before = base();
    cr_assert_lt(id, RIG_CHUNKS);
    die();
    cr_expect_eq(base(), before);
    cr_expect_eq(rig.info.memory_bytes, RIG_CHUNKS * RIG_GRANULE);
    cr_expect_eq(rig.ops->mem_used(rig.dev), 0);
    cr_expect_eq(rig.ops->chunk_create(rig.dev, &fresh), -EBUSY, "it might be somebody's");
    cr_assert_eq(adopt(id, &again), 0);
    cr_expect_eq(id_of(again), id);
    cr_expect_eq(adopt(id, &fresh), -EEXIST);
    cr_expect_eq(adopt(RIG_CHUNKS, &fresh), -EINVAL);
    cr_expect_eq(adopt(DEV_NOT_KEPT, &fresh), -EINVAL);
    cr_expect_eq(adopt(20, &fresh), -EINVAL, "there is none");
    cr_expect_eq(rig.ops->mem_used(rig.dev), RIG_GRANULE);
    rig.ops->recovery->memory_settle(rig.dev);
    cr_expect_eq(adopt(id_of(again) ? 0 : 1, &fresh), -ENOENT);
    cr_expect(is_all(show(again, 0), 0x12));
    hide(again, 0);
}

/* There may be forty thousand chunks. The worker sees errors when it fills or copies them. */
Test(cuda_lasting, what_is_adopted_takes_one_call) {
    static uint8_t bytes[RIG_GRANULE];
    struct dev_chunk *chunks[2], *again[2];
    cr_assert_eq(cuda_rig_map(&rig, &space, 0, 2, chunks), 0);
    memset(cuda_rig_words(base()), 0x31, 2 * RIG_GRANULE);
    uint64_t ids[] = {id_of(chunks[0]), id_of(chunks[1])};
    die();
    uint32_t before = rig.fake->calls();
    cr_assert_eq(adopt(ids[0], &again[0]), 0);
    cr_assert_eq(adopt(ids[1], &again[1]), 0);
    cr_expect_eq(rig.fake->calls() - before, 2);
    cr_assert_eq(rig.ops->chunk_save(rig.dev, bytes, again[0]), 0);
    cr_expect_eq(bytes[RIG_GRANULE - 1], 0x31);
    cr_assert_eq(rig.ops->chunk_copy(rig.dev, again[1], again[0]), 0);
    cr_assert_eq(rig.ops->chunk_clear(rig.dev, &again[0], 1), 0);
    cr_expect(is_all(show(again[0], 0), 0));
    cr_expect(is_all(show(again[1], 1), 0x31));
    hide(again[0], 0);
    hide(again[1], 1);
}

/* A chunk that no client adopted reads as zeros for its next owner; it is reused before memory
 * is allocated. */
Test(cuda_lasting, what_nobody_adopted_is_anybodys_and_zero) {
    struct dev_chunk *chunks[RIG_CHUNKS], *again;
    cr_assert_eq(cuda_rig_map(&rig, &space, 0, 4, chunks), 0);
    for (uint32_t i = 0; i < 4; i++)
        memset(cuda_rig_words(base() + i * RIG_GRANULE), 0x77, RIG_GRANULE);
    uint64_t id = id_of(chunks[1]);
    die();
    cr_assert_eq(adopt(id, &again), 0);
    rig.ops->recovery->memory_settle(rig.dev);
    cr_assert_eq(cuda_rig_map(&rig, &space, 0, 3, chunks), 0);
    cr_expect_eq(rig.kept_count, 4, "those are the earlier ones");
    cr_assert_eq(cuda_rig_map(&rig, &space, 3, RIG_CHUNKS - 4, chunks + 3), 0);
    cr_expect_eq(rig.kept_count, RIG_CHUNKS);
    for (uint32_t i = 0; i < RIG_CHUNKS - 1; i++) {
        cr_expect(is_all(base() + i * RIG_GRANULE, 0), "chunk %u", i);
        cr_expect_neq(id_of(chunks[i]), id);
    }
    struct dev_chunk *more;
    cr_expect_eq(rig.ops->chunk_create(rig.dev, &more), ERR_NO_MEMORY);
    cuda_rig_unmap(&rig, &space, 0, RIG_CHUNKS - 1, chunks);
    cr_expect(is_all(show(again, 0), 0x77));
    hide(again, 0);
}

/* Two jobs' records name the chunk, one of them wrongly: the other job may still adopt it. */
Test(cuda_lasting, what_is_given_back_before_all_are_there_stays_as_it_was) {
    struct dev_chunk *chunk;
    cr_assert_eq(cuda_rig_map(&rig, &space, 0, 1, &chunk), 0);
    cuda_rig_words(base())[7] = 42;
    uint64_t id = id_of(chunk);
    die();
    cr_assert_eq(adopt(id, &chunk), 0);
    rig.ops->chunk_destroy(rig.dev, chunk);
    cr_assert_eq(rig.ops->recovery->chunk_promise(rig.dev, id), 0);
    cr_expect_eq(rig.ops->recovery->chunk_promise(rig.dev, id), -EEXIST);
    rig.ops->recovery->chunk_renounce(rig.dev, id);
    rig.ops->recovery->chunk_renounce(rig.dev, id);
    cr_assert_eq(rig.ops->recovery->chunk_promise(rig.dev, id), 0);
    rig.ops->recovery->memory_settle(rig.dev);
    rig.ops->recovery->memory_settle(rig.dev);
    cr_assert_eq(adopt(id, &chunk), 0, "it was promised");
    cr_expect_eq(cuda_rig_words(show(chunk, 0))[7], 42);
    hide(chunk, 0);
}

/* The device dies a second time, with chunks that it made and chunks that it adopted. */
Test(cuda_lasting, it_goes_on_through_several_deaths) {
    struct dev_chunk *a, *b;
    cr_assert_eq(cuda_rig_map(&rig, &space, 0, 1, &a), 0);
    cuda_rig_words(base())[0] = 1;
    uint64_t first = id_of(a);
    die();
    cr_assert_eq(adopt(first, &a), 0);
    rig.ops->recovery->memory_settle(rig.dev);
    cuda_rig_words(show(a, 0))[1] = 2;
    cr_assert_eq(cuda_rig_map(&rig, &space, 1, 1, &b), 0);
    cuda_rig_words(base() + RIG_GRANULE)[0] = 3;
    uint64_t second = id_of(b);
    die();
    cr_assert_eq(adopt(second, &b), 0);
    cr_assert_eq(adopt(first, &a), 0);
    rig.ops->recovery->memory_settle(rig.dev);
    const uint32_t *words = cuda_rig_words(show(a, 0));
    cr_expect(words[0] == 1 && words[1] == 2);
    cr_expect_eq(cuda_rig_words(show(b, 1))[0], 3);
    hide(a, 0);
    hide(b, 1);
}

/* ---- clears ---------------------------------------------------------------------------------- */

/* These tests open their own device, because the suite's setup is the same for all tests. */
TestSuite(cuda_clears, .fini = teardown);

/* No client could read the chunk's old contents before, so its next owner must not read them
 * either. */
Test(cuda_clears, a_clear_that_never_ended_is_done_again) {
    struct dev_chunk *chunk;
    open_with(&stepping);
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &chunk), 0);
    show(chunk, 0); /* the clear has been queued, and no stream has run */
    uint64_t id = id_of(chunk);
    die_to(&stepping);
    cr_assert_eq(adopt(id, &chunk), 0);
    rig.ops->recovery->memory_settle(rig.dev);
    cr_expect(is_all(show(chunk, 0), 0));
    hide(chunk, 0);
}

/* The worker never saw the clear complete, but kernels that came after it have run. */
Test(cuda_clears, a_clear_that_nobody_saw_ending_is_not_done_again) {
    struct dev_chunk *chunk;
    open_with(&stepping);
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &chunk), 0);
    uint64_t at = show(chunk, 0);
    rig.fake->run();
    cuda_rig_words(at)[3] = 9;
    uint64_t id = id_of(chunk);
    die_to(&stepping);
    cr_assert_eq(adopt(id, &chunk), 0);
    rig.ops->recovery->memory_settle(rig.dev);
    cr_expect_eq(cuda_rig_words(show(chunk, 0))[3], 9);
    cr_expect_eq(cuda_rig_words(base())[4], 0);
    hide(chunk, 0);
}

/* A later process's clears are not mistaken for those that completed before. */
Test(cuda_clears, clears_of_two_processes_are_told_apart) {
    struct dev_chunk *chunk;
    open_with(&stepping);
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &chunk), 0);
    uint64_t at = show(chunk, 0), id = id_of(chunk);
    rig.fake->run();
    memset(cuda_rig_words(at), 5, RIG_GRANULE);
    die_to(&stepping);
    rig.ops->recovery->memory_settle(rig.dev);
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &chunk), 0);
    cr_assert_eq(id_of(chunk), id);
    show(chunk, 0);
    die_to(&stepping);
    cr_assert_eq(adopt(id, &chunk), 0);
    rig.ops->recovery->memory_settle(rig.dev);
    cr_expect(is_all(show(chunk, 0), 0));
    hide(chunk, 0);
}

/* A chunk that was loaded or cleared synchronously belongs to its owner from then on. */
Test(cuda_lasting, what_was_filled_at_once_is_its_own) {
    static uint8_t host[RIG_GRANULE];
    struct dev_chunk *a, *b, *c;
    memset(host, 0x3d, sizeof(host));
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &a), 0);
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &b), 0);
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &c), 0);
    cr_assert_eq(rig.ops->chunk_load(rig.dev, a, host), 0);
    cr_assert_eq(rig.ops->chunk_copy(rig.dev, b, a), 0);
    cr_assert_eq(rig.ops->chunk_clear(rig.dev, &c, 1), 0);
    cuda_rig_words(show(c, 0))[0] = 6;
    uint64_t ids[] = {id_of(a), id_of(b), id_of(c)};
    die();
    cr_assert_eq(adopt(ids[0], &a), 0);
    cr_assert_eq(adopt(ids[1], &b), 0);
    cr_assert_eq(adopt(ids[2], &c), 0);
    rig.ops->recovery->memory_settle(rig.dev);
    cr_expect(is_all(show(a, 0), 0x3d));
    cr_expect(is_all(show(b, 1), 0x3d));
    cr_expect_eq(cuda_rig_words(show(c, 2))[0], 6);
    hide(a, 0);
    hide(b, 1);
    hide(c, 2);
}

/* ---- memory that is not kept ----------------------------------------------------------------- */

Test(cuda_lasting, what_nobody_keeps_says_so) {
    struct dev_chunk *chunk, *other;
    rig.keep_result = -EMFILE;
    cr_assert_eq(cuda_rig_map(&rig, &space, 0, 1, &chunk), 0);
    rig.keep_result = 0;
    cr_assert_eq(cuda_rig_map(&rig, &space, 1, 1, &other), 0);
    cr_expect_eq(id_of(chunk), DEV_NOT_KEPT);
    uint64_t id = id_of(other);
    cuda_rig_words(base() + RIG_GRANULE)[0] = 8;
    die();
    cr_expect_eq(adopt(DEV_NOT_KEPT, &chunk), -EINVAL);
    cr_expect_eq(adopt(id ? 0 : 1, &chunk), -EINVAL);
    cr_assert_eq(adopt(id, &other), 0);
    rig.ops->recovery->memory_settle(rig.dev);
    cr_expect_eq(cuda_rig_words(show(other, 0))[0], 8);
    hide(other, 0);
}

/* A descriptor that the driver cannot import costs its own chunk only. */
Test(cuda_lasting, what_cannot_be_taken_is_made_anew) {
    struct dev_chunk *chunks[2], *again;
    cr_assert_eq(cuda_rig_map(&rig, &space, 0, 2, chunks), 0);
    cuda_rig_words(base())[0] = cuda_rig_words(base() + RIG_GRANULE)[0] = 4;
    uint64_t ids[] = {id_of(chunks[0]), id_of(chunks[1])};
    for (uint32_t i = 0; i < rig.kept_count; i++) {
        if (rig.kept[i].id != ids[0]) continue;
        int empty = memfd_create("empty", MFD_CLOEXEC);
        dup3(empty, rig.kept[i].fd, O_CLOEXEC);
        close(empty);
    }
    die();
    cr_expect_lt(adopt(ids[0], &again), 0);
    cr_assert_eq(adopt(ids[1], &again), 0);
    rig.ops->recovery->memory_settle(rig.dev);
    cr_assert_eq(cuda_rig_map(&rig, &space, 0, 1, chunks), 0);
    cr_expect_eq(id_of(chunks[0]), ids[0], "its number is somebody's again");
    cr_expect_eq(cuda_rig_words(show(again, 1))[0], 4);
    cr_expect_eq(rig.kept_count, 2);
    hide(chunks[0], 0);
    hide(again, 1);
    die();
    cr_assert_eq(adopt(ids[0], &again), 0, "the descriptor is the new one's");
    rig.ops->chunk_destroy(rig.dev, again);
}

static int open_on(int fd, uint64_t memory_bytes, const struct dev_kept *kept, uint32_t count) {
    struct dev *dev;
    struct dev_config config = {.driver = rig.path,
                                .memory_bytes = memory_bytes,
                                .memory_fd = fd,
                                .kept = kept,
                                .kept_count = count};
    int err = rig.ops->open(&dev, &config);
    if (!err) rig.ops->close(dev);
    return err;
}

Test(cuda_lasting, memory_of_another_device_is_refused) {
    const uint64_t all = RIG_CHUNKS * RIG_GRANULE;
    int fd = fcntl(rig.ops->recovery->memory_fd(rig.dev), F_DUPFD_CLOEXEC, 0);
    int other = fdutil_memfd("other", 16 * all, 0), grows = memfd_create("grows", MFD_CLOEXEC);
    struct dev_kept beyond = {RIG_CHUNKS, other}, twice[] = {{1, other}, {1, other}};
    cr_expect_eq(open_on(fd, all, NULL, 0), 0);
    cr_expect_eq(open_on(fd, 0, NULL, 0), 0);
    cr_expect_eq(open_on(fd, all / 2, NULL, 0), -EINVAL);
    cr_expect_eq(open_on(fd, all, &beyond, 1), -EINVAL);
    cr_expect_eq(open_on(fd, all, twice, 2), -EINVAL);
    cr_expect_eq(open_on(other, all, NULL, 0), -EINVAL, "nothing is in it");
    cr_expect_eq(open_on(grows, all, NULL, 0), -EINVAL, "it could shrink");
    uint64_t head[64];
    cr_assert_eq(pread(fd, head, sizeof(head), 0), (ssize_t)sizeof(head));
    static const uint32_t wrong[] = {0, 1, 2, 4}; /* magic, granule, memory_bytes, uuid */
    for (uint32_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        uint64_t bad = head[wrong[i]] * 2;
        cr_assert_eq(pwrite(fd, &bad, 8, wrong[i] * 8), 8);
        cr_expect_eq(open_on(fd, 0, NULL, 0), -EINVAL, "word %u", wrong[i]);
        cr_assert_eq(pwrite(fd, &head[wrong[i]], 8, wrong[i] * 8), 8);
    }
    cr_expect_eq(open_on(fd, all, NULL, 0), 0);
    close(fd);
    close(other);
    close(grows);
}

/* A GPU whose whole memory is kept for the next worker. */
Test(cuda_lasting, a_full_gpu_is_opened_on_what_it_was) {
    struct dev_chunk *chunk;
    cr_assert_eq(cuda_rig_map(&rig, &space, 0, 1, &chunk), 0);
    uint64_t id = id_of(chunk);
    die_to(&(struct fake_options){.free_bytes = RIG_GRANULE});
    cr_expect_eq(rig.info.memory_bytes, RIG_CHUNKS * RIG_GRANULE);
    cr_assert_eq(adopt(id, &chunk), 0);
    rig.ops->chunk_destroy(rig.dev, chunk);
}

/* ---- spares ---------------------------------------------------------------------------------- */

static uint64_t file_bytes(void) {
    struct stat st;
    cr_assert_eq(fstat(rig.ops->recovery->memory_fd(rig.dev), &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

Test(cuda_lasting, spares_are_kept) {
    struct dev_chunk *chunk;
    void *host, *other;
    cr_assert_eq(cuda_rig_map(&rig, &space, 0, 1, &chunk), 0);
    uint64_t empty = file_bytes();
    memset(cuda_rig_words(base()), 0x66, RIG_GRANULE);
    host = rig.ops->spares->spare_make(rig.dev);
    other = rig.ops->spares->spare_make(rig.dev);
    cr_assert(host && other && host != other);
    cr_assert_eq(rig.ops->chunk_save(rig.dev, host, chunk), 0);
    memset(other, 1, RIG_GRANULE);
    uint64_t id = rig.ops->spares->spare_id(rig.dev, host),
             left = rig.ops->spares->spare_id(rig.dev, other);
    cr_expect_geq(id, RIG_CHUNKS, "chunks have the others");
    cr_expect_neq(id, left);
    die();
    cr_expect_null(rig.ops->spares->spare_make(rig.dev));
    cr_expect_eq(rig.ops->spares->spare_adopt(rig.dev, 0, &host), -EINVAL);
    cr_expect_eq(rig.ops->spares->spare_adopt(rig.dev, RIG_CHUNKS * 16, &host), -EINVAL);
    cr_assert_eq(rig.ops->spares->spare_adopt(rig.dev, id, &host), 0);
    cr_expect_eq(rig.ops->spares->spare_id(rig.dev, host), id);
    cr_expect_eq(rig.ops->spares->spare_adopt(rig.dev, id, &other), -EEXIST);
    rig.ops->recovery->memory_settle(rig.dev);
    cr_expect_eq(file_bytes(), empty + RIG_GRANULE, "the other one is nobody's");
    cr_expect_eq(rig.ops->spares->spare_adopt(rig.dev, left, &other), -ENOENT);
    cr_assert_eq(rig.ops->chunk_create(rig.dev, &chunk), 0);
    cr_assert_eq(rig.ops->chunk_load(rig.dev, chunk, host), 0);
    cr_expect(is_all(show(chunk, 0), 0x66));
    hide(chunk, 0);
    rig.ops->spares->spare_free(rig.dev, host);
    rig.ops->spares->spare_free(rig.dev, NULL);
    cr_expect_eq(file_bytes(), empty);
}

Test(cuda_lasting, spares_come_to_an_end) {
    uint32_t count = 0;
    void *last = NULL;
    for (void *host; (host = rig.ops->spares->spare_make(rig.dev)); count++) {
        cr_assert_eq(*(uint64_t *)host, 0);
        last = host;
    }
    cr_expect_eq(count, RIG_CHUNKS * 15);
    *(uint64_t *)last = 1;
    rig.ops->spares->spare_free(rig.dev, last);
    cr_assert_eq(rig.ops->spares->spare_make(rig.dev), last);
    cr_expect_eq(*(uint64_t *)last, 0);
}
