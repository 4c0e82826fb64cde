/* SPDX-License-Identifier: Apache-2.0
 *
 * Model of the doorbell (proto/wire/ring.c: ring_push + doorbell_ring against doorbell_arm + a look at
 * all rings + sleep) on a machine with x86's memory order (TSO), checked over every interleaving.
 *
 * Several clients, each with a ring and a sleep flag of its own, and one worker that sweeps them.
 * The property is freedom from deadlock: the worker leaves its loop only when it has read every
 * record, so a wake-up that is lost shows as a worker that sleeps for ever, and a producer that
 * waits for credit which nobody will give shows as one that waits for ever. Spin reports both as an
 * invalid end state.
 *
 * TSO: a store goes into its CPU's store buffer, a FIFO, and reaches memory some time later; a load
 * looks at memory at once. So a load may overtake an earlier store to another word, and nothing
 * else is ever reordered. A fence waits until the buffer is empty; a locked exchange does the same
 * and then acts on memory. Nobody here loads a word that it has itself stored (cursors are
 * private), so forwarding from the store buffer need not be modelled; `load` asserts that.
 *
 * A ring's slots are reduced to a count of the records whose first word has been stored: stores
 * reach memory in order, so the k-th record is there exactly when the count is at least k.
 *
 * Mutants, each of which must deadlock: NO_PRODUCER_FENCE, NO_CONSUMER_FENCE, NO_SECOND_LOOK,
 * NO_CREDIT.
 */
#ifndef RINGS
#define RINGS 2
#endif
#ifndef RECORDS
#define RECORDS 3 /* records of each producer */
#endif
#define SLOTS 2 /* slots of each ring: full while RECORDS are still to be sent */

/* Words of shared memory. */
#define PUBLISHED(ring) (ring)
#define SLEEPING(ring) (RINGS + (ring))
#define CREDIT(ring) (2 * RINGS + (ring))
#define WORDS (3 * RINGS)

byte mem[WORDS];
bool wake[RINGS]; /* eventfds: state of the kernel, which makes writes and reads visible in order */

/* CPU number r runs the producer of ring r, the last one runs the worker. */
#define CPUS (RINGS + 1)
#define WORKER RINGS
chan buffer[CPUS] = [2] of { byte, byte };

#define store(cpu, word, value) buffer[cpu] ! word, value
#define fence(cpu) empty(buffer[cpu])

inline load(cpu, word, into) {
    d_step {
        assert(!(buffer[cpu] ?? [eval(word), _]));
        into = mem[word]
    }
}

/* A CPU's store buffer may empty at any time. */
proctype store_buffer(byte cpu) {
    byte word, value;
end:
    do
    :: d_step { buffer[cpu] ? word, value -> mem[word] = value; word = 0; value = 0 }
    od
}

proctype producer(byte ring) {
    byte sent, asleep, credit;
    do
    :: sent < RECORDS ->
        /* ring_push: -EAGAIN until there is credit */
        do
        :: sent - credit < SLOTS -> break
        :: else ->
            (mem[CREDIT(ring)] != credit); /* spinning; blocked here for ever is a deadlock */
            load(ring, CREDIT(ring), credit)
        od;
        sent++;
        store(ring, PUBLISHED(ring), sent);
        /* doorbell_ring */
#ifndef NO_PRODUCER_FENCE
        fence(ring);
#endif
        load(ring, SLEEPING(ring), asleep);
        if
        :: asleep ->
            atomic {
                fence(ring) -> asleep = mem[SLEEPING(ring)]; /* the exchange is locked */
                mem[SLEEPING(ring)] = 0
            };
            if
            :: asleep -> wake[ring] = true
            :: else
            fi
        :: else
        fi;
        asleep = 0
    :: else -> break
    od
}

byte done[RINGS]; /* records read: the worker's private cursors */

#define ALL_READ (done[0] == RECORDS && done[RINGS - 1] == RECORDS && done[RINGS / 2] == RECORDS)

/* Reads at most one record of each ring. */
inline sweep() {
    found = false;
    r = 0;
    do
    :: r < RINGS ->
        load(WORKER, PUBLISHED(r), seen);
        if
        :: seen != done[r] ->
            assert(seen > done[r] && seen - done[r] <= SLOTS); /* no unread record is overwritten */
            done[r]++;
            found = true;
#ifndef NO_CREDIT
            store(WORKER, CREDIT(r), done[r])
#endif
        :: else
        fi;
        r++
    :: else -> break
    od;
    seen = 0
}

proctype worker() {
    byte r, seen;
    bool found;
    do
    :: ALL_READ -> break
    :: else ->
        sweep();
        if
        :: found -> skip
        :: else ->
            /* doorbell_arm on every ring */
            r = 0;
            do
            :: r < RINGS ->
                store(WORKER, SLEEPING(r), 1);
#ifndef NO_CONSUMER_FENCE
                fence(WORKER);
#endif
                r++
            :: else -> break
            od;
#ifndef NO_SECOND_LOOK
            sweep();
#endif
            if
            :: found -> skip
            :: else ->
                /* epoll: any eventfd ends the sleep, all that are set are read */
                d_step {
                    (wake[0] || wake[RINGS - 1] || wake[RINGS / 2]) ->
                    r = 0;
                    do
                    :: r < RINGS -> wake[r] = false; r++
                    :: else -> break
                    od
                }
            fi;
            /* doorbell_disarm */
            r = 0;
            do
            :: r < RINGS -> store(WORKER, SLEEPING(r), 0); r++
            :: else -> break
            od
        fi;
        found = false;
        r = 0
    od
}

init {
    byte i;
    atomic {
        i = 0;
        do
        :: i < RINGS -> run producer(i); i++
        :: else -> break
        od;
        run worker();
        i = 0;
        do
        :: i < CPUS -> run store_buffer(i); i++
        :: else -> break
        od
    }
}
