/* SPDX-License-Identifier: Apache-2.0
 *
 * salus-serve: reads the configuration, serves the models, and stops on a signal.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "common/fdutil.h"
#include "common/log.h"
#include "common/standard_output.h"
#include "common/text/args.h"
#include "daemon/serve/gateway/gateway.h"
#include "proto/version.h"

#define EXIT_USAGE 2
/* Descriptors for programs, batches and the loop, besides connections. */
#define SPARE_DESCRIPTORS 256u
#define PRESET_FILE "/etc/salus/salus-serve.conf"

static const char help[] =
    "usage: salus-serve [--check] [FILE]\n"
    "\n"
    "Serves the models of FILE, or of " PRESET_FILE ", by the Open Inference\n"
    "Protocol over HTTP. Runs in the foreground until SIGTERM or SIGINT; see salus-serve(8).\n"
    "\n"
    "  --check            report the errors in FILE and exit; status 2 if there are any\n"
    "  --help, --version\n";

struct program {
    uv_loop_t loop;
    uv_signal_t term, interrupt;
    struct gateway *gateway;
};

static void on_signal(uv_signal_t *s, int number) {
    struct program *p = s->data;
    gateway_stop(p->gateway);
    uv_close((uv_handle_t *)&p->term, NULL);
    uv_close((uv_handle_t *)&p->interrupt, NULL);
}

static void watch(struct program *p, uv_signal_t *s, int number) {
    uv_signal_init(&p->loop, s);
    s->data = p;
    uv_signal_start(s, on_signal, number);
}

/* Warns if the descriptor limit is low: connections above it wait unanswered, and programs are not
 * started. */
static void check_descriptors(const struct models_file *file) {
    uint64_t limit = fdutil_limit();
    if (limit < (uint64_t)file->connections + SPARE_DESCRIPTORS)
        log_warn("serve", "event=few_descriptors limit=%" PRIu64 " connections=%u", limit,
                 file->connections);
}

static int serve(const struct models_file *file) {
    struct program p;
    char why[256];
    check_descriptors(file);
    uv_loop_init(&p.loop);
    int err = gateway_create(&p.gateway, &p.loop, file, why, sizeof(why));
    if (err) {
        fprintf(stderr, "salus-serve: %s\n", *why ? why : strerror(-err));
    } else {
        watch(&p, &p.term, SIGTERM);
        watch(&p, &p.interrupt, SIGINT);
        printf("serving on port %u\n", gateway_port(p.gateway));
        fflush(stdout);
    }
    uv_run(&p.loop, UV_RUN_DEFAULT);
    uv_loop_close(&p.loop);
    gateway_destroy(p.gateway);
    return err ? 1 : 0;
}

static int run(const char *path, bool check) {
    struct models_file file;
    struct buf errors;
    buf_init(&errors);
    int err = models_file_read(&file, path, &errors);
    if (err) fprintf(stderr, "%s", errors.len ? buf_str(&errors) : "out of memory\n");
    buf_finish(&errors);
    int status = err ? EXIT_USAGE : check ? 0 : serve(&file);
    models_file_finish(&file);
    return status;
}

/* Prints a text; returns the exit status. */
static int print(const char *text) {
    fputs(text, stdout);
    return standard_output_flush(stdout, stderr, "salus-serve") ? 0 : 1;
}

int main(int argc, char **argv) {
    struct args a = {.rest = argv + 1};
    const char *path = NULL;
    enum args_kind kind;
    bool check = false;
    signal(SIGPIPE, SIG_IGN);
    while ((kind = args_next(&a)) != ARGS_END) {
        if (kind == ARGS_OPTION && args_is(&a, "--help")) return print(help);
        if (kind == ARGS_OPTION && args_is(&a, "--version"))
            return print("salus-serve " VERSION_TEXT "\n");
        if (kind == ARGS_OPTION && args_is(&a, "--check")) {
            check = true;
            continue;
        }
        if (kind == ARGS_OPTION || path) {
            fprintf(stderr, "salus-serve: unknown argument '%s'; see 'salus-serve --help'\n",
                    kind == ARGS_OPTION ? args_whole(&a) : a.name);
            return EXIT_USAGE;
        }
        path = a.name;
    }
    log_init("info");
    fdutil_raise_limits();
    return run(path ? path : PRESET_FILE, check);
}
