#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`nodup join` beside a join by brute force: random small files of lines, columns and JSON, mixed; all types; the output
byte for byte, and what the report counts.

  tests/command/join_twin.py --nodup build/dev/bin/nodup [--runs 150] [--seed 1]

Every run is a function of its seed: `--seed N --runs 1` repeats run N alone. Each is done with 1 and with 4 threads, and
with rows that match nothing added to one side, then to the other, so that each of the two is the larger once.
"""
import argparse
import json
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

MARK = b"\xef\xbb\xbf"
VALUES = ["1", "2", "3", "17", "x", "y z", "\u00e9", 'say "hi"', "a,b", "", "true", "1.0", "\u65e5\u672c", "-5"]


@dataclass
class Row:
    raw: bytes
    key: tuple = None  # None: matches nothing
    broken: bool = False  # behind its key: cannot be put together with another
    members: list = field(default_factory=list)  # JSON: (name, raw name, raw value)
    columns: list = field(default_factory=list)


@dataclass
class Side:
    kind: str  # line, col or json
    fields: int
    separator: bytes = b"\n"
    quoted: bool = True
    header: list = None  # names of the columns
    rows: list = field(default_factory=list)
    mark: bool = False
    key: str = ""
    key_columns: list = field(default_factory=list)
    key_names: list = field(default_factory=list)
    header_raw: bytes = b""
    ends: bool = True  # the last record has its separator
    returns: bool = False  # rows of columns end with a carriage return
    filling: str = "v"  # long: rows that a small --memory cannot hold

    def bytes(self):
        records = ([self.header_raw] if self.header is not None else []) + [row.raw for row in self.rows]
        # An empty record is one only if it has its separator.
        ends = records and (self.ends or records[-1] == b"")
        text = self.separator.join(records) + (self.separator if ends else b"")
        return (MARK if self.mark and text else b"") + text


# ---- making files -------------------------------------------------------------------------------------------------

def json_text(value, rng):
    return json.dumps(value, ensure_ascii=rng.random() < 0.5).encode()


def json_value(text, rng):
    """A value whose text is `text`: a string, or what it spells if that is a number or a literal."""
    if text in ("1", "2", "3", "17", "1.0", "-5", "true") and rng.random() < 0.6:
        return text.encode()
    return json_text(text, rng)


def json_row(side, texts, rng):
    members = []
    for name, text in zip(side.key_names, texts):
        if text is None:
            if rng.random() < 0.5:
                members.append((name, json_text(name, rng), b"null"))
        else:
            members.append((name, json_text(name, rng), json_value(text, rng)))
    for _ in range(rng.randrange(4)):
        name = rng.choice(["a", "b", "right.a", "n\u00e4me", "line", "1", "2", "id"])
        if name not in side.key_names:
            members.append((name, json_text(name, rng),
                            rng.choice([b"1", b'"%s"' % side.filling.encode(), b'{"deep": [1, {}]}', b"[ ]", b"null", b'"\\u00e9\\n"', b"-1e3"])))
    rng.shuffle(members)
    row = Row(b"", members=members)
    body = b"{" + (b", " if rng.random() < 0.3 else b",").join(
        raw + rng.choice([b":", b": "]) + value for _, raw, value in members)
    row.end = b"}" + rng.choice([b"", b"", b" ", b"\r"])
    row.begin = body
    row.raw = body + rng.choice([b"", b" "]) + row.end
    if None not in texts:
        row.key = tuple(texts)
    if rng.random() < 0.04 and len(members) > 0 and row.key is not None:
        row.raw, row.broken = body + b',"x":nonsense' + row.end, True
    elif rng.random() < 0.02:
        row.raw, row.key = b'{"user":', None
    return row


def csv_field(text, side, rng):
    data = text.encode()
    if side.quoted and (any(c in data for c in b',"\n\r') or rng.random() < 0.2):
        return b'"' + data.replace(b'"', b'""') + b'"'
    return data


def col_row(side, texts, rng):
    width = len(side.header) if side.header is not None else 3
    if rng.random() < 0.05:
        width = rng.randrange(1, 6)  # ragged
    columns = [rng.choice([side.filling, "w,w" if side.quoted else "w", "line\nbreak" if side.quoted else "l", ""])
               for _ in range(width)]
    key = []
    for column, text in zip(side.key_columns, texts):
        if column < width:
            columns[column] = text or ""
            key.append(text or "")
        else:
            key.append(None)
    row = Row(b",".join(csv_field(c, side, rng) for c in columns), columns=columns)
    row.key = None if None in key else tuple(key)
    row.end = b"\r" if side.returns and side.separator == b"\n" else b""
    row.begin = row.raw
    row.raw += row.end
    return row


def line_row(side, texts, _):
    return Row((texts[0] or "").encode(), key=(texts[0] or "",))


def make_row(side, texts, rng):
    return {"json": json_row, "col": col_row, "line": line_row}[side.kind](side, texts, rng)


def make_side(kind, fields, separator, quoted, header, rng):
    side = Side(kind, fields, separator, quoted)
    side.returns = rng.random() < 0.2
    side.mark = kind != "line" and rng.random() < 0.1
    side.ends = rng.random() < 0.8
    if kind == "json":
        side.key_names = rng.sample(["user", "day", "id", "ad,x"], fields)
        side.key = "json:" + ",".join(name.replace(",", "\\,") for name in side.key_names)
    elif kind == "col":
        names = ["id", "a", "name", "n\u00e4me", "b"][:rng.randrange(3, 6)]
        rng.shuffle(names)
        side.key_columns = rng.sample(range(3), fields)
        if header:
            side.header = names
            side.header_end = b"\r" if side.returns and separator == b"\n" else b""
            side.header_raw = ",".join(names).encode() + side.header_end
        side.key = "col:" + ",".join(names[c] if header and rng.random() < 0.5 else str(c + 1)
                                     for c in side.key_columns)
    else:
        side.key = "line"
    return side


def fill(side, count, values, rng):
    for _ in range(count):
        texts = [None if rng.random() < 0.05 else rng.choice(values) for _ in range(side.fields)]
        side.rows.append(make_row(side, texts, rng))


# ---- the twin -----------------------------------------------------------------------------------------------------

def kind_of_output(left, right, kind):
    if kind in ("semi", "anti") or right.kind == "line":
        return "left"
    return "objects" if "json" in (left.kind, right.kind) else "columns"


def quote_json(text):
    """As the command writes what was no JSON: only what must be escaped is."""
    out = '"'
    for c in text:
        if c in '"\\':
            out += "\\" + c
        elif c < " ":
            out += "\\u%04x" % ord(c)
        else:
            out += c
    return (out + '"').encode()


def names_of(side, count):
    header = side.header or []
    return [header[i] if i < len(header) else str(i + 1) for i in range(count)]


def as_members(side, row):
    """Names, and the raw text of the members of a row."""
    if side.kind == "json":
        return row.members
    if side.kind == "line":
        return [("line", b'"line"', quote_json(row.raw.decode()))]
    return [(n, quote_json(n), quote_json(c)) for n, c in zip(names_of(side, len(row.columns)), row.columns)]


def object_parts(side, row):
    if side.kind == "json":
        return row.begin, row.end
    return b"{" + b",".join(raw + b":" + value for _, raw, value in as_members(side, row)), b"}"


def join_objects(left, l, right, r):
    begin, end = object_parts(left, l)
    taken = [name for name, _, _ in as_members(left, l)]
    out = begin
    for i, (name, raw, value) in enumerate(as_members(right, r)):
        if (right.kind == "json" and name in right.key_names) or (right.kind == "col" and i in right.key_columns):
            continue
        if name in taken:
            while name in taken:
                name = "right." + name
            raw = quote_json(name)
        out += (b"," if taken else b"") + raw + b":" + value
        taken.append(name)
    return out + end


def column_parts(left, l, right):
    if left.kind == "col":
        return l.begin, l.end
    text = l.raw
    if right.quoted and any(c in text for c in b',"\n\r'):
        text = b'"' + text.replace(b'"', b'""') + b'"'
    return text, b""


def expected(left, right, kind, drop_bad):
    """The output, and the left rows that have a match."""
    output = kind_of_output(left, right, kind)
    out = []
    if output == "left" and left.header is not None:
        out.append((MARK if left.mark else b"") + left.header_raw)
    if output == "columns":
        right_header = ",".join(right.header).encode() if right.header is not None else b""
        if left.kind == "col" and left.header is not None:
            out.append((MARK if left.mark else b"") + ",".join(left.header).encode() + b"," + right_header +
                       left.header_end)
        elif left.kind == "line" and right_header:
            out.append(b"line," + right_header)
    width = len(right.header) if right.header is not None else len(right.rows[0].columns) if right.rows else 0
    matches = {}
    for r in right.rows:
        if r.key is not None and not (r.broken and output == "objects"):
            matches.setdefault(r.key, []).append(r)
    for number, l in enumerate(left.rows):
        mark = MARK if left.mark and number == 0 and left.header is None and output != "objects" else b""
        found = matches.get(l.key, []) if l.key is not None else []
        unusable = l.broken and output == "objects"
        if found and not unusable:
            if kind == "anti":
                continue
            if kind == "semi":
                out.append(mark + l.raw)
                continue
            for r in found:
                if output == "left":
                    out.append(mark + l.raw)
                elif output == "columns":
                    begin, end = column_parts(left, l, right)
                    out.append(mark + begin + b"," + r.begin + end)
                else:
                    out.append(join_objects(left, l, right, r))
        elif kind in ("left", "anti"):
            if drop_bad and (l.key is None or (found and unusable)):
                continue
            if output == "left" or (output == "objects" and left.kind == "json"):
                out.append(mark + l.raw)
            elif output == "columns":
                begin, end = column_parts(left, l, right)
                out.append(mark + begin + b"," * width + end)
            else:
                begin, end = object_parts(left, l)
                out.append(begin + end)
    return b"".join(row + left.separator for row in out)


# ---- one run ------------------------------------------------------------------------------------------------------

def run(nodup, seed, folder, spilled):
    rng = random.Random(seed)
    fields = rng.choice([1, 1, 2])
    kinds = ["json", "col"] + (["line"] if fields == 1 else [])
    left_kind, right_kind = rng.choice(kinds), rng.choice(kinds)
    header, quoted = rng.random() < 0.5, rng.random() < 0.8
    separator = b"\0" if rng.random() < 0.1 else b"\n"
    kind = rng.choice(["inner", "left", "semi", "anti"])
    drop_bad = rng.random() < 0.3
    left = make_side(left_kind, fields, separator, quoted, header, rng)
    right = make_side(right_kind, fields, separator, quoted, header, rng)
    values = [v for v in VALUES if quoted or "," not in v]
    long_rows = rng.random() < 0.15
    if long_rows:
        left.filling = right.filling = "v" * 5000
    fill(left, 200 if long_rows else rng.choice([0, 3, 40, 300]), values, rng)
    fill(right, 150 if long_rows else rng.choice([0, 3, 40]), values, rng)
    words = [nodup, "join", "--stats", "json", "--on", left.key, "--right-on", right.key, "--type", kind]
    if "col" in (left_kind, right_kind):
        words += (["--csv"] if quoted else ["--delimiter", ","]) + (["--header"] if header else [])
    if separator == b"\0":
        words.append("--null")
    if drop_bad:
        words += ["--on-error", "drop"]
    for larger, other in ((left, right), (right, left)):
        while len(larger.bytes()) <= len(other.bytes()) + 1:
            text = f"only {larger.kind} {len(larger.rows)} " + "-" * max(0, len(other.bytes()) - len(larger.bytes()))
            larger.rows.append(make_row(larger, [text] * fields, rng))
        Path(folder, "left").write_bytes(left.bytes())
        Path(folder, "right").write_bytes(right.bytes())
        want = expected(left, right, kind, drop_bad)
        for threads in ("1", "4"):
            memory = ["--memory", "256K"] if long_rows else []
            got = subprocess.run(words + ["--threads", threads] + memory + ["left", "right"], cwd=folder,
                                 capture_output=True, check=False)
            if got.returncode != 0 or got.stdout != want:
                Path(folder, "want").write_bytes(want)
                Path(folder, "got").write_bytes(got.stdout)
                return f"seed {seed}: {' '.join(words)}: exit {got.returncode}, outputs differ\n{got.stderr.decode()}"
            stats = json.loads(got.stderr.decode().splitlines()[-1])
            spilled.append(stats["file_bytes"] > 0)
            wrong = check(stats, left, right, larger is left, want)
            if wrong:
                return f"seed {seed}: {' '.join(words)}: {wrong}\n{stats}"
    return None


def check(stats, left, right, left_streams, want):
    kept, streamed = (right, left) if left_streams else (left, right)
    output = kind_of_output(left, right, stats["type"])
    keys = {r.key for r in kept.rows if r.key is not None}
    matched = sum(r.key in keys for r in streamed.rows)
    checks = [
        ("streamed", "left" if left_streams else "right"),
        ("keys", len(keys)),
        ("matched_rows", matched),
        ("false_positives", stats["passed_rows"] - matched),
        ("bytes_written", len(want)),
    ]
    for name, value in checks:
        if stats[name] != value:
            return f"{name} is {stats[name]}, should be {value}"
    # A right row that is broken behind its key counts if it has a match, whichever side is larger.
    left_keys = {l.key for l in left.rows if l.key is not None}
    bad = sum(r.key is None or (r.broken and output == "objects" and r.key in left_keys) for r in right.rows)
    if stats["right"]["bad_records"] != bad:
        return f"bad records of the right are {stats['right']['bad_records']}, should be {bad}"
    for name, side in (("left", left), ("right", right)):
        if stats[name]["rows"] != len(side.rows) or stats[name]["bytes"] != len(side.bytes()):
            return f"the counts of the {name} side are wrong"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodup", required=True)
    parser.add_argument("--runs", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    nodup = str(Path(arguments.nodup).resolve())
    with tempfile.TemporaryDirectory() as folder:
        spilled = []
        for seed in range(arguments.seed, arguments.seed + arguments.runs):
            failure = run(nodup, seed, folder, spilled)
            if failure:
                keep = Path(tempfile.mkdtemp(prefix="nodup_join_twin_"))
                for file in Path(folder).iterdir():
                    (keep / file.name).write_bytes(file.read_bytes())
                sys.exit(f"{failure}\nthe files are in {keep}")
    if arguments.runs >= 100 and not any(spilled):
        sys.exit("no join needed its temporary file: the test has lost a part of its purpose")
    print(f"{arguments.runs} joins agree, with a temporary file {sum(spilled)} of {len(spilled)} times")


if __name__ == "__main__":
    main()
