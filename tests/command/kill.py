#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills the command at random moments and checks its promise: a crash loses no event.

  tests/command/kill.py --nodup build/dev/bin/nodup [--kills 50] [--seed 1]

A producer that delivers at least once feeds the keys in chunks, and feeds a chunk from its beginning again until one
run has taken it to its end. Runs before that are ended by SIGKILL, sometimes by SIGTERM or SIGINT. After each of them
  - the state loads (`nodup info`),
  - every key that the state knows is in the output: whatever it suppresses from now on has come out,
and in the end every key has come out. Keys have one length, so that a torn line is never another key.
"""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

KEYS_PER_CHUNK = 4000
KEY_LENGTH = 12


def make_keys(rng, number):
    fresh = [f"k{number:03d}{i:08d}".encode() for i in range(KEYS_PER_CHUNK)]
    return [rng.choice(fresh) if rng.random() < 0.3 else key for key in fresh] + fresh[-1:]


class Feeder(threading.Thread):
    """Writes the keys in small pieces, slowly enough for checkpoints to fall in between."""

    def __init__(self, rng, pipe, keys, slow):
        super().__init__()
        self.rng, self.pipe, self.keys, self.slow = random.Random(rng.random()), pipe, keys, slow

    def run(self):
        data = b"".join(key + b"\n" for key in self.keys)
        try:
            with self.pipe:
                while data:
                    size = self.rng.randrange(1, 2000)
                    self.pipe.write(data[:size])
                    self.pipe.flush()
                    data = data[size:]
                    if self.slow:
                        time.sleep(0.015)
        except (BrokenPipeError, ConnectionResetError):
            pass


class Scene:
    def __init__(self, nodup, folder, rng, append, threads, events):
        self.nodup, self.folder, self.rng = nodup, folder, rng
        self.append, self.threads, self.events = append, threads, events
        self.state, self.output = folder / "state", folder / "output"
        self.kills = 0
        self.checkpoints = 0

    def start(self):
        words = [self.nodup, "--state", str(self.state), "--checkpoint", "0.01s", "--error", "1e-9", "-q",
                 "-n", str(self.events), "-t", str(self.threads)]
        if self.append:
            with open(self.output, "ab") as out:
                return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=out, stderr=subprocess.PIPE)
        return subprocess.Popen([*words, "-o", str(self.output)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)

    def run(self, keys, end):
        """Feeds the keys; ends the run by the signal `end` at a random moment, or lets it end by itself."""
        process = self.start()
        feeder = Feeder(self.rng, process.stdin, keys, slow=end is not None)
        feeder.start()
        if end is not None:
            time.sleep(self.rng.uniform(0.02, 0.8))
            process.send_signal(end)
            self.kills += 1
        messages = process.stderr.read()
        code = process.wait(timeout=60)
        feeder.join()
        process.stderr.close()
        # A run may have ended by itself before the signal came.
        if code not in ({0} if end is None else {0, -end}):
            raise AssertionError(f"exit code {code}: {messages!r}")
        if end == signal.SIGKILL:
            self.check_state(keys)
        return code

    def came_out(self):
        return self.output.read_bytes().split(b"\n") if self.output.exists() else []

    def check_state(self, keys):
        if not self.state.exists():
            return
        subprocess.run([self.nodup, "info", str(self.state)], check=True, stdout=subprocess.DEVNULL)
        copy, known = self.folder / "copy", self.folder / "known"
        shutil.copy(self.state, copy)
        # With --invert what the state knows passes; keys that repeat within the chunk do too, so each is asked once.
        asked = b"".join(key + b"\n" for key in sorted(set(keys)))
        subprocess.run([self.nodup, "--state", str(copy), "-q", "--invert", "-o", str(known)], input=asked, check=True)
        known_keys = set(known.read_bytes().split()) if known.exists() else set()
        known.unlink(missing_ok=True)
        copy.unlink()
        if known_keys:
            self.checkpoints += 1
        lost = known_keys - set(self.came_out())
        if lost:
            raise AssertionError(f"{len(lost)} keys are in the state but never came out, e.g. {min(lost)!r}")

    def check_output(self, fed):
        lines = self.came_out()
        lost = fed - set(lines)
        if lost:
            raise AssertionError(f"{len(lost)} of {len(fed)} keys never came out, e.g. {min(lost)!r}")
        prefixes = {key[:i] for key in fed for i in range(KEY_LENGTH + 1)}
        strange = [line for line in lines if line not in prefixes]
        if strange:
            raise AssertionError(f"{len(strange)} lines are neither keys nor torn ones, e.g. {strange[0]!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodup", required=True)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    nodup = os.path.abspath(options.nodup)
    rng = random.Random(options.seed)
    kills = checkpoints = scenes = 0
    while kills < options.kills:
        with tempfile.TemporaryDirectory(prefix="nodup_kill_") as folder:
            # The large filter makes saving long, so that some kills fall into it.
            scene = Scene(nodup, Path(folder), rng, append=scenes % 2 == 0, threads=rng.choice([1, 2, 4]),
                          events=rng.choice([20_000, 20_000, 3_000_000]))
            fed = set()
            for chunk in range(2):
                keys = make_keys(rng, chunk)
                fed |= set(keys)
                for _ in range(rng.randrange(2, 5)):
                    end = rng.choice([signal.SIGKILL] * 4 + [signal.SIGTERM, signal.SIGINT])
                    scene.run(keys, end)
                scene.run(keys, None)
            scene.check_output(fed)
            kills, checkpoints, scenes = kills + scene.kills, checkpoints + scene.checkpoints, scenes + 1
    print(f"{kills} runs were ended from outside in {scenes} scenes; no key was lost")
    if checkpoints < kills // 5:
        print(f"only {checkpoints} of the states held keys of their chunk: the kills came too early to prove anything")
        return 1
    return 0


sys.exit(main())
