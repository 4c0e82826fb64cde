/* SPDX-License-Identifier: Apache-2.0
 *
 * The replacement of ptxas: command lines as Triton and XLA write them, PTX passed on byte by byte
 * with its NUL, and an error message for everything else.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/ptxas/options.h"
#include "daemon/ptxas/ptxas.h"

#define PTX "//\n.version 8.4\n.target sm_90a\n.address_size 64\n.visible .entry f() { ret; }\n"

static char dir[64], input[80], output[80];
static char *said_out, *said_err;

static void write_input(const char *text, size_t bytes) {
    FILE *f = fopen(input, "w");

    cr_assert_eq(fwrite(text, 1, bytes, f), bytes);
    fclose(f);
}

static void setup(void) {
    strcpy(dir, "/tmp/salus-ptxas-XXXXXX");
    cr_assert_not_null(mkdtemp(dir));
    snprintf(input, sizeof(input), "%s/in.ptx", dir);
    snprintf(output, sizeof(output), "%s/out.cubin", dir);
    write_input(PTX, strlen(PTX));
}

static void forget(void) {
    free(said_out);
    free(said_err);
    said_out = said_err = NULL;
}

static void teardown(void) {
    char command[96];

    forget();
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    cr_assert_eq(system(command), 0);
}

static int run(const char *const *words) {
    const char *argv[32] = {"salus-ptxas"};
    size_t a, b;
    FILE *out, *err;
    int status, n = 1;

    for (; *words; words++)
        argv[n++] = *words;
    forget();
    out = open_memstream(&said_out, &a);
    err = open_memstream(&said_err, &b);
    status = ptxas_main(out, err, (char **)argv);
    fclose(out);
    fclose(err);
    return status;
}

#define RUN(...) run((const char *const[]){__VA_ARGS__, NULL})

/* The output's bytes, or -1: none. */
static ssize_t read_output(char *bytes, size_t cap) {
    FILE *f = fopen(output, "r");
    size_t n;

    if (!f) return -1;
    n = fread(bytes, 1, cap, f);
    fclose(f);
    return (ssize_t)n;
}

static void expect_handed_over(void) {
    char bytes[4096];

    cr_assert_str_eq(said_err, "");
    cr_assert_eq(read_output(bytes, sizeof(bytes)), (ssize_t)sizeof(PTX), "the NUL counts");
    cr_assert_eq(memcmp(bytes, PTX, sizeof(PTX)), 0);
    unlink(output);
}

TestSuite(ptxas, .init = setup, .fini = teardown, .timeout = 30);

Test(ptxas, hands_over_what_triton_and_xla_give_it) {
    cr_assert_eq(RUN("-lineinfo", "--fmad=false", "--opt-level", "0", "--regAllocOptLevel=2",
                     "--gpu-name=sm_90a", input, "-o", output),
                 0, "%s", said_err);
    expect_handed_over();
    cr_assert_eq(RUN(input, "-o", output, "-arch=sm_90", "-O3", "--warn-on-spills"), 0);
    expect_handed_over();
    cr_assert_eq(RUN("-ias", PTX, "--output-file", output), 0);
    expect_handed_over();
    cr_assert_eq(RUN("-v", input, "-o", output), 0);
    cr_assert_not_null(strstr(said_err, "ptxas info    : "));
}

Test(ptxas, takes_the_last_output_and_says_the_gpu) {
    char *argv[] = {"-o", "a", "-o=b", "x.ptx", "-arch", "sm_75", NULL};
    struct options o;
    char why[128];

    cr_assert_eq(options_parse(&o, argv, why, sizeof(why)), 0);
    cr_assert_str_eq(o.output, "b");
    cr_assert_str_eq(o.input, "x.ptx");
    cr_assert_str_eq(o.gpu, "sm_75");
}

Test(ptxas, says_a_release_that_compilers_find) {
    int major, minor;
    const char *found;

    cr_assert_eq(RUN("--version"), 0);
    found = strstr(said_out, "release ");
    cr_assert_not_null(found);
    cr_assert_eq(sscanf(found, "release %d.%d, V", &major, &minor), 2);
    cr_assert_geq(major, 13);
    cr_assert_eq(RUN("--help"), 0);
    cr_assert_not_null(strstr(said_out, "usage: salus-ptxas"));
}

Test(ptxas, what_is_no_ptx_is_an_error_and_leaves_no_output) {
    char bytes[16];

    write_input("\177ELF\2\1\1", 7);
    cr_assert_eq(RUN(input, "-o", output), 1);
    cr_assert_not_null(strstr(said_err, "line 1"), "%s", said_err);
    cr_assert_not_null(strstr(said_err, "ptxas fatal   : "));
    cr_assert_eq(read_output(bytes, sizeof(bytes)), -1);
    write_input("", 0);
    cr_assert_eq(RUN(input, "-o", output), 1);
    cr_assert_eq(
        RUN("-ias", ".version 8.0\n.target sm_80\n.address_size 64\nnonsense", "-o", output), 1);
    cr_assert_not_null(strstr(said_err, "ptxas <string>, line 4"), "%s", said_err);
    cr_assert_eq(read_output(bytes, sizeof(bytes)), -1);
}

Test(ptxas, an_output_that_was_there_stays_when_the_input_is_wrong) {
    char bytes[4096];

    cr_assert_eq(RUN(input, "-o", output), 0);
    write_input("mov", 3);
    cr_assert_eq(RUN(input, "-o", output), 1);
    cr_assert_eq(read_output(bytes, sizeof(bytes)), (ssize_t)sizeof(PTX));
}

Test(ptxas, too_new_a_version_is_answered_with_the_newest) {
    cr_assert_eq(RUN("--input-as-string", ".version 99.99\n.target sm_90", "-o", output), 1);
    cr_assert_not_null(strstr(said_err, "Unsupported .version 99.99; current version is '9."), "%s",
                       said_err);
}

Test(ptxas, what_it_cannot_do_is_said) {
    static const struct {
        const char *word, *says;
    } wrong[] = {
        {"-c", "nothing to do for '-c'"},
        {"--entry=f", "nothing to do for '--entry=f'"},
        {"--frobnicate", "the option is unknown: '--frobnicate'"},
        {"other.ptx", "there is another: 'other.ptx'"},
        {"-arch", "a value is needed for '-arch'"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_assert_eq(RUN("-o", output, input, wrong[i].word), 1, "%s", wrong[i].word);
        cr_assert_not_null(strstr(said_err, wrong[i].says), "%s", said_err);
        cr_assert_eq(access(output, F_OK), -1);
    }
    cr_assert_eq(RUN("-v"), 1);
    cr_assert_not_null(strstr(said_err, "one input is needed"), "%s", said_err);
    cr_assert_eq(RUN("-o", output, "/nonexistent.ptx"), 1);
    cr_assert_not_null(strstr(said_err, "/nonexistent.ptx: No such file"), "%s", said_err);
    cr_assert_eq(RUN("-o", "/nonexistent/x", input), 1);
    cr_assert_not_null(strstr(said_err, "/nonexistent/x: No such file"), "%s", said_err);
}
