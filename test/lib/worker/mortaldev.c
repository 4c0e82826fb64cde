/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps kernels in a list. When the device is lost, it reports them as dev_cuda does.
 */
#include "test/lib/worker/mortaldev.h"

#include <string.h>

#include "common/err.h"
#include "daemon/worker/stream/op.h"
#include "daemon/worker/stream/stream.h"
#include "test/lib/worker/nodriver.h"

#define KERNELS 64

struct dev_ops mortaldev;

static struct kernel_way {
    struct dev_op *op;
    struct dev_queue *queue;
} ways[KERNELS];
static uint32_t count;
static struct dev_op *done, **done_last;
static int lost_by, doom;

uint32_t mortaldev_count(void) {
    return count;
}

struct dev_op *mortaldev_at(uint32_t i) {
    return ways[i].op;
}

static void say_done(struct dev_op *op, int result) {
    op->result = result;
    op->next = NULL;
    *done_last = op;
    done_last = &op->next;
}

static void take_out(uint32_t i, int result) {
    say_done(ways[i].op, result);
    count--;
    memmove(&ways[i], &ways[i + 1], (count - i) * sizeof(ways[0]));
}

void mortaldev_finish(uint32_t i) {
    take_out(i, 0);
}

static bool is_head(uint32_t i) {
    for (uint32_t k = 0; k < i; k++)
        if (ways[k].queue == ways[i].queue) return false;
    return true;
}

static const struct stream_set *owner_of(uint32_t i) {
    return op_of(ways[i].op)->stream->set;
}

void mortaldev_end(int err) {
    uint32_t suspects = 0;
    const struct stream_set *owner = NULL;
    bool one = true;
    for (uint32_t i = 0; i < count; i++) {
        ways[i].op->begun = is_head(i);
        if (!is_head(i)) continue;
        one &= !suspects++ || owner_of(i) == owner;
        owner = owner_of(i);
    }
    for (uint32_t i = 0; i < count; i++)
        if (ways[i].op->begun) ways[i].op->suspects = (uint16_t)suspects;
    while (count) {
        bool blamed = one && ways[count - 1].op->begun;
        take_out(count - 1, blamed ? err : ERR_DEVICE_LOST);
    }
    lost_by = err;
}

void mortaldev_doom(int err) {
    doom = err;
}

static int finds_out(void) {
    if (doom && !lost_by) mortaldev_end(doom);
    return lost_by ? ERR_DEVICE_LOST : 0;
}

static int lost(struct dev *dev) {
    return lost_by;
}

static struct dev_op *poll_done(struct dev *dev) {
    struct dev_op *soft = dev_soft.poll(dev), *mine = done;
    *done_last = soft;
    mine = done;
    done = NULL;
    done_last = &done;
    return mine;
}

static int arm(struct dev *dev) {
    return done || lost_by ? 1 : dev_soft.arm(dev);
}

static int launch(struct dev_queue *queue, const struct dev_launch *l, struct dev_op *op) {
    if (finds_out() || count == KERNELS) return ERR_DEVICE_LOST;
    ways[count++] = (struct kernel_way){op, queue};
    return 0;
}

static int chunk_create(struct dev *dev, struct dev_chunk **out) {
    int err = finds_out();
    return err ? err : dev_soft.chunk_create(dev, out);
}

static int chunk_unmap(struct dev_space *space, uint64_t addr, uint32_t chunks) {
    int err = finds_out();
    return err ? err : dev_soft.chunk_unmap(space, addr, chunks);
}

static const struct dev_driver_ops driver_ops = {.lost = lost,
                                                 .space_owns = nodriver_owns,
                                                 .host_show = nodriver_show,
                                                 .host_shown = nodriver_shown,
                                                 .queue_time = nodriver_time};

void mortaldev_reset(void) {
    mortaldev = dev_soft;
    mortaldev.driver = &driver_ops;
    mortaldev.poll = poll_done;
    mortaldev.arm = arm;
    mortaldev.launch = launch;
    mortaldev.chunk_create = chunk_create;
    mortaldev.chunk_unmap = chunk_unmap;
    count = 0;
    lost_by = doom = 0;
    done = NULL;
    done_last = &done;
}
