/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers are small and reused, so a table is enough.
 */
#include "daemon/worker/residency/lane_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/memory/memory_clear.h"
#include "daemon/worker/memory/memory_lane.h"

#define LANE_TABLE_FIRST 16u

static int reach_lane(struct lane_table *lanes, uint32_t lane) {
    uint32_t count = lanes->count ? lanes->count : LANE_TABLE_FIRST;
    if (lane < lanes->count) return 0;
    while (count <= lane)
        count *= 2;
    struct lane *items = realloc(lanes->items, count * sizeof(*items));
    if (!items) return -ENOMEM;
    memset(items + lanes->count, 0, (count - lanes->count) * sizeof(*items));
    lanes->items = items;
    lanes->count = count;
    return 0;
}

int lane_table_open(struct lane_table *lanes, uint32_t lane, const struct dev_ops *ops,
                    struct dev *dev) {
    int err = reach_lane(lanes, lane);
    if (err || lanes->items[lane].chunks) return err;
    return memory_lane_create(&lanes->items[lane].chunks, ops, dev);
}

static void drop_lane(struct lane_table *lanes, uint32_t lane) {
    struct lane *l = &lanes->items[lane];
    if (l->clients) return;
    memory_lane_destroy(l->chunks);
    *l = (struct lane){0};
}

void lane_table_enter(struct lane_table *lanes, uint32_t lane) {
    lanes->items[lane].clients++;
}

void lane_table_leave(struct lane_table *lanes, uint32_t lane) {
    lanes->items[lane].clients--;
    drop_lane(lanes, lane);
}

void lane_table_finish(struct lane_table *lanes) {
    for (uint32_t i = 0; i < lanes->count; i++)
        drop_lane(lanes, i);
    free(lanes->items);
}

static const struct memory_lane *chunks_of(const struct lane_table *lanes, uint32_t lane) {
    return lane < lanes->count ? lanes->items[lane].chunks : NULL;
}

uint64_t lane_table_bytes(const struct lane_table *lanes, uint32_t lane) {
    const struct memory_lane *chunks = chunks_of(lanes, lane);
    return chunks ? memory_lane_bytes(chunks) : 0;
}

uint64_t lane_table_cleared(const struct lane_table *lanes, uint32_t lane) {
    const struct memory_lane *chunks = chunks_of(lanes, lane);
    return chunks ? memory_lane_cleared(chunks) : 0;
}
