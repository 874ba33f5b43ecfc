#!/usr/bin/env python3
"""Checks tflint's rules for modules, without tflint: lint.py TERRAFORM_FOLDER

Variables and outputs need a description and a type, and root variables a validation unless they are
booleans. Every declaration must be used, have a name in snake case, and be in its file. Every
skipped check needs a reason. The parser is checkov's.
"""
import glob
import os
import re
import sys

import hcl2

# A reason has at least three words.
SKIP = re.compile(r"#checkov:skip=CKV2?_AWS_\d+:\S+ \S+ \S+")
REFERENCE = {"variable": r"\bvar\.{}\b", "local": r"\blocal\.{}\b", "data": r"\bdata\.{}\b"}


def plain(text):
    return text.strip('"')


def declarations(document):
    for kind in ("variable", "output", "resource", "data", "module"):
        for block in document.get(kind, []):
            for label, body in block.items():
                if kind in ("resource", "data"):
                    for name, inner in body.items():
                        yield kind, f"{plain(label)}.{plain(name)}", inner
                else:
                    yield kind, plain(label), body
    for block in document.get("locals", []):
        for name in block:
            if not name.startswith("__"):
                yield "local", plain(name), {}


def check_declaration(kind, name, body, file, is_root, code):
    if kind in ("variable", "output") and not body.get("description"):
        yield "no description"
    if kind == "variable" and "type" not in body:
        yield "no type"
    if kind == "variable" and is_root and not body.get("validation") \
            and body.get("type") != ["${bool}"]:
        yield "no validation"
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name.rsplit(".", maxsplit=1)[-1]):
        yield "not in snake case"
    # A data source with a condition is used for this condition.
    if kind in REFERENCE and not body.get("lifecycle") and not re.search(REFERENCE[kind].format(re.escape(name)), code):
        yield "declared, never used"
    if kind in ("variable", "output") and file != f"{kind}s.tf":
        yield f"belongs in {kind}s.tf"


def check_module(folder, is_root):
    texts = {}
    for path in sorted(glob.glob(folder + "/*.tf")):
        with open(path, encoding="utf-8") as file:
            texts[os.path.basename(path)] = file.read()
    code = re.sub(r"(?m)^\s*(#|//).*$", "", "\n".join(texts.values()))
    for file, text in texts.items():
        for kind, name, body in declarations(hcl2.loads(text)):
            for fault in check_declaration(kind, name, body, file, is_root, code):
                yield f"{folder}/{file}: {kind} {name}: {fault}"
        for number, line in enumerate(text.splitlines(), 1):
            if "checkov:skip" in line and not SKIP.search(line):
                yield f"{folder}/{file}:{number}: a check is skipped without a reason"
            if re.search(r'=\s*"\$\{[^}"]+\}"\s*$', line):
                yield f"{folder}/{file}:{number}: a string of one value: leave out the quotes"
    for file in ("main.tf", "variables.tf", "outputs.tf", "versions.tf"):
        if file not in texts:
            yield f"{folder}: no {file}"
    for word in ("required_version", "required_providers"):
        if word not in texts.get("versions.tf", ""):
            yield f"{folder}/versions.tf: no {word}"


def main():
    root = sys.argv[1].rstrip("/")
    faults = list(check_module(root, True))
    for folder in sorted(glob.glob(root + "/modules/*")):
        faults += check_module(folder, False)
    print("\n".join(faults) or "lint: nothing to say")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
