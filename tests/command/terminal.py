#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a person at a terminal sees: a progress line while events come, gone at the end; silence where it is asked for.

  tests/command/terminal.py --nodup build/dev/bin/nodup
"""
import argparse
import os
import pty
import select
import signal
import subprocess
import sys
import time

PATIENCE = 30  # seconds until something that must come counts as missing
SILENCE = 1  # seconds in which something that must not come would have come


class Terminal:
    """The command with its standard error on a terminal; its standard input stays open."""

    def __init__(self, nodup, *flags):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([nodup, *flags], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        self.seen = b""
        self.process.stdin.write(b"a\nb\na\n")
        self.process.stdin.flush()

    def read_until(self, wanted, seconds):
        """True once `wanted` has been shown; reads on to the end where it is None."""
        end = time.monotonic() + seconds
        while wanted is None or wanted not in self.seen:
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            if not ready:
                return False
            try:
                piece = os.read(self.master, 65536)
            except OSError:  # the other side is closed
                piece = b""
            if not piece:
                return wanted is not None and wanted in self.seen
            self.seen += piece
        return True

    def finish(self):
        self.process.stdin.close()
        self.read_until(None, PATIENCE)
        os.close(self.master)
        return self.process.wait(timeout=PATIENCE)


def check(condition, what, terminal):
    if not condition:
        sys.exit(f"FAILED: {what}\nseen: {terminal.seen!r}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodup", required=True)
    nodup = os.path.abspath(parser.parse_args().nodup)

    shown = Terminal(nodup, "--stats", "none")
    check(shown.read_until(b"% duplicates", PATIENCE), "a progress line is shown", shown)
    check(b"3 events" in shown.seen and b"33.3 % duplicates" in shown.seen, "it tells what was done", shown)
    check(shown.finish() == 0, "exit code 0", shown)
    check(shown.seen.endswith(b"\r\x1b[K"), "it is gone at the end", shown)

    audited = Terminal(nodup, "--stats", "none", "--audit", "1")
    check(audited.read_until(b"lost 0 %  passed 0 %", PATIENCE), "the progress line tells what was measured", audited)
    check(audited.finish() == 0, "exit code 0", audited)

    for flags in (["--quiet"], ["--stats", "none", "--no-progress"]):
        silent = Terminal(nodup, *flags)
        silent.read_until(b"events", SILENCE)
        check(silent.finish() == 0 and silent.seen == b"", f"{flags} is silence", silent)

    asked = Terminal(nodup, "--no-progress")
    # The signal may come before the command is ready for it; then the statistics come at once when it is.
    time.sleep(0.2)
    asked.process.send_signal(signal.SIGUSR1)
    check(asked.read_until(b"expected lost", PATIENCE), "SIGUSR1 shows the statistics", asked)
    asked.finish()
    check(asked.seen.count(b"expected lost") == 2, "they come once more at the end", asked)
    print("all as it should be")


main()
