/* SPDX-License-Identifier: Apache-2.0
 *
 * Four threads of clients connect and leave in every way, correctly and incorrectly. One thread
 * queries and changes everything it can. Meanwhile the worker dies again and again. No thread
 * hangs, nothing leaks, and the broker keeps serving. For TSan and leak checkers; `broker_churn
 * [rounds]`.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "test/lib/broker/asker.h"
#include "test/lib/broker/broker_rig.h"
#include "test/lib/patience.h"

#define THREADS 4
#define DEATHS 8 /* at the tenth death in a minute the broker begins to pause */

static struct broker_rig rig;
static _Atomic int welcomed, refused, running, asked, changed;
static int rounds = 200;

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: %s is not so\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

/* Receives the next message and closes its descriptors. Returns its result, or 1 when the broker
 * hung up. A broker that is silent for ten seconds fails the test. */
static int next_message(int fd) {
    union {
        struct wire_offer offer;
        struct wire_welcome welcome;
    } m;
    int fds[FDUTIL_MAX_FDS], nfds = FDUTIL_MAX_FDS;
    int n = fdutil_recv(fd, &m, sizeof(m), fds, &nfds);

    CHECK(n != -EAGAIN);
    if (n <= 0) return 1;
    for (int i = 0; i < nfds; i++)
        fdutil_close(&fds[i]);
    return n == sizeof(m.offer) ? m.offer.result : m.welcome.result;
}

static void whole_life(int fd, unsigned *seed) {
    struct wire_hello h = broker_rig_hello();
    struct wire_answer yes = {.magic = WIRE_MAGIC, .accepted = 1}, no = {.magic = WIRE_MAGIC};
    int err;

    fdutil_send(fd, &h, sizeof(h), NULL, 0);
    err = next_message(fd);
    if (err == 0 && rand_r(seed) % 4 == 0) {
        fdutil_send(fd, &no, sizeof(no), NULL, 0);
        err = next_message(fd);
    }
    if (err == 0) {
        fdutil_send(fd, &yes, sizeof(yes), NULL, 0);
        err = next_message(fd);
    }
    atomic_fetch_add(err == 0 ? &welcomed : &refused, 1);
}

static void *client_main(void *arg) {
    unsigned seed = (unsigned)(uintptr_t)arg;

    for (int i = 0; i < rounds; i++) {
        int fd = broker_rig_connect(&rig, "job.sock");

        switch (rand_r(&seed) % 5) {
        case 0: break;
        case 1: fdutil_send(fd, "garbage", 7, NULL, 0); break;
        case 2: {
            struct wire_hello h = broker_rig_hello();

            fdutil_send(fd, &h, sizeof(h), NULL, 0);
            break;
        }
        default: whole_life(fd, &seed);
        }
        close(fd);
    }
    atomic_fetch_sub(&running, 1);
    return NULL;
}

/* Sends any verb with any of its arguments; every request gets an answer. */
static void *operator_main(void *arg) {
    static struct asker a;
    unsigned seed = 99;

    a.fd = broker_rig_connect(&rig, "ctl.sock");
    while (atomic_load(&running) > 0 || atomic_load(&changed) == 0) {
        a.request = (struct ctl_request){.verb = (enum ctl_verb)(rand_r(&seed) % CTL_V_COUNT)};
        /* Sets few of a policy's many numbers, because otherwise one is always out of its range. */
        int one_in = a.request.verb == CTL_V_policy_set ? 12 : 2;
        for (int i = 0; i < CTL_A_COUNT; i++)
            if (ctl_verb_takes(a.request.verb, i) && ctl_arg_info(i)->kind != CTL_KIND_TEXT &&
                rand_r(&seed) % one_in == 0)
                ctl_msg_put(&a.request, i, rand_r(&seed) % (i == CTL_A_id ? 1000 : 20));
        if (ctl_verb_takes(a.request.verb, CTL_A_lane) && rand_r(&seed) % 2)
            ctl_msg_put_text(&a.request, CTL_A_lane, rand_r(&seed) % 2 ? "fifo" : "pack");
        if (asker_ask(&a) && a.request.verb == CTL_V_policy_set) atomic_fetch_add(&changed, 1);
        atomic_fetch_add(&asked, 1);
    }
    close(a.fd);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t threads[THREADS], operator;
    int before, fds[WIRE_FD_COUNT], fd, deaths = 0;

    if (argc > 1) rounds = atoi(argv[1]);
    broker_rig_init(&rig);
    broker_rig_start(&rig);
    CHECK(broker_rig_wait(&rig.worker.trials, 1));
    broker_rig_settle(&rig);
    before = broker_rig_count_fds();
    atomic_store(&running, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, client_main, (void *)(uintptr_t)(i + 1));
    pthread_create(&operator, NULL, operator_main, NULL);
    while (atomic_load(&running) > 0) {
        usleep(20000);
        if (deaths < DEATHS && broker_rig_wait(&rig.worker.launches, deaths + 1)) {
            broker_rig_kill_worker(&rig);
            deaths++;
        }
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_join(operator, NULL);
    CHECK(broker_rig_wait(&rig.worker.launches, deaths + 1));
    CHECK(atomic_load(&welcomed) > 0 && atomic_load(&changed) > 0);
    fd = broker_rig_connect(&rig, "job.sock"); /* the broker still serves */
    broker_rig_attach(fd, fds);
    for (int i = 0; i < WIRE_FD_COUNT; i++)
        close(fds[i]);
    close(fd);
    CHECK(PATIENCE_UNTIL(broker_rig_count_fds() <= before));
    broker_rig_stop(&rig);
    printf("broker_churn: %d connections, %d welcomed, %d refused, %d workers killed, %d requests, "
           "%d of them new policies\n",
           THREADS * rounds, atomic_load(&welcomed), atomic_load(&refused), deaths,
           atomic_load(&asked), atomic_load(&changed));
    return 0;
}
