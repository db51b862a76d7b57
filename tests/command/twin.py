#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole command beside an exact twin: random small streams, random flags, both outputs byte for byte.

  tests/command/twin.py --nodup build/dev/bin/nodup [--runs 600] [--seed 1]

Every run is a function of its seed: `--seed N --runs 1` repeats run N alone. Every third run has a sliding window; there
the twin follows the command's verdicts, because keys a little older than the window may go either way, and says which
verdicts cannot be.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path


@dataclass
class Case:
    kind: str  # line, csv, tsv or json
    inputs: list
    separator: bytes = b"\n"
    header: bool = False
    columns: list = field(default_factory=list)
    paths: list = field(default_factory=list)
    on_error: str = "pass"
    invert: bool = False


# ---- the twin -----------------------------------------------------------------------------------------------------

def cut_plain(text, separator):
    """Records and whether each had its separator."""
    if not text:
        return []
    pieces = text.split(separator)
    if pieces[-1] == b"":
        return [(p, True) for p in pieces[:-1]]
    return [(p, i + 1 < len(pieces)) for i, p in enumerate(pieces)]


def cut_quoted(text, separator):
    """As RFC 4180 has it: rows and, for each, its columns, or None where quotes never close."""
    rows, row, column, raw = [], [], bytearray(), bytearray()
    state = "start"
    for value in text:
        byte = bytes([value])
        if state == "quoted":
            raw += byte
            if byte == b'"':
                state = "after"
            else:
                column += byte
        elif state == "after" and byte == b'"':
            raw += byte
            column += byte
            state = "quoted"
        elif byte == separator:
            row.append(bytes(column))
            rows.append((bytes(raw), True, row))
            row, column, raw, state = [], bytearray(), bytearray(), "start"
        else:
            raw += byte
            if byte == b",":
                row.append(bytes(column))
                column, state = bytearray(), "start"
            elif state == "start" and byte == b'"':
                state = "quoted"
            else:
                column += byte
                state = "plain"
    if raw:
        row.append(bytes(column))
        rows.append((bytes(raw), False, None if state == "quoted" else row))
    return rows


def strip_return(row, separator):
    return row[:-1] if separator == b"\n" and row.endswith(b"\r") else row


def json_key(record, paths):
    try:
        value = json.loads(record)
    except ValueError:
        return None
    key = []
    for path in paths:
        at = value
        for step in path.split("."):
            if not isinstance(at, dict) or step not in at:
                return None
            at = at[step]
        key.append((type(at).__name__, at))
    return tuple(key)


def keyed_records(case, text):
    """(bytes, had a separator, key or None) of every record."""
    if case.kind == "csv":
        for raw, ended, columns in cut_quoted(text, case.separator):
            if columns is not None:
                columns = columns[:-1] + [strip_return(columns[-1], case.separator)]
            ok = columns is not None and len(columns) >= max(case.columns)
            yield raw, ended, tuple(columns[c - 1] for c in case.columns) if ok else None
        return
    for raw, ended in cut_plain(text, case.separator):
        if case.kind == "line":
            yield raw, ended, raw
        elif case.kind == "json":
            yield raw, ended, json_key(raw, case.paths)
        else:
            columns = strip_return(raw, case.separator).split(b"\t")
            ok = len(columns) >= max(case.columns)
            yield raw, ended, tuple(columns[c - 1] for c in case.columns) if ok else None


class Output:
    def __init__(self, separator):
        self.text, self.separator, self.owes = bytearray(), separator, False

    def add(self, record, ended):
        if self.owes:
            self.text += self.separator
        self.text += record
        if ended:
            self.text += self.separator
        self.owes = not ended


def twin(case):
    """Passed, dropped, and whether the run fails."""
    passed, dropped = Output(case.separator), Output(case.separator)
    seen, header_out = set(), False
    for text in case.inputs:
        for number, (record, ended, key) in enumerate(keyed_records(case, text)):
            if case.header and number == 0:
                if not header_out:
                    passed.add(record, ended)
                    dropped.add(record, ended)
                header_out = True
                continue
            if key is None:
                if case.on_error == "fail":
                    return bytes(passed.text), None, True
                passes = case.on_error == "pass"
            else:
                passes = (key not in seen) != case.invert
                seen.add(key)
            (passed if passes else dropped).add(record, ended)
    return bytes(passed.text), bytes(dropped.text), False


# ---- random cases -------------------------------------------------------------------------------------------------

def some_text(rng, pieces, most):
    return b"".join(rng.choice(pieces) for _ in range(rng.randrange(most)))


def json_record(rng):
    if rng.random() < 0.06:
        return rng.choice([b"", b"broken", b"[1]", b'{"u":', b'{"v":1}', b'{"u":}', b"{}"])
    user = rng.choice(["1", '"1"', '"a"', '"\\u00e9"', '"\u00e9"', '"e\\u0301"', "null", "true", "2", '""', '"\\n"'])
    shop = rng.choice(["1", "2", '"x"'])
    pad = " " * rng.randrange(3)
    fields = [f'"u":{pad}{user}', f'"ad":{{"id":{shop},"n":{rng.randrange(3)}}}', f'"at":{rng.randrange(1000)}']
    rng.shuffle(fields)
    return ("{" + f",{pad}".join(fields) + "}").encode()


def random_case(rng):
    kind = rng.choice(["line", "line", "csv", "csv", "tsv", "json", "json"])
    case = Case(kind, [], on_error=rng.choice(["pass", "pass", "drop", "drop", "fail"]), invert=rng.random() < 0.2)
    if rng.random() < 0.2:
        case.separator = b"\0"
    if kind in ("csv", "tsv"):
        case.columns = rng.sample([1, 2, 3], rng.randrange(1, 3))
        case.header = rng.random() < 0.4
    if kind == "json":
        case.paths = rng.choice([["u"], ["ad.id"], ["u", "ad.id"], ["ad.id", "u"]])
    for _ in range(rng.choice([1, 1, 2, 3])):
        case.inputs.append(random_input(rng, case))
    return case


def random_input(rng, case):
    if rng.random() < 0.05:
        return b""
    separator, most = case.separator, rng.choice([3, 30, 300])
    if case.kind == "line":
        text = some_text(rng, [b"a", b"b", b"\r", b"\xff", b"\n", b"\0", b"\n", separator, b"long" * 50], most)
        # The first bytes of packed files would rightly be unpacked.
        return text
    if case.kind == "json":
        text = b"".join(json_record(rng) + separator for _ in range(rng.randrange(most)))
        return text[:-1] if rng.random() < 0.3 else text
    delimiter = b"," if case.kind == "csv" else b"\t"
    pieces = [b"a", b"b", delimiter, delimiter, b"\r", separator, separator, b"\r" + separator]
    if case.kind == "csv":
        pieces += [b'"', b'""', b'"a"', delimiter + b'"a\nb"' + delimiter, b'"x,y"' + separator]
    head = b"one" + delimiter + b"two" + delimiter + b"three" + separator if case.header else b""
    return head + some_text(rng, pieces, most)


def flags(rng, case):
    words = {"line": [], "csv": ["--csv"], "tsv": ["--tsv"], "json": []}[case.kind]
    if case.columns:
        words += ["--key", "col:" + ",".join(map(str, case.columns))]
    if case.paths:
        words += ["-k", "json:" + ",".join(case.paths)]
    if case.header:
        words.append("--header")
    if case.separator == b"\0":
        words.append("-0")
    if case.invert:
        words.append("--invert")
    words += ["--on-error", case.on_error, "-t", str(rng.choice([1, 1, 2, 3, 8])), "-q"]
    return words + rng.choice([["--error", "0"], ["--error", "1e-9"], ["--error", "1e-9", "--filter", "growing", "-n", "1"]])


# ---- windows ------------------------------------------------------------------------------------------------------

@dataclass
class WindowCase:
    span: int            # records or seconds
    by_time: bool
    rows: list           # (bytes, key or None, time or None)
    json: bool = False
    lateness: int = 0
    late: str = "pass"
    refresh: bool = False
    on_error: str = "pass"
    slack: float = 0.08


def window_case(rng):
    case = WindowCase(span=rng.choice([1, 3, 20, 300]), by_time=rng.random() < 0.6, rows=[], json=rng.random() < 0.5,
                      refresh=rng.random() < 0.4, on_error=rng.choice(["pass", "drop"]),
                      slack=rng.choice([0.08, 0.08, 0.5]))
    if case.by_time:
        case.lateness = rng.choice([0, 0, 1, case.span // 2, 2 * case.span])
        case.late = rng.choice(["pass", "drop"])
    keys, time = rng.choice([2, 10, 100]), 1_700_000_000
    jitter = rng.choice([0, 1, case.lateness, 2 * case.lateness])
    for number in range(rng.choice([5, 50, 500, 2000])):
        if rng.random() < 0.01:
            time += 3 * case.span  # an idle time
        time += rng.randrange(3)
        key, at = f"k{rng.randrange(keys)}", time - rng.randrange(jitter + 1)
        fault = rng.random()
        if fault < 0.01:
            key = None
        elif fault < 0.02 and case.by_time:
            at = rng.choice([None, 9_999_999_999])  # none, or one far ahead
        case.rows.append((window_row(rng, case.json, key, at, number), key,
                          None if at is None or at > 9_000_000_000 else at))
    return case


def time_text(rng, at):
    if at is None:
        return "soon"
    return rng.choice([f"{at}", f"{at}000", f"{at}.0", f"{at}000000000",
                       datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")])


def window_row(rng, as_json, key, at, number):
    """The number makes every row unique, so that the outputs tell what became of each."""
    text = time_text(rng, at)
    if as_json:
        fields = [f'"n":{number}', f'"at":{text}' if text[-1].isdigit() and "T" not in text else f'"at":"{text}"']
        if key is not None:
            fields.append(f'"id":"{key}"')
        rng.shuffle(fields)
        return ("{" + ",".join(fields) + "}").encode()
    return f"{number},{text},{key}".encode() if key is not None else f"{number},{text}".encode()


def window_flags(rng, case):
    words = ["--window", f"{case.span}s" if case.by_time else str(case.span), "--error", "1e-12", "--stats", "json"]
    words += ["--key", "json:id"] if case.json else ["-d", ",", "--key", "col:3"]
    if case.by_time:
        words += ["--time", "json:at" if case.json else "col:2", "--lateness", f"{case.lateness}s", "--late", case.late]
    if case.refresh:
        words.append("--refresh")
    if case.slack != 0.08 or rng.random() < 0.3:
        words += ["--slack", str(case.slack)]
    return words + ["--on-error", case.on_error, "-t", str(rng.choice([1, 1, 2, 3, 8]))]


def follow(case, verdicts):
    """Goes through the rows with the command's verdicts; what cannot be, and the counts there should be."""
    known, now, number = {}, 0, 0
    counts = {"events": 0, "distinct": 0, "duplicates": 0, "bad_records": 0, "late": 0}
    # Out of order, a key may be kept as long as if it had come in order.
    slack = max(case.slack * case.span, 1) + case.lateness * (1 + case.slack)
    for (row, key, at), passed in zip(case.rows, verdicts):
        number += 1
        counts["events"] += 1
        if key is None or (case.by_time and at is None):
            counts["bad_records"] += 1
            if passed != (case.on_error == "pass"):
                return f"bad record {row!r}", counts
            continue
        t = at if case.by_time else number
        now = max(now, t)
        late = now - t > case.lateness
        t = max(t, now - case.lateness)
        age = t - known[key] if key in known else float("inf")
        dropped_late = late and case.late == "drop" and not passed and age > case.span
        if age <= case.span and passed:
            return f"{row!r} passes, its key passed {age} before", counts
        if age > case.span + slack and not passed and not dropped_late:
            return f"{row!r} is dropped, its key passed {age} before", counts
        if late and case.late == "drop" and passed:
            return f"{row!r} is late and passes", counts
        if late and (passed or dropped_late):
            counts["late"] += 1
        if not dropped_late:
            counts["distinct" if passed else "duplicates"] += 1
        if passed or (case.refresh and not dropped_late):
            known[key] = max(known.get(key, 0), t)
    return None, counts


def run_window(nodup, seed, folder):
    """None, or the report of a difference."""
    rng = random.Random(seed)
    case = window_case(rng)
    words = window_flags(rng, case)
    for path in folder.iterdir():
        path.unlink()
    # In one run, or in two with a state.
    rows = [row for row, _, _ in case.rows]
    cuts = [0, rng.randrange(len(rows) + 1), len(rows)] if rng.random() < 0.4 else [0, len(rows)]
    words += ["-o", str(folder / "passed"), "-D", str(folder / "dropped")]
    if len(cuts) > 2:
        words += ["--state", str(folder / "state")]
    totals = {}
    for begin, end in zip(cuts, cuts[1:]):
        text = b"".join(row + b"\n" for row in rows[begin:end])
        done = subprocess.run([nodup, *words], input=text, capture_output=True, timeout=60)
        said = [line for line in done.stderr.decode().splitlines() if line.startswith("{")]
        if done.returncode != 0 or len(said) != 1:
            return f"run {seed}: {' '.join(words)}: exit code {done.returncode}, {done.stderr!r}"
        report = json.loads(said[0])
        report["late"] = report["window"]["late"]
        for name in ["events", "distinct", "duplicates", "bad_records", "late"]:
            totals[name] = totals.get(name, 0) + report[name]
    passed = (folder / "passed").read_bytes().splitlines()
    dropped = (folder / "dropped").read_bytes().splitlines()
    place = {row: i for i, row in enumerate(rows)}
    verdicts = {**{place[row]: True for row in passed}, **{place[row]: False for row in dropped}}
    for name, lines in [("passed", passed), ("dropped", dropped)]:
        if [place[row] for row in lines] != sorted(place[row] for row in lines):
            return f"run {seed}: {' '.join(words)}: {name} out of order"
    if len(passed) + len(dropped) != len(rows) or len(verdicts) != len(rows):
        return f"run {seed}: {' '.join(words)}: {len(rows)} rows became {len(passed)} and {len(dropped)}"
    problem, counts = follow(case, [verdicts[i] for i in range(len(rows))])
    if not problem and counts != totals:
        # An event that is late, a little older than the window and dropped may be a duplicate or dropped as late.
        unsure = case.late == "drop" and counts["late"] - totals["late"] == totals["duplicates"] - counts["duplicates"] > 0
        problem = None if unsure else f"counts {totals}, twin {counts}"
    if problem:
        return f"run {seed}: {' '.join(words)}: {problem}\n  {b' '.join(rows[:200])!r}"
    return None


# ---- running ------------------------------------------------------------------------------------------------------

def feed(rng, pipe, text):
    try:
        with pipe:
            while text:
                size = rng.choice([1, 2, 7, 100, 5000])
                pipe.write(text[:size])
                pipe.flush()
                text = text[size:]
    except BrokenPipeError:
        pass  # --on-error fail


def run(nodup, seed, folder):
    """None, or the report of a difference."""
    rng = random.Random(seed)
    case = random_case(rng)
    words = flags(rng, case)
    through_pipe = rng.randrange(len(case.inputs)) if rng.random() < 0.5 else None
    for i, text in enumerate(case.inputs):
        if i == through_pipe:
            words.append("-")
        else:
            path = folder / f"input{i}"
            path.write_bytes(text)
            words.append(str(path))
    dropped = folder / "dropped"
    dropped.unlink(missing_ok=True)
    with_dropped = rng.random() < 0.7
    if with_dropped:
        words += ["-D", str(dropped)]
    to_file = rng.random() < 0.3
    output = folder / "output"
    output.unlink(missing_ok=True)
    if to_file:
        words += ["-o", str(output)]
    process = subprocess.Popen([nodup, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    feeder = threading.Thread(
        target=feed, args=(rng, process.stdin, case.inputs[through_pipe] if through_pipe is not None else b""))
    feeder.start()
    stdout, stderr = process.stdout.read(), process.stderr.read()
    code = process.wait(timeout=60)
    feeder.join()
    process.stdout.close()
    process.stderr.close()

    want_passed, want_dropped, fails = twin(case)
    problems = []
    if code != (1 if fails else 0):
        problems.append(f"exit code {code}, stderr {stderr!r}")
    if to_file:
        if output.exists() == fails:
            problems.append("the output file must be there if and only if the run did not fail")
        passed = output.read_bytes() if output.exists() else want_passed
    else:
        passed = stdout
    if passed != want_passed:
        problems.append(f"passed {passed!r}\n  twin  {want_passed!r}")
    if with_dropped and dropped.exists() == fails:
        problems.append("the file of the dropped must be there if and only if the run did not fail")
    if with_dropped and dropped.exists() and dropped.read_bytes() != want_dropped:
        problems.append(f"dropped {dropped.read_bytes()!r}\n  twin   {want_dropped!r}")
    if [p.name for p in folder.iterdir() if "partial" in p.name]:
        problems.append("a half-written file stayed")
    if problems:
        return "\n  ".join([f"run {seed}: {' '.join(words)}", f"inputs {case.inputs!r}", *problems])
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodup", required=True)
    parser.add_argument("--runs", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="nodup_twin_") as folder:
        for seed in range(options.seed, options.seed + options.runs):
            one_run = run_window if seed % 3 == 0 else run
            report = one_run(os.path.abspath(options.nodup), seed, Path(folder))
            if report:
                failed += 1
                print(report)
    print(f"{options.runs - failed} passed, {failed} failed")
    return 1 if failed or options.runs == 0 else 0


sys.exit(main())
