#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two equal lines of 300 MB through a pipe: one comes out, in the memory that is promised.

  tests/command/long_record.py --nodup build/dev/bin/nodup [--bytes 300000000]

Promised: the filter, 64 MiB, and twice the longest record, whatever the number of threads.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

MIB = 1 << 20


def feed(pipe, size):
    block = b"x" * MIB
    with pipe:
        for _ in range(2):
            left = size
            while left > 0:
                left -= pipe.write(block[: min(left, MIB)])
            pipe.write(b"\n")


def run(nodup, size, threads):
    """Bytes that came out, peak memory, what is promised."""
    with tempfile.TemporaryFile() as messages:
        process = subprocess.Popen([nodup, "--stats", "json", "-t", str(threads)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=messages)
        feeder = os.fork()
        if feeder == 0:
            process.stdout.close()
            feed(process.stdin, size)
            os._exit(0)
        process.stdin.close()
        received, lines = 0, 0
        while block := process.stdout.read(MIB):
            received += len(block)
            lines += block.count(b"\n")
            if block.strip(b"x\n"):
                raise AssertionError("other bytes came out than went in")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        os.waitpid(feeder, 0)
        messages.seek(0)
        stats = json.loads(messages.read())
    if process.returncode != 0 or (received, lines) != (size + 1, 1):
        raise AssertionError(f"exit code {process.returncode}, {received} bytes in {lines} lines came out")
    if (stats["events"], stats["distinct"]) != (2, 1):
        raise AssertionError(f"counted {stats}")
    return usage.ru_maxrss * 1024, stats["memory_bytes"] + 64 * MIB + 2 * size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodup", required=True)
    parser.add_argument("--bytes", type=int, default=300_000_000)
    options = parser.parse_args()
    failed = 0
    for threads in (1, 4):
        peak, promised = run(os.path.abspath(options.nodup), options.bytes, threads)
        print(f"{threads} threads: peak {peak / MIB:.0f} MiB, promised {promised / MIB:.0f} MiB")
        failed += peak > promised
    return 1 if failed else 0


sys.exit(main())
