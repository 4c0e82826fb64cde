/* SPDX-License-Identifier: Apache-2.0
 *
 * salus-placer: runs rounds until it is stopped.
 */
#include <signal.h>
#include <slurm/slurm.h>
#include <stdio.h>
#include <time.h>

#include "common/log.h"
#include "daemon/place/slurm/placer/placer.h"
#include "proto/version.h"

#define EXIT_USAGE 2

static volatile sig_atomic_t told_to_end;

static void on_signal(int number) {
    told_to_end = number;
}

/* Without SA_RESTART, so that a signal ends a pause at once. */
static void catch_signals(void) {
    struct sigaction act = {.sa_handler = on_signal};

    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGINT, &act, NULL);
    /* If slurmctld closes the connection during a write, the call fails like any other. */
    act.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &act, NULL);
}

static void pause_for(uint64_t ns) {
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};

    if (!told_to_end) nanosleep(&t, NULL);
}

static int run(const struct options *o) {
    struct placer p = {.options = o};
    int err;

    catch_signals();
    log_init("info");
    slurm_init(NULL);
    log_info("placer", "event=start version=" VERSION_TEXT " policy=%s", o->round.place.policy);
    do {
        err = placer_round(&p);
        if (!o->once) pause_for(o->interval_ns);
    } while (!o->once && !told_to_end);
    placer_finish(&p);
    slurm_fini();
    return err < 0 && o->once;
}

int main(int argc, char **argv) {
    struct options o;
    char why[160];

    if (options_parse(&o, argv + 1, why, sizeof(why)) < 0) {
        fprintf(stderr, "salus-placer: %s\n", why);
        return EXIT_USAGE;
    }
    if (o.help) {
        options_help(stdout);
        return 0;
    }
    if (o.version) {
        puts("salus-placer " VERSION_TEXT);
        return 0;
    }
    return run(&o);
}
