"""Converts the html5lib test suites to the data files in this directory.

    python3 express.py HTML5LIB_TESTS

An encoding case becomes its bytes (each as the character with its value) and the encoding. A tree
construction case becomes its input and the title in the expected tree. README.md lists the omitted
cases.
"""

import json
import sys
from pathlib import Path

NAMES = {"data", "errors", "new-errors", "document-fragment", "script-on", "script-off", "document",
         "encoding"}


def cases(text):
    """Returns the sections of each case, by name."""
    found, name = [], None
    for line in text.split("\n"):
        if line[:1] == "#" and line[1:] in NAMES:
            name = line[1:]
            if name == "data":
                found.append({})
            found[-1][name] = []
        elif name:
            found[-1][name].append(line)
    return [{name: "\n".join(lines) for name, lines in case.items()} for case in found]


def nodes(tree):
    """Returns (depth, node) in tree order. Text may contain line ends."""
    found = []
    for line in tree.split("\n"):
        if line.startswith("| "):
            text = line[2:]
            node = text.lstrip(" ")
            found.append([len(text) - len(node), node])
        elif found:
            found[-1][1] += "\n" + line
    return found


def title(tree):
    """Returns the text of the first HTML title outside templates, collapsed, or None."""
    template, at, text = None, None, ""
    for depth, node in nodes(tree.rstrip("\n")):
        if at is not None:
            if depth <= at:
                break
            if depth == at + 2 and node.startswith('"'):
                text += node[1:-1]
        elif template is not None and depth > template:
            continue
        elif node == "<template>":
            template = depth
        elif node == "<title>":
            template, at = None, depth
        else:
            template = None
    if at is None:
        return None
    for space in "\t\n\f\r":
        text = text.replace(space, " ")
    return " ".join(word for word in text.split(" ") if word)


def write(name, rows):
    with open(Path(__file__).parent / name, "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def main(suite):
    rows = []
    for path in sorted((suite / "encoding").glob("*.dat")):
        for case in cases(path.read_text("latin-1")):
            rows.append([path.name, case["data"], case["encoding"].strip()])
    write("html5lib_encoding.json", rows)
    rows, left_out = [], {}
    for path in sorted((suite / "tree-construction").glob("*.dat")):
        for case in cases(path.read_text("utf-8")):
            reason = next((name for name in ("document-fragment", "script-off") if name in case), None)
            if reason:
                left_out.setdefault(reason, []).append(path.name)
            else:
                rows.append([path.name, case["data"], title(case["document"])])
    write("html5lib_titles.json", rows)
    print(len(rows), "trees,", sum(row[2] is not None for row in rows), "with a title")
    for reason, files in left_out.items():
        print("left out:", reason, len(files), {name: files.count(name) for name in files})


main(Path(sys.argv[1]))
