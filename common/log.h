/* SPDX-License-Identifier: Apache-2.0
 *
 * One line a record: `<time> <level> <topic> key=value ...` on stderr. Topics have levels, set by
 * SALUS_LOG ("info", "sched:debug,ring:warn"). Thread-safe; each record is one write(2). Preserves
 * errno. The daemons default to info; the shim calls log_init("error") so that it stays silent.
 *
 * A daemon calls log_background: from then on no record waits for its reader, what finds no room is
 * dropped and counted, and of each kind (topic and format) but those of level debug one a second is
 * written, with the number of those that were suppressed. log_burst is for records of which many
 * clients cause one each: LOG_BURST of a kind at once, four a second on the average. log_each is
 * for records that no client can provoke and of which every one counts.
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#define LOG_BURST 256

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_NONE = -1 };

/* Parses `fallback` and then the environment's SALUS_LOG over it. Call once before threads start.
 */
void log_init(const char *fallback);

/* Records are written by a thread from now on, and limited. 0 or -errno; then all stays as it was.
 */
int log_background(void);
/* Before the process ends: waits a little for what is not written yet. */
void log_finish(void);

/* 1 when a record of this topic and level would be written. */
int log_on(const char *topic, enum log_level level);

/* `topic` and `fmt` are literals. */
void log_write(const char *topic, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void log_burst(const char *topic, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void log_each(const char *topic, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#define log_error(topic, ...) log_write(topic, LOG_ERROR, __VA_ARGS__)
#define log_warn(topic, ...) log_write(topic, LOG_WARN, __VA_ARGS__)
#define log_info(topic, ...) log_write(topic, LOG_INFO, __VA_ARGS__)
#define log_debug(topic, ...)                                                   \
    do {                                                                        \
        if (log_on(topic, LOG_DEBUG)) log_write(topic, LOG_DEBUG, __VA_ARGS__); \
    } while (0)

#endif
