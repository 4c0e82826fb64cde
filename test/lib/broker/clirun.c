/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs salusctl and captures its output.
 */
#include "test/lib/broker/clirun.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/ctl/salusctl.h"

#define WORDS 32

char *clirun_out, *clirun_err;
int clirun_status;

static cJSON *parsed;

static void fail(const char *what) {
    fprintf(stderr, "clirun: %s\n%s%s\n", what, clirun_out ? clirun_out : "",
            clirun_err ? clirun_err : "");
    abort();
}

void clirun_forget(void) {
    cJSON_Delete(parsed);
    free(clirun_out);
    free(clirun_err);
    parsed = NULL;
    clirun_out = clirun_err = NULL;
}

/* Builds a writable argv with its final NULL, as a program gets it; returns argc. */
static int make_argv(char *argv[WORDS], const char *const *words) {
    static char text[WORDS][512];
    int argc = 0;

    argv[argc++] = (char *)"salusctl";
    for (; *words; words++) {
        if (argc == WORDS - 1) fail("too many words");
        argv[argc] = text[argc];
        if (strlen(*words) >= sizeof(text[0])) fail("too long a word");
        strcpy(argv[argc++], *words);
    }
    argv[argc] = NULL;
    return argc;
}

void clirun(const char *const *words) {
    char *argv[WORDS];
    int argc = make_argv(argv, words);
    size_t a, b;
    FILE *out, *err;

    clirun_forget();
    out = open_memstream(&clirun_out, &a);
    err = open_memstream(&clirun_err, &b);
    clirun_status = salusctl_main(out, err, argc, argv);
    fclose(out);
    fclose(err);
}

const cJSON *clirun_json(const char *name) {
    const cJSON *member;

    cJSON_Delete(parsed);
    parsed = cJSON_Parse(clirun_out);
    if (!parsed) fail("no JSON");
    if (clirun_number(parsed, "schema") != 1) fail("another schema");
    member = cJSON_GetObjectItem(parsed, name);
    if (!member) fail(name);
    return member;
}

double clirun_number(const cJSON *object, const char *name) {
    if (!cJSON_IsNumber(cJSON_GetObjectItem(object, name))) fail(name);
    return cJSON_GetNumberValue(cJSON_GetObjectItem(object, name));
}

const char *clirun_text(const cJSON *object, const char *name) {
    if (!cJSON_IsString(cJSON_GetObjectItem(object, name))) fail(name);
    return cJSON_GetStringValue(cJSON_GetObjectItem(object, name));
}

char *clirun_in_child(const char *const *words, int *exit_status) {
    static char buf[8192];
    char *argv[WORDS];
    int argc = make_argv(argv, words), pair[2], status;
    size_t used = 0;
    ssize_t n;
    pid_t pid;

    if (pipe(pair) < 0) fail("pipe");
    pid = fork();
    if (pid == 0) {
        dup2(pair[1], 1);
        close(pair[0]);
        close(pair[1]);
        status = salusctl_main(stdout, stdout, argc, argv);
        fflush(stdout);
        _exit(status < CLI_BY_SIGNAL ? status : 128 + status - CLI_BY_SIGNAL);
    }
    close(pair[1]);
    while ((n = read(pair[0], buf + used, sizeof(buf) - 1 - used)) > 0)
        used += (size_t)n;
    buf[used] = '\0';
    close(pair[0]);
    waitpid(pid, &status, 0);
    *exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return buf;
}
