#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what the documents show.

  tests/command/readme.py --nodup build/dev/bin/nodup [--show] [README.md docs/guide.md ...]

  ```console   commands and what they print: a command test, in the language of tests/cli/run
  ```sh        a script: it must succeed; what it prints does not matter
  ```cpp       the content of a file in examples/, which the tests compile and run; its SPDX line may be left out

The blocks of one document share a temporary folder and run in their order. Other blocks (```text, ```) are only read.
--show prints the command test that a document becomes.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENTS = ["README.md", "docs/guide.md", "docs/sets.md"]


def blocks(text):
    """(language, first line number, lines) of every fenced block."""
    found, inside = [], None
    for number, line in enumerate(text.split("\n"), 1):
        if inside is None and line.startswith("```"):
            inside = (line[3:].strip(), number + 1, [])
        elif inside is not None and line == "```":
            found.append(inside)
            inside = None
        elif inside is not None:
            inside[2].append(line)
    if inside is not None:
        raise ValueError(f"line {inside[1] - 1}: a fence is never closed")
    return found


def command_test(found):
    """The console and sh blocks as one command test, each behind a comment that says where it stands."""
    parts = []
    for language, number, lines in found:
        if language == "console":
            if not lines or not lines[0].startswith("$ "):
                raise ValueError(f"line {number}: a console block begins with a command, `$ ...`")
            body = lines
        elif language == "sh":
            body = ["$ set -e"] + ["> " + line for line in lines] + ["..."]
        else:
            continue
        parts.append("\n".join([f"# line {number}", *body, ""]))
    return "\n".join(parts)


def without_licence(text):
    lines = text.strip("\n").split("\n")
    if lines[0].startswith("// SPDX-License-Identifier:"):
        lines = lines[1:]
    return "\n".join(lines).strip("\n")


def wrong_examples(found):
    """What is wrong with the cpp blocks."""
    known = {without_licence(path.read_text(encoding="utf-8")): path.name for path in (ROOT / "examples").glob("*.cpp")}
    return [f"line {number}: this cpp block equals no file in examples/ ({', '.join(sorted(known.values()))})"
            for language, number, lines in found
            if language == "cpp" and without_licence("\n".join(lines)) not in known]


def check(document, nodup, show):
    """True if all the document shows is so."""
    try:
        found = blocks(document.read_text(encoding="utf-8"))
        problems = wrong_examples(found)
        test = command_test(found)
    except (OSError, ValueError) as problem:
        problems, test = [str(problem)], ""
    for problem in problems:
        print(f"FAILED {document}: {problem}")
    if show:
        print(test)
    if not test:
        print(f"FAILED {document}: it shows no command")
        return False
    with tempfile.TemporaryDirectory(prefix="nodup_readme_") as folder:
        path = Path(folder) / f"{document.stem}.test"
        path.write_text(test, encoding="utf-8")
        print(f"{document}:", flush=True)
        result = subprocess.run([sys.executable, ROOT / "tests/cli/run", "--nodup", nodup, path], check=False)
    return not problems and result.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodup", type=Path, required=True, help="the binary to test")
    parser.add_argument("--show", action="store_true", help="print the command tests, too")
    parser.add_argument("documents", nargs="*", type=Path, default=[ROOT / name for name in DOCUMENTS])
    options = parser.parse_args()
    results = [check(document, options.nodup.resolve(), options.show) for document in options.documents]
    return 0 if all(results) else 1


sys.exit(main())
