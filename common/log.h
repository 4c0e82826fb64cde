/* SPDX-License-Identifier: Apache-2.0
 *
 * One line per record: `<time> <level> <topic> key=value ...` on stderr. Topics have levels, set by
 * SALUS_LOG ("info", "sched:debug,ring:warn"). Thread-safe; each record is one write(2). Preserves
 * errno. The daemons default to info; the shim calls log_init("error") so that it stays silent.
 *
 * A daemon calls log_background. From then on no record waits for its reader: records that do not
 * fit the buffer are dropped and counted. At most one record a second of each kind (topic and
 * format) is written, with the number of suppressed ones; level debug is not limited. log_burst is
 * for records that many clients cause once each: LOG_BURST of a kind at once, four a second on
 * average. log_each is for records that no client can provoke and that must all be written.
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#define LOG_BURST 256

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG_NONE = -1 };

/* Parses `fallback`, then SALUS_LOG from the environment over it. Call once before threads
 * start. */
void log_init(const char *fallback);

/* From now on a thread writes records, and their rate is limited. Returns 0 or -errno; after an
 * error nothing has changed. */
int log_background(void);
/* Call before the process ends: waits briefly for records that are not written yet. */
void log_finish(void);

/* Returns 1 if a record of this topic and level would be written. */
int log_on(const char *topic, enum log_level level);

/* `topic` and `fmt` must be literals. */
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
