# SPDX-License-Identifier: Apache-2.0
"""Sends requests to the model of test/serve/early.cu at given times, whether earlier ones are answered or not, as
independent clients do. Compares each answer with the host's result.

A request is 16 numbers with the same number of rounds. Its latency counts from the time when it was due, not from the
time when it was sent.
"""
import asyncio
import json
import random
import time

NUMBERS = 16
MASK = 0xFFFFFFFF
A, C = 1664525, 1013904223  # the generator's constants in early.cu


def turned(x, rounds):
    """Computes `rounds` of the generator at once: n rounds are a x + c with other a and c, found by doubling."""
    a, c, by_a, by_c = 1, 0, A, C
    while rounds:
        if rounds & 1:
            a, c = a * by_a & MASK, (c * by_a + by_c) & MASK
        by_a, by_c = by_a * by_a & MASK, (by_c * by_a + by_c) & MASK
        rounds >>= 1
    return (a * x + c) & MASK


class Request:
    """`rounds`: below 4096, before the program's factor. `due`: seconds from the begin of the run."""

    def __init__(self, number, model, application, rounds, due, deadline_ms):
        self.application, self.rounds, self.due, self.deadline_ms = application, rounds, due, deadline_ms
        self.x = [rounds + 4096 * ((number * NUMBERS + i) % 0xFFFFF) for i in range(NUMBERS)]
        body = json.dumps({"inputs": [{"name": "x", "datatype": "UINT32", "shape": [NUMBERS], "data": self.x}],
                           "parameters": {"deadline_ms": deadline_ms, "application": application}}).encode()
        self.bytes = (f"POST /v2/models/{model}/infer HTTP/1.1\r\nHost: salus\r\nContent-Type: application/json\r\n"
                      f"Content-Length: {len(body)}\r\n\r\n").encode() + body
        self.status = self.latency = self.right = None

    def took(self, status, text, latency, factor):
        self.status, self.latency = status, latency
        if status == 200:
            self.right = json.loads(text)["outputs"][0]["data"] == [turned(x, self.rounds * factor) for x in self.x]

    def in_time(self):
        return self.status == 200 and self.latency * 1e3 <= self.deadline_ms


def poisson(rng, rate, seconds):
    """Yields the due times of requests that arrive as a Poisson process at this rate per second."""
    at = 0.0
    while (at := at + rng.expovariate(rate)) < seconds:
        yield at


class Load:
    """Sends requests over kept connections, as many as are needed at once."""

    def __init__(self, port, factor):
        self.port, self.factor, self.idle = port, factor, []

    async def ask(self, request, since):
        reader, writer = self.idle.pop() if self.idle else await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(request.bytes)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        text = await reader.readexactly(length)
        request.took(int(head[9:12]), text, time.monotonic() - since - request.due, self.factor)
        self.idle.append((reader, writer))

    async def by_the_clock(self, requests):
        since, asked = time.monotonic(), []
        for r in requests:
            await asyncio.sleep(max(0.0, since + r.due - time.monotonic()))
            asked.append(asyncio.create_task(self.ask(r, since)))
        await asyncio.gather(*asked)

    async def one_after_another(self, requests, clients):
        """Lets each of `clients` ask for its next request when it has its answer. Returns the total seconds."""
        begin, left = time.monotonic(), iter(requests)

        async def client():
            for r in left:
                r.due = time.monotonic() - begin
                await self.ask(r, begin)
        await asyncio.gather(*(client() for _ in range(clients)))
        return time.monotonic() - begin

    async def close(self):
        for _, writer in self.idle:
            writer.close()
            await writer.wait_closed()
        self.idle = []


def run(port, factor, what):
    """`what`: a function of a Load that returns a coroutine."""
    async def whole():
        load = Load(port, factor)
        try:
            return await what(load)
        finally:
            await load.close()
    return asyncio.run(whole())


def draw(rng, modes, number, model, due, deadline_ms):
    """Draws a request. `modes`: [(application, mean, deviation)] in rounds, all equally likely."""
    application, mean, deviation = modes[rng.randrange(len(modes))]
    rounds = min(4095, max(1, round(rng.gauss(mean, deviation))))
    return Request(number, model, application, rounds, due, deadline_ms)


def seeded(*of):
    return random.Random(repr(of))
