/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_runs FRAME CASES: for each line of CASES, replaces the line "//case" of FRAME by it and
 * prints whether the software GPU runs kernel k: "ok", "lacks" and the missing feature, or "no" and
 * the reason why it is invalid PTX. For scripts/ptx-coverage.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/lib/ptx/ptx_cases.h"
#include "test/lib/ptx/ptxrun.h"

static void judge(const struct ptx_frame *frame, const char *line) {
    char *text = ptx_frame_text(frame, line);
    struct ptxrun *r = ptxrun_create(text, strlen(text), 1);
    struct code_kernel *k;
    if (!r->module)
        printf("no\t%s\n", r->why);
    else if (code_kernel_get(r->module, "k", &k, r->why, sizeof(r->why)))
        printf("lacks\t%s\n", r->why);
    else
        printf("ok\n");
    ptxrun_destroy(r);
    free(text);
}

int main(int argc, char **argv) {
    struct ptx_frame frame;
    char *line = NULL;
    size_t cap = 0;
    FILE *cases = argc == 3 ? fopen(argv[2], "r") : NULL;
    if (!cases || ptx_frame_read(&frame, argv[1])) return fprintf(stderr, "cannot read\n"), 2;
    for (ssize_t n; (n = getline(&line, &cap, cases)) > 0;) {
        if (line[n - 1] == '\n') line[n - 1] = 0;
        judge(&frame, line);
    }
    free(line);
    fclose(cases);
    ptx_frame_finish(&frame);
    return 0;
}
