#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills `nodup set` at random moments and checks its promise: a change is made as a whole or not at all.

  tests/command/kill_set.py --nodup build/dev/bin/nodup [--kills 57] [--seed 1]

A change of a set is the same every time it is made, so it is first made on a copy. Then it is begun on the set itself
again and again, and ended by SIGKILL, SIGTERM or SIGINT. After each, the file holds the bytes of before or those of the
copy; once it holds the latter, the next change is prepared. In the end every change has been made once. And while a
change is under way, a second one is refused.
"""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


class Scene:
    def __init__(self, nodup, folder, rng):
        self.nodup, self.folder, self.rng = nodup, Path(folder), rng
        self.set, self.keys = self.folder / "set", self.folder / "keys"
        self.kills = {"unchanged": 0, "changed": 0}

    def words(self, verb, path):
        return [self.nodup, "set", verb, str(path), "-q", str(self.keys)]

    def prepare(self, verb, numbers):
        """What the set will be after the change, and how long that takes."""
        self.keys.write_text("".join(f"{number}\n" for number in numbers))
        copy = self.folder / "copy"
        shutil.copy(self.set, copy)
        begin = time.perf_counter()
        subprocess.run(self.words(verb, copy), check=True)
        return copy.read_bytes(), time.perf_counter() - begin

    def change(self, verb, numbers):
        before = self.set.read_bytes()
        after, seconds = self.prepare(verb, numbers)
        if after == before:
            raise AssertionError("the change changes nothing: it would prove nothing")
        for attempt in range(100):
            end = self.rng.choice([signal.SIGKILL] * 3 + [signal.SIGTERM, signal.SIGINT])
            process = subprocess.Popen(self.words(verb, self.set), stderr=subprocess.PIPE)
            # The later half is where the file is written. Once in a while nobody interrupts.
            time.sleep(self.rng.uniform(0, 1.1) * seconds)
            if attempt < 99:
                process.send_signal(end)
            messages = process.stderr.read()
            process.stderr.close()
            code = process.wait(timeout=60)
            if code not in {0, -end}:
                raise AssertionError(f"exit code {code}: {messages!r}")
            content = self.set.read_bytes()
            if content not in (before, after):
                raise AssertionError(f"after signal {end} at a {verb} the set is neither the old nor the new one")
            if code == 0 and content != after:
                raise AssertionError(f"a {verb} that ended well has changed nothing")
            if end != signal.SIGKILL and code == -end and content == before and b"is unchanged" not in messages:
                # Before anything was set up a signal simply ends the process.
                if messages:
                    raise AssertionError(f"interrupted, but said {messages!r}")
            if code != 0:
                self.kills["changed" if content == after else "unchanged"] += 1
            if content == after:
                return
        raise AssertionError("the change was never made")

    def check_refused(self):
        """A second change while one is waiting for its input; `match` may still ask."""
        first = subprocess.Popen([self.nodup, "set", "add", str(self.set), "-q"], stdin=subprocess.PIPE)
        lock = Path(str(self.set) + ".lock")
        while not lock.exists():
            time.sleep(0.01)
        time.sleep(0.2)  # the file of the lock is made before it is taken
        second = subprocess.run([self.nodup, "set", "remove", str(self.set)], input=b"1\n", capture_output=True,
                                check=False)
        if second.returncode != 1 or b"is in use by another process" not in second.stderr:
            raise AssertionError(f"two changes at once: exit code {second.returncode}, {second.stderr!r}")
        subprocess.run([self.nodup, "match", str(self.set), "-q"], input=b"1\n", stdout=subprocess.DEVNULL, check=True)
        before = self.set.read_bytes()
        first.send_signal(signal.SIGINT)
        first.stdin.close()
        first.wait(timeout=60)
        if self.set.read_bytes() != before or lock.exists():
            raise AssertionError("an interrupted change has left something behind")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodup", required=True)
    parser.add_argument("--kills", type=int, default=57)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    nodup = os.path.abspath(options.nodup)
    rng = random.Random(options.seed)
    kills = {"unchanged": 0, "changed": 0}
    changes = 0
    while sum(kills.values()) < options.kills:
        with tempfile.TemporaryDirectory(prefix="nodup_kill_set_") as folder:
            scene = Scene(nodup, folder, rng)
            # A large set makes saving long, so that some kills fall into it.
            subprocess.run([nodup, "set", "add", str(scene.set), "-q", "--events", str(rng.choice([10_000, 2_000_000]))],
                           input=b"1\n", check=True)
            scene.check_refused()
            held = list(range(2, 20_000))
            scene.change("add", held)
            for _ in range(2):
                rng.shuffle(held)
                gone, held = held[:5000], held[5000:]
                scene.change("remove", gone)
                changes += 1
            answer = subprocess.run([nodup, "match", str(scene.set), "-q", "--count"], check=True, capture_output=True,
                                    input="".join(f"{number}\n" for number in held).encode())
            if int(answer.stdout) != len(held):
                raise AssertionError(f"{len(held)} keys are held, {answer.stdout} are found")
            for outcome in kills:
                kills[outcome] += scene.kills[outcome]
    print(f"{sum(kills.values())} changes were ended from outside: {kills['unchanged']} changed nothing, "
          f"{kills['changed']} were complete already")
    if kills["unchanged"] < options.kills // 5:
        print("the kills came too late to prove anything")
        return 1
    return 0


sys.exit(main())
