/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_verdict FRAME CASES: for each line of CASES, replaces the line "//case" of FRAME by it and
 * prints ptx_parse's verdict: "ok", or "no" and the reason. For scripts/ptx-verdicts.
 *
 * ptx_verdict FILE...: parses complete modules; fails if one is rejected.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/ptx/ptx_parse.h"
#include "test/lib/ptx/ptx_cases.h"
#include "test/lib/ptx/ptx_text.h"

static int whole_files(char **paths) {
    int refused = 0;
    for (; *paths; paths++) {
        size_t bytes;
        struct ptx_module *m;
        char why[160], *text = ptx_text_file(*paths, &bytes);
        int err = ptx_parse(text, bytes, &m, why, sizeof(why));
        if (err) printf("%s: %s\n", *paths, why);
        refused |= err != 0;
        ptx_module_free(m);
        free(text);
    }
    return refused;
}

int main(int argc, char **argv) {
    size_t len = argc > 2 ? strlen(argv[2]) : 0;
    if (len < 4 || strcmp(argv[2] + len - 4, ".txt")) return whole_files(argv + 1);
    struct ptx_frame frame;
    char *line = NULL, why[160];
    size_t cap = 0;
    FILE *cases = fopen(argv[2], "r");
    if (!cases || ptx_frame_read(&frame, argv[1])) return fprintf(stderr, "cannot read\n"), 2;
    for (ssize_t n; (n = getline(&line, &cap, cases)) > 0;) {
        if (line[n - 1] == '\n') line[n - 1] = 0;
        int err = ptx_frame_parse(&frame, line, why, sizeof(why));
        printf(err ? "no\t%s\n" : "ok\n", why);
    }
    free(line);
    fclose(cases);
    ptx_frame_finish(&frame);
    return 0;
}
