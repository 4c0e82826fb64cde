# SPDX-License-Identifier: Apache-2.0
"""salusd's control socket (proto/control/ctl.def): requests and replies, each one msgpack message. This file implements
the part of msgpack that these messages use, so that users need no package for it."""
import errno
import os
import socket
import struct

REPLY_BYTES = 1 << 16


class Refused(RuntimeError):
    """The error reply of salusd to a request; .code is a code of proto/control/ctl.def."""

    def __init__(self, reply):
        super().__init__(f"{reply.get('text')} ({reply.get('hint')})" if reply.get("hint") else reply.get("text"))
        self.code = reply.get("code")


def encode(value):
    if isinstance(value, dict):
        return bytes([0x80 | len(value)]) + b"".join(encode(k) + encode(v) for k, v in value.items())
    if isinstance(value, str):
        text = value.encode()
        return b"\xd9" + bytes([len(text)]) + text
    return b"\xd3" + struct.pack(">q", value)


# first byte: the struct format of the number after it
NUMBERS = {0xca: ">f", 0xcb: ">d", 0xcc: ">B", 0xcd: ">H", 0xce: ">I", 0xcf: ">Q", 0xd0: ">b", 0xd1: ">h", 0xd2: ">i",
           0xd3: ">q"}
LENGTHS = {0xd9: ">B", 0xda: ">H", 0xdb: ">I", 0xdc: ">H", 0xdd: ">I", 0xde: ">H", 0xdf: ">I"}
PLAIN = {0xc0: None, 0xc2: False, 0xc3: True}


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        found = self.data[self.at:self.at + count]
        if len(found) < count:
            raise ValueError("a message of salusd ends too early")
        self.at += count
        return found

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def value(self):
        first = self.number(">B")
        if first < 0x80 or first >= 0xe0:
            return first if first < 0x80 else first - 256
        if first in PLAIN:
            return PLAIN[first]
        if first in NUMBERS:
            return self.number(NUMBERS[first])
        return self.many(first)

    def many(self, first):
        if first < 0x90:
            return self.map(first & 15)
        if first < 0xa0:
            return [self.value() for _ in range(first & 15)]
        if first < 0xc0:
            return self.take(first & 31).decode(errors="replace")
        if first not in LENGTHS:
            raise ValueError(f"a message of salusd has the unknown type {first:#x}")
        count = self.number(LENGTHS[first])
        if first >= 0xde:
            return self.map(count)
        if first >= 0xdc:
            return [self.value() for _ in range(count)]
        return self.take(count).decode(errors="replace")

    def map(self, count):
        return {self.value(): self.value() for _ in range(count)}


def decode(data):
    return _Reader(data).value()


class Control:
    """A connection to salusd; `run_dir` is its --run-dir. Any failure raises OSError and closes the connection."""

    def __init__(self, run_dir=None, timeout_s=10):
        self.run_dir = run_dir or os.environ.get("SALUS_RUN_DIR") or "/run/salus"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(timeout_s)
        try:
            self.socket.connect(os.path.join(self.run_dir, "ctl.sock"))
        except OSError as why:
            self.socket.close()
            raise OSError(why.errno, f"no salusd answers in {self.run_dir}: {why.strerror}") from None

    def close(self):
        self.socket.close()

    def ask(self, verb, **fields):
        """Sends one request. Returns (records, position from which the list continues, or 0 at its end)."""
        try:
            reply = self._reply_to({"v": 1, "verb": verb, **fields})
        except BaseException:
            self.close()  # else the next request would read this one's late reply
            raise
        if not reply.get("ok"):
            raise Refused(reply)
        return reply["items"], reply["next"]

    def _reply_to(self, question):
        self.socket.send(encode(question))
        data = self.socket.recv(REPLY_BYTES)
        if not data:
            raise ConnectionResetError(f"salusd in {self.run_dir} has ended")
        try:
            reply = decode(data)
            if isinstance(reply, dict):
                return reply
        except ValueError as why:
            raise OSError(errno.EPROTO, f"salusd in {self.run_dir}: {why}") from why
        raise OSError(errno.EPROTO, f"salusd in {self.run_dir} sent {type(reply).__name__} instead of a map")

    def list(self, verb):
        found, after = [], 0
        while True:
            items, after = self.ask(verb, **({"after": after} if after else {}))
            found += items
            if not after:
                return found

    def gpus(self):
        """Returns {number: record}."""
        return {g["id"]: g for g in self.list("gpu.list")}

    def jobs(self):
        return self.list("job.list")

    def set_weight(self, job, weight):
        """Returns False when the job is still starting or has ended."""
        try:
            self.ask("job.set", id=job, weight=weight)
        except Refused as why:
            if why.code in ("not_permitted", "bad_request", "protocol"):
                raise
            return False
        return True
