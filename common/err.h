/* SPDX-License-Identifier: Apache-2.0
 *
 * The project's own errors. Functions return 0 or a negative errno. Errors that errno lacks are
 * below ERR_BASE. One X-macro gives number, name, text and the CUresult for a client.
 */
#ifndef COMMON_ERR_H
#define COMMON_ERR_H

#define ERR_BASE (-5000)

/* X(name, number, text, CUresult) */
#define ERR_LIST(X)                                                                         \
    X(ERR_PROTOCOL, -5001, "a message or a ring record is malformed", 999)                  \
    X(ERR_VERSION, -5002, "the protocol versions differ", 803)                              \
    X(ERR_WORKER_LOST, -5003, "the GPU worker ended", 46)                                   \
    X(ERR_BROKER_LOST, -5004, "the salusd daemon ended", 46)                                \
    X(ERR_NO_DAEMON, -5005, "no salusd daemon is reachable", 100)                           \
    X(ERR_ENDED, -5006, "an operator ended the job", 46)                                    \
    X(ERR_LEFT, -5007, "the job's connection to salusd is closed", 46)                      \
    X(ERR_PEER_ENDED, -5008,                                                                \
      "the process that recorded the event ended before the event completed", 709)          \
    X(ERR_STOPPED, -5009, "salusd was stopped", 46)                                         \
    X(ERR_ILLEGAL_ADDRESS, -5010, "a kernel accessed memory that is not its client's", 700) \
    X(ERR_KERNEL_TIMEOUT, -5011, "a kernel ran longer than kernel_timeout", 702)            \
    X(ERR_ASSERT, -5012, "a device-side assert failed", 710)                                \
    X(ERR_MISALIGNED, -5013, "a kernel accessed memory at a misaligned address", 716)       \
    X(ERR_LAUNCH_FAILED, -5014, "a kernel trapped", 719)                                    \
    X(ERR_ILLEGAL_INSTRUCTION, -5015, "a kernel reached an unsupported instruction", 715)   \
    X(ERR_CANCELLED, -5016, "the operation was cancelled", 4)                               \
    X(ERR_INVALID_IMAGE, -5020, "the module image is damaged", 200)                         \
    X(ERR_INVALID_PTX, -5021, "the PTX is not valid", 218)                                  \
    X(ERR_UNSUPPORTED_PTX, -5022, "the PTX version is newer than supported", 222)           \
    X(ERR_NO_BINARY, -5023, "the module image has no code for this device", 209)            \
    X(ERR_NOT_FOUND, -5024, "the module has no such symbol", 500)                           \
    X(ERR_NO_MEMORY, -5025, "out of device memory", 2)                                      \
    X(ERR_DRIVER, -5026, "the GPU's driver reported an error", 999)                         \
    X(ERR_DEVICE_LOST, -5027, "the GPU's context ended, maybe because of another job", 46)

enum err {
#define X(name, number, text, cu) name = number,
    ERR_LIST(X)
#undef X
};

/* Return the name ("ERR_PROTOCOL", "EINVAL") and text of any error that this project returns;
 * static strings. */
const char *err_name(int err);
const char *err_text(int err);

/* Returns the CUresult that a client gets for `err`: 0 for 0, 999 (CUDA_ERROR_UNKNOWN) if none
 * fits. */
int err_cuda(int err);

#endif
