/* SPDX-License-Identifier: Apache-2.0
 *
 * A task references the ranges that its operation may touch, so that the client can change its
 * memory meanwhile.
 */
#include "daemon/device/soft/dev/task.h"

#include "daemon/device/soft/launch/launch_memory.h"

struct task *task_create(struct dev_queue *q, enum task_kind kind, struct dev_op *op,
                         struct ranges *ranges, size_t room_bytes) {
    struct task *t = launch_memory_zeros(q->memory, sizeof(*t) + room_bytes);
    if (!t) return NULL;
    t->queue = q;
    t->room_bytes = room_bytes;
    t->kind = kind;
    t->op = op;
    t->ranges = ranges_ref(ranges);
    list_init(&t->queue_link);
    list_init(&t->ready_link);
    op->result = 0;
    op->start_ns = op->end_ns = op->busy_ns = 0;
    op->thread_insts = op->memory_bytes = 0;
    op->fault_addr = 0;
    op->fault_text[0] = 0;
    return t;
}

void task_free(struct task *t) {
    family_finish(&t->family);
    ranges_unref(t->ranges);
    launch_memory_give(t->queue->memory, t, sizeof(*t) + t->room_bytes);
}
