/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of other tools, Orion's and Nsight Compute's: as those tools write them, and damaged.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "daemon/kernels/kernel_import.h"
#include "daemon/kernels/kernel_text.h"

static struct kernel_set s;
static struct kernel_import_report report;

static void setup(void) {
    kernel_set_init(&s, 1);
}

static void teardown(void) {
    kernel_set_finish(&s);
}

TestSuite(kernel_import, .init = setup, .fini = teardown);

#define IMPORT(text) kernel_import_table(&s, text, sizeof(text) - 1, &report)

static const struct kernel_profile_hint *hint_for(const char *name, uint32_t grid, uint32_t block) {
    return kernel_profile_hint_find(s.hints, s.hint_count, name, (uint32_t[]){grid, 1, 1},
                                    (uint32_t[]){block, 1, 1});
}

static void expect(const char *name, uint32_t grid, uint32_t block, enum kernel_profile_class class,
                   uint32_t compute, uint32_t memory, uint32_t sms, uint64_t ns) {
    const struct kernel_profile_hint *h = hint_for(name, grid, block);

    cr_assert_not_null(h, "%s", name);
    cr_assert_eq(h->class, class, "%s: class %u", name, h->class);
    cr_assert_eq(h->compute_milli, compute, "%s: compute %u", name, h->compute_milli);
    cr_assert_eq(h->memory_milli, memory, "%s: memory %u", name, h->memory_milli);
    cr_assert_eq(h->sms, sms, "%s: %u SMs", name, h->sms);
    cr_assert_eq(h->duration_ns, ns, "%s: %lu ns", name, h->duration_ns);
}

#define REFUSED(text, reason)                                   \
    do {                                                        \
        cr_assert_eq(IMPORT(text), -EINVAL);                    \
        cr_assert_str_eq(report.why, reason, "%s", report.why); \
        cr_assert_eq(s.hint_count, 0);                          \
    } while (0)

/* ---- Orion ----------------------------------------------------------------------------------- */

#define ORION "Name,Profile,Memory_footprint,SM_usage,Duration\n"

Test(kernel_import, orion_rows_of_a_name_become_one) {
    cr_assert_eq(IMPORT(ORION "Conv,1,0,98,100480\n"
                              "void at::native::vec,-1,0,1,3000\n"
                              "void at::native::vec,0,0,4,5000\n"
                              "void at::native::vec,0,0,4,5001\n"
                              "void at::native::(anonymous namespace)::mp,0,0,392,34464\n"),
                 0, "%s", report.why);
    cr_assert_str_eq(report.format, "Orion's table");
    cr_assert_eq(report.rows, 5);
    cr_assert_eq(report.hints, 3);
    expect("Conv", 1, 1, KERNEL_PROFILE_COMPUTE, 0, 0, 98, 100480);
    expect("at::native::vec", 7, 8, KERNEL_PROFILE_MEMORY, 0, 0, 3, 4334);
    expect("at::native::(anonymous namespace)::mp", 1, 1, KERNEL_PROFILE_MEMORY, 0, 0, 392, 34464);
}

Test(kernel_import, orion_a_tie_is_unknown) {
    cr_assert_eq(IMPORT(ORION "a,1,0,1,10\na,0,0,1,10\nb,1,0,1,10\nb,1,0,1,10\nb,0,0,1,10\n"
                              "c,-1,0,1,10\nc,0,0,1,10\n"),
                 0);
    expect("a", 1, 1, KERNEL_PROFILE_UNKNOWN, 0, 0, 1, 10);
    expect("b", 1, 1, KERNEL_PROFILE_COMPUTE, 0, 0, 1, 10);
    expect("c", 1, 1, KERNEL_PROFILE_UNKNOWN, 0, 0, 1, 10);
}

Test(kernel_import, orion_names_may_have_commas) {
    cr_assert_eq(IMPORT(ORION "void f<int, 4>(a, b),1,0,7,1000\nvoid f<int, 8>(a, b),1,0,7,3000\n"
                              "\"void g<int, 4>\",0,0,7,1000.5\n"),
                 0, "%s", report.why);
    expect("f", 1, 1, KERNEL_PROFILE_COMPUTE, 0, 0, 7, 2000);
    expect("g", 1, 1, KERNEL_PROFILE_MEMORY, 0, 0, 7, 1001);
}

Test(kernel_import, orion_what_is_wrong) {
    REFUSED(ORION "a,1,0,1\n", "line 2: the line has 4 columns instead of 5");
    REFUSED(ORION "a,1,0,1,10\nb,2,0,1,10\n", "line 3: Profile is \"2\", not 1, 0 or -1");
    REFUSED(ORION "a,1,0,-1,10\n", "line 2: SM_usage \"-1\" is not a number of SMs");
    REFUSED(ORION "a,1,0,16777217,10\n", "line 2: SM_usage \"16777217\" is not a number of SMs");
    REFUSED(ORION "a,1,0,1,ten\n", "line 2: Duration \"ten\" is not a time in nanoseconds");
    REFUSED(ORION "a,1,0,1,\n", "line 2: Duration \"\" is not a time in nanoseconds");
    REFUSED(ORION "a,1,0,1,3600000000001\n",
            "line 2: Duration \"3600000000001\" is not a time in nanoseconds");
    REFUSED(ORION "\"a,1,0,1,10\n", "line 2: a quotation mark is not closed");
    REFUSED(ORION, "line 2: the table has no row with usable values");
}

/* ---- Nsight Compute -------------------------------------------------------------------------- */

static struct buf page;

#define DETAILS                                                                                  \
    "\"ID\",\"Process ID\",\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\",\"Grid Size\"," \
    "\"Device\",\"CC\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\","       \
    "\"Rule Name\",\"Rule Type\",\"Rule Description\"\n"
#define RAW                                                                 \
    "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\","                  \
    "\"gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed\"," \
    "\"gpu__time_duration.sum\",\"launch__registers_per_thread\","          \
    "\"sm__throughput.avg.pct_of_peak_sustained_elapsed\"\n"
#define UNITS "\"\",\"\",\"\",\"\",\"%\",\"us\",\"register/thread\",\"%\"\n"

static void begin(const char *header) {
    buf_finish(&page);
    buf_printf(&page, "%s", header);
}

/* The kernel and launch that the rows of metrics describe. */
static const char *kernel, *block, *grid;

static void launch(const char *name, const char *blocks, const char *grids) {
    kernel = name;
    block = blocks;
    grid = grids;
}

static void row(const char *metric, const char *unit, const char *value) {
    buf_printf(&page,
               "\"0\",\"4711\",\"%s\",\"1\",\"7\",\"%s\",\"%s\",\"0\",\"8.9\",\"Section\","
               "\"%s\",\"%s\",\"%s\",\"\",\"\",\"\"\n",
               kernel, block, grid, metric, unit, value);
}

static int import_page(void) {
    int err = kernel_import_table(&s, buf_str(&page), page.len, &report);

    buf_finish(&page);
    return err;
}

Test(kernel_import, ncu_details) {
    begin("==PROF== Connected to process 4711 (/usr/bin/python3)\n"
          "a word of the program, \"in quotes\n" DETAILS);
    launch("void at::native::vec<(int)4, at::Fill<float>>(int, T2)", "(128, 1, 1)", "(96, 1, 1)");
    row("Duration", "us", "12.50");
    row("Memory Throughput", "%", "87.54");
    row("Compute (SM) Throughput", "%", "37.35");
    row("Memory Throughput", "Gbyte/s", "1,287.5");
    row("Registers Per Thread", "register/thread", "16");
    row("", "", "\"\"Memory is\nmore utilized\"\"");
    launch("gemm", "(384,1,1)", "(9,32,1)");
    row("Duration", "nsecond", "853,984");
    row("Memory Throughput", "%", "n/a");
    row("Compute (SM) Throughput", "%", "104.2");
    buf_printf(&page, "==PROF== Disconnected from process 4711\n");
    cr_assert_eq(import_page(), 0, "%s", report.why);
    cr_assert_str_eq(report.format, "Nsight Compute's details page");
    cr_assert_eq(report.rows, 9);
    cr_assert_eq(report.hints, 4);
    expect("at::native::vec", 96, 128, KERNEL_PROFILE_MEMORY, 374, 875, 0, 12500);
    expect("at::native::vec", 97, 128, KERNEL_PROFILE_MEMORY, 374, 875, 0, 0);
    cr_assert_eq(hint_for("gemm", 1, 1)->grid[0], 0);
    expect("gemm", 1, 1, KERNEL_PROFILE_COMPUTE, 1000, 0, 0, 0);
}

Test(kernel_import, ncu_launches_of_a_shape_become_one) {
    begin(DETAILS);
    launch("k(int)", "(32, 1, 1)", "(1, 1, 1)");
    row("Duration", "us", "10");
    row("Compute (SM) Throughput", "%", "50");
    row("Duration", "ms", "0.03");
    row("Compute (SM) Throughput", "%", "60");
    launch("k(int)", "(32, 1, 1)", "(9, 1, 1)");
    row("Compute (SM) Throughput", "%", "91");
    cr_assert_eq(import_page(), 0, "%s", report.why);
    expect("k", 1, 32, KERNEL_PROFILE_UNKNOWN, 550, 0, 0, 20000);
    expect("k", 9, 32, KERNEL_PROFILE_COMPUTE, 910, 0, 0, 0);
    expect("k", 5, 32, KERNEL_PROFILE_COMPUTE, 670, 0, 0, 0);
}

/* Before 2022: no columns for shapes, other column names. */
Test(kernel_import, ncu_details_of_old) {
    begin("\"ID\",\"Kernel Name\",\"Kernel Time\",\"Metric Name\",\"Metric Unit\",\"Metric "
          "Value\"\n"
          "\"0\",\"k\",\"t\",\"Duration\",\"usecond\",\"14,887.28\"\n"
          "\"0\",\"k\",\"t\",\"Memory [%]\",\"%\",\"70\"\n"
          "\"0\",\"k\",\"t\",\"Compute (SM) [%]\",\"%\",\"20\"\n");
    cr_assert_eq(import_page(), 0, "%s", report.why);
    cr_assert_eq(report.hints, 1);
    expect("k", 1, 32, KERNEL_PROFILE_MEMORY, 200, 700, 0, 14887280);
}

Test(kernel_import, ncu_raw) {
    begin("\xef\xbb\xbf" RAW UNITS);
    buf_printf(&page, "\"0\",\"saxpy(int, float *)\",\"(256, 1, 1)\",\"(4096, 1, 1)\",\"91.2\","
                      "\"12.5\",\"32\",\"8.04\"\n");
    buf_printf(&page,
               "\"1\",\"_ZN1a1kEv\",\"(64, 2, 1)\",\"(7, 1, 1)\",\"\",\"3\",\"16\",\"70\"\n");
    cr_assert_eq(import_page(), 0, "%s", report.why);
    cr_assert_str_eq(report.format, "Nsight Compute's raw page");
    cr_assert_eq(report.rows, 2);
    expect("saxpy", 4096, 256, KERNEL_PROFILE_MEMORY, 80, 912, 0, 12500);
    expect("a::k", 1, 1, KERNEL_PROFILE_COMPUTE, 700, 0, 0, 0);
    const struct kernel_profile_hint *h = kernel_profile_hint_find(
        s.hints, s.hint_count, "a::k", (uint32_t[]){7, 1, 1}, (uint32_t[]){64, 2, 1});
    cr_assert_eq(h->duration_ns, 3000);
}

Test(kernel_import, ncu_headers_that_are_wrong) {
    REFUSED("\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Average\"\n",
            "line 1: the header lacks \"Metric Unit\" or \"Metric Value\"");
    REFUSED("==PROF==\n\"ID\",\"Kernel Name\",\"Registers\"\n",
            "line 2: the header has neither \"Metric Name\" nor a used metric, such as "
            "gpu__time_duration.sum");
    REFUSED(RAW, "line 2: the line of units below the header is missing");
    REFUSED(RAW "\"0\",\"k\",\"1\",\"1\",\"1\",\"1\",\"1\",\"1\"\n",
            "line 2: the line of units below the header is missing");
    REFUSED(RAW UNITS "\"0\",\"k\",\"1\",\"1\",\"1\"\n",
            "line 3: the line has 5 columns, the header has 8");
    REFUSED(DETAILS "Killed\n",
            "line 2: the line has 1 columns, too few for \"Metric Value\" in column 13");
}

static void refuse_page(const char *why) {
    cr_assert_eq(import_page(), -EINVAL);
    cr_assert_str_eq(report.why, why, "%s", report.why);
    cr_assert_eq(s.hint_count, 0);
}

static void refuse_value(const char *unit, const char *value, const char *why) {
    begin(DETAILS);
    launch("k", "(1, 1, 1)", "(1, 1, 1)");
    row("Duration", "us", "1");
    row("Duration", unit, value);
    refuse_page(why);
}

static void refuse_launch(const char *name, const char *blocks, const char *grids,
                          const char *why) {
    begin(DETAILS);
    launch(name, blocks, grids);
    row("Duration", "us", "1");
    refuse_page(why);
}

Test(kernel_import, ncu_rows_that_are_wrong) {
    refuse_value("cycle", "1",
                 "line 3: the duration's unit is \"cycle\" instead of ns, us, ms or s");
    refuse_value("us", "1e3", "line 3: \"1e3\" is not a number");
    refuse_value("us", "-1", "line 3: \"-1\" is not a number");
    refuse_value("us", ",", "line 3: \",\" is not a number");
    refuse_value("s", "3,601", "line 3: the duration exceeds one hour");
    refuse_launch("", "(1, 1, 1)", "(1, 1, 1)", "line 2: the kernel's name is missing");
    refuse_launch("k", "(1, 1, 1)", "(0, 1, 1)",
                  "line 2: Grid Size \"(0, 1, 1)\" is not a shape such as (128, 1, 1)");
    refuse_launch("k", "(1, 1, 1, 1)", "(1, 1, 1)",
                  "line 2: Block Size \"(1, 1, 1, 1)\" is not a shape such as (128, 1, 1)");
    refuse_launch("k", "(1, 1, 1)x", "(1, 1, 1)",
                  "line 2: Block Size \"(1, 1, 1)x\" is not a shape such as (128, 1, 1)");
    refuse_launch("k", "(4294967296, 1, 1)", "(1, 1, 1)",
                  "line 2: Block Size \"(4294967296, 1, 1)\" is not a shape such as (128, 1, 1)");
    begin(DETAILS);
    launch("k", "(1, 1, 1)", "(1, 1, 1)");
    row("Duration", "us", "n/a");
    refuse_page("line 3: the table has no row with usable values");
}

Test(kernel_import, what_was_imported_can_be_sent_as_text) {
    struct kernel_set again;
    struct buf b;
    char why[KERNEL_PROFILE_WHY_BYTES];

    buf_init(&b);
    kernel_set_init(&again, 2);
    cr_assert_eq(IMPORT(ORION "Conv,1,0,98,100480\n"), 0);
    kernel_text_print(&s, &b);
    cr_assert_eq(kernel_text_parse(&again, buf_str(&b), b.len, why), 0, "%s", why);
    cr_assert_eq(again.device.sms, 0, "of no device in particular");
    cr_assert_eq(again.hint_count, 1);
    kernel_set_finish(&again);
    buf_finish(&b);
}

/* ---- any table ------------------------------------------------------------------------------- */

#define NONE                                                                                       \
    "no line is a known header: 'Name,Profile,Memory_footprint,SM_usage,Duration', or one of ncu " \
    "--csv with \"Kernel Name\""

Test(kernel_import, a_table_of_nobody) {
    REFUSED("", NONE);
    REFUSED("\n\n", NONE);
    REFUSED("Name,Profile,Memory_footprint,SM_usage\na,1,0,1\n", NONE);
    REFUSED("Name,Profile,Memory_footprint,SM_usage,Duration,Block\na,1,0,1,1,1\n", NONE);
    REFUSED("time,\"kernel\nname\"\n1,2\n", NONE);
}

Test(kernel_import, later_tables_replace_what_earlier_ones_said) {
    cr_assert_eq(IMPORT(ORION "a,1,0,1,10\nb,1,0,1,10\n"), 0);
    cr_assert_eq(IMPORT(ORION "b,0,0,2,20\nc,0,0,2,20\n"), 0);
    cr_assert_eq(s.hint_count, 3);
    expect("a", 1, 1, KERNEL_PROFILE_COMPUTE, 0, 0, 1, 10);
    expect("b", 1, 1, KERNEL_PROFILE_MEMORY, 0, 0, 2, 20);
    cr_assert_eq(IMPORT(ORION "a,0,0,2,20\nd,5,0,2,20\n"), -EINVAL);
    cr_assert_eq(s.hint_count, 3, "all of a table or nothing");
    expect("a", 1, 1, KERNEL_PROFILE_COMPUTE, 0, 0, 1, 10);
}

Test(kernel_import, more_kernels_than_can_be_kept) {
    struct buf b;

    buf_init(&b);
    buf_printf(&b, ORION);
    for (uint32_t i = 0; i < KERNEL_SET_HINTS_MAX; i++)
        buf_printf(&b, "k%u,1,0,1,10\n", i);
    cr_assert_eq(kernel_import_table(&s, buf_str(&b), b.len, &report), 0);
    cr_assert_eq(s.hint_count, KERNEL_SET_HINTS_MAX);
    cr_assert_eq(IMPORT(ORION "k1,1,0,1,20\nmore,1,0,1,20\n"), -EINVAL);
    cr_assert_str_eq(report.why, "2 new hints and 4096 present ones exceed the limit of 4096; run "
                                 "'salusctl profile forget' first");
    expect("k1", 1, 1, KERNEL_PROFILE_COMPUTE, 0, 0, 1, 10);
    buf_printf(&b, "more,1,0,1,10\n");
    cr_assert_eq(kernel_import_table(&s, buf_str(&b), b.len, &report), -EINVAL);
    cr_assert_str_eq(report.why, "line 4098: the table has more than 4096 kernels and shapes");
    buf_finish(&b);
}
