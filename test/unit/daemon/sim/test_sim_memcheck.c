/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules by which the simulator checks the scheduler, each broken once.
 */
#include <criterion/criterion.h>

#include "daemon/sim/run/memcheck.h"
#include "daemon/sim/run/sim.h"

#define GIB (1ull << 30)

static struct workload_job jobs[] = {
    {.persistent_bytes = GIB, .ephemeral_bytes = 4 * GIB},
    {.persistent_bytes = GIB, .ephemeral_bytes = 2 * GIB},
    {.persistent_bytes = 1, .ephemeral_bytes = 1, .unknown = true},
    {.persistent_bytes = 1, .ephemeral_bytes = 1, .user = 7},
};
static struct workload world = {.jobs = jobs, .count = 4, .memory_bytes = 8 * GIB};

static struct memcheck m;

static void begin(void) {
    cr_assert_eq(memcheck_init(&m, &world, SIM_CHUNK_BYTES), 0);
}

static void end(void) {
    memcheck_finish(&m);
}

TestSuite(sim_memcheck, .init = begin, .fini = end);

Test(sim_memcheck, lanes_and_persistent_memory_must_fit) {
    memcheck_lane(&m, 0, 4 * GIB);
    cr_expect_null(memcheck_all(&m), "a lane without jobs is no memory");
    memcheck_admitted(&m, 0, 0, 0);
    memcheck_lane(&m, 1, 2 * GIB);
    memcheck_admitted(&m, 1, 1, 5);
    cr_expect_null(memcheck_all(&m));
    memcheck_lane(&m, 1, 2 * GIB + 1);
    cr_expect_str_eq(memcheck_all(&m), "persistent memory and lanes exceed the device");
    memcheck_swapped(&m, 0, true);
    cr_expect_null(memcheck_all(&m));
    memcheck_swapped(&m, 0, false);
    cr_expect_not_null(memcheck_all(&m));
    memcheck_left(&m, 1, 10);
    cr_expect_null(memcheck_all(&m));
    cr_expect_eq(m.lanes_ns, 5 + 2 * 5);
}

Test(sim_memcheck, persistent_memory_counts_in_whole_chunks) {
    memcheck_admitted(&m, 2, 0, 0);
    cr_expect_eq(m.persistent_bytes, 0, "not known yet");
    memcheck_granted(&m, 2);
    cr_expect_eq(m.persistent_bytes, SIM_CHUNK_BYTES);
    memcheck_left(&m, 2, 0);
    cr_expect_eq(m.persistent_bytes, 0);
}

Test(sim_memcheck, one_iteration_at_a_time_in_a_lane) {
    memcheck_lane(&m, 0, 4 * GIB);
    memcheck_admitted(&m, 0, 0, 0);
    memcheck_admitted(&m, 1, 0, 0);
    cr_expect_null(memcheck_started(&m, 0, 0));
    memcheck_stopped(&m, 0);
    cr_expect_null(memcheck_started(&m, 1, 0));
    cr_expect_str_eq(memcheck_started(&m, 0, 0), "two iterations run at a time in one lane");
}

Test(sim_memcheck, a_lane_has_jobs_of_one_user) {
    memcheck_lane(&m, 0, 4 * GIB);
    memcheck_admitted(&m, 0, 0, 0);
    memcheck_admitted(&m, 3, 0, 0);
    cr_expect_str_eq(memcheck_started(&m, 0, 0), "its lane has jobs of two users");
    memcheck_stopped(&m, 0);
    memcheck_left(&m, 0, 0);
    memcheck_left(&m, 3, 0);
    memcheck_admitted(&m, 3, 0, 0);
    cr_expect_null(memcheck_started(&m, 3, 0), "one after the other is another lane");
    memcheck_stopped(&m, 0);
    world.share_users = true;
    memcheck_admitted(&m, 1, 0, 0);
    cr_expect_null(memcheck_started(&m, 1, 0));
    world.share_users = false;
}

Test(sim_memcheck, an_iteration_fits_its_lane) {
    memcheck_lane(&m, 0, 2 * GIB);
    memcheck_admitted(&m, 0, 0, 0);
    memcheck_admitted(&m, 1, 0, 0);
    cr_expect_null(memcheck_started(&m, 1, 0));
    memcheck_stopped(&m, 0);
    cr_expect_str_eq(memcheck_started(&m, 0, 0), "its lane is smaller than its ephemeral memory");
}

Test(sim_memcheck, a_moved_job_takes_its_lane_along_only_when_it_was_the_last) {
    memcheck_lane(&m, 0, 4 * GIB);
    memcheck_admitted(&m, 0, 0, 0);
    memcheck_admitted(&m, 1, 0, 0);
    memcheck_lane(&m, 1, 2 * GIB);
    memcheck_moved(&m, 1, 1, 0);
    cr_expect_eq(m.open, 2);
    cr_expect_eq(m.lanes_bytes, 6 * GIB);
    memcheck_moved(&m, 0, 1, 0);
    cr_expect_eq(m.open, 1);
    cr_expect_eq(m.lanes_bytes, 2 * GIB);
}
