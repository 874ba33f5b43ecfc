"""Reads a crate's modules from its source: their items, `use` trees and paths.

This understands names, but not types, so it cannot see what a macro creates or a trait selects.
Code that only tests compile is skipped.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from rust_tokens import MARK, NAME, NAMED_ITEMS, TEXT, matching, tokens_of, without_tests

PATH_IN_ATTRIBUTE = {
    "with", "default", "serialize_with", "deserialize_with", "skip_serializing_if", "from", "into",
    "try_from", "remote",
}


@dataclass
class Use:
    """A leaf in a `use` tree: the path, the imported name (None for `*`), its line, its `use`."""

    path: tuple
    name: str | None
    line: int
    public: bool
    statement: int


@dataclass
class Item:
    """A named item in a module. `visibility` is "", "pub" or the words in the parentheses."""

    name: str
    kind: str
    line: int
    visibility: str
    module: "Module"
    at_top: bool = True


@dataclass
class Statement:
    """A `use` declaration as written: lines, visibility, attributes, first segment, leaves."""

    first_line: int
    last_line: int
    visibility: str
    attributes: tuple
    root: str
    leaves: list
    scope: int


@dataclass
class Function:
    """A function with a body: its name, first line and the body's number of lines with code."""

    name: str
    line: int
    lines: int


@dataclass
class Module:
    """A module, either a file or inline. `file` is the path of the file that contains it."""

    crate: "Crate"
    path: tuple
    file: Path
    parent: "Module | None" = None
    children: dict = field(default_factory=dict)
    items: dict = field(default_factory=dict)
    uses: list = field(default_factory=list)
    statements: list = field(default_factory=list)
    references: list = field(default_factory=list)
    functions: list = field(default_factory=list)
    inline: bool = False
    lines: int = 0

    @property
    def owner(self):
        """The module of the file that contains this one."""
        return self.parent.owner if self.inline else self

    @property
    def name(self):
        """`crate_name::a::b`."""
        return "::".join((self.crate.name, *self.path))


class Crate:
    """A package's library or program, as a tree of modules."""

    def __init__(self, package, name, root_file, is_library):
        self.package, self.name, self.is_library = package, name, is_library
        self.modules, self.problems = [], []
        self.root = self.read(root_file, (), None, root_file.parent)

    def read(self, file, path, parent, folder):
        """Reads a file as the module `path`. Searches for its children in `folder`."""
        module = Module(self, path, file, parent)
        self.modules.append(module)
        text = file.read_text(encoding="utf-8")
        # A final `mod tests` does not count as production code.
        tokens = without_tests(tokens_of(text))
        module.lines = len({token.line for token in tokens})
        Reader(self, module, tokens, folder).read()
        return module


class Reader:
    """Reads a file's tokens and fills its module and the inline modules in it."""

    def __init__(self, crate, module, tokens, folder):
        self.crate, self.tokens, self.folder = crate, tokens, folder
        # For each open brace: its module, or None if it is not a module's.
        self.open = [module]
        self.scopes = [0]
        self.scope_count = 0
        self.at = 0
        self.attributes = []

    @property
    def module(self):
        """The innermost module at this position."""
        return next(one for one in reversed(self.open) if one is not None)

    def read(self):
        while self.at < len(self.tokens):
            self.step()

    def word(self, ahead=0):
        at = self.at + ahead
        return self.tokens[at].text if at < len(self.tokens) else ""

    def step(self):
        token = self.tokens[self.at]
        if token.kind is MARK:
            self.step_mark(token)
        elif token.kind is NAME:
            self.step_name(token)
        else:
            self.at += 1
            self.attributes = []

    def step_mark(self, token):
        if token.text == "#" and self.word(1) in ("[", "!"):
            open_at = self.at + (1 if self.word(1) == "[" else 2)
            if open_at < len(self.tokens) and self.tokens[open_at].text == "[":
                self.attribute(open_at)
                return
        if token.text == "{":
            self.open.append(None)
            self.scope_count += 1
            self.scopes.append(self.scope_count)
        elif token.text == "}" and len(self.open) > 1:
            self.open.pop()
            self.scopes.pop()
        self.attributes = []
        self.at += 1

    def attribute(self, open_at):
        end = matching(self.tokens, open_at)
        inside = self.tokens[open_at + 1 : end]
        self.attributes.append(" ".join(token.text for token in inside))
        for index, token in enumerate(inside):
            if token.kind is TEXT and index >= 2 and inside[index - 2].text in PATH_IN_ATTRIBUTE:
                path = tuple(token.text.strip('"').split("::"))
                if all(re.fullmatch(r"\w+", part) for part in path):
                    self.module.references.append((path, token.line))
        self.at = open_at + 1
        while self.at < end:
            if self.tokens[self.at].kind is NAME:
                self.path_or_name()
            else:
                self.at += 1
        self.at = end + 1

    def step_name(self, token):
        before = self.tokens[self.at - 1].text if self.at else ""
        text, following = token.text, self.word(1)
        if before == "." or before == "$" and text != "crate":
            self.at += 1
        elif text == "use" and before != "::":
            self.use_statement()
            return
        elif text == "mod" and self.word(2) in (";", "{"):
            self.child()
        elif text == "fn" and re.match(r"\w", following or "."):
            self.item("fn")
            self.note_function()
            self.at += 2
        elif text in NAMED_ITEMS and following.isidentifier() and following not in ("fn", "unsafe"):
            at = 2 if text == "static" and following == "mut" else 1
            if self.word(at) != "_" and (text != "union" or self.word(2) in ("{", "<")):
                self.item(text, at)
            self.at += 1 + at
        elif text == "macro_rules" and following == "!":
            name = self.word(2)
            exported = any(one.startswith("macro_export") for one in self.attributes)
            place = self.crate_root() if exported else self.module
            place.items.setdefault(name, Item(name, "macro", token.line, "", self.module))
            self.at += 3
        elif text in ("pub", "async", "unsafe", "extern"):
            self.at += 1
            if text == "pub" and self.word() == "(":
                self.at = matching(self.tokens, self.at) + 1
            return
        else:
            self.path_or_name()
        self.attributes = []

    def crate_root(self):
        module = self.open[0]
        while module.parent:
            module = module.parent
        return module

    def item(self, kind, ahead=1):
        name, line = self.word(ahead), self.tokens[self.at].line
        if self.open[-1] is None:
            return
        found = Item(name, kind, line, self.visibility(), self.module)
        # A type and a function may share a name. Other modules then mean the type.
        if name not in self.module.items or kind in ("struct", "enum", "trait", "type"):
            self.module.items[name] = found

    def visibility(self):
        """Returns the visibility before the item at this position: "", "pub", or "crate", "super",
        "in ..."."""
        at = self.at - 1
        while at >= 0 and self.tokens[at].text in ("async", "unsafe", "const", "extern", "default"):
            at -= 1
        while at >= 0 and self.tokens[at].kind is TEXT:
            at -= 1
        if at >= 0 and self.tokens[at].text == "pub":
            return "pub"
        if at >= 0 and self.tokens[at].text == ")":
            start = at
            while start >= 0 and self.tokens[start].text != "(":
                start -= 1
            if start > 0 and self.tokens[start - 1].text == "pub":
                return " ".join(token.text for token in self.tokens[start + 1 : at])
        return ""

    def note_function(self):
        at = self.at
        while at < len(self.tokens) and self.tokens[at].text not in ("{", ";"):
            if self.tokens[at].text in ("(", "["):
                at = matching(self.tokens, at)
            at += 1
        if at >= len(self.tokens) or self.tokens[at].text == ";":
            return
        body = self.tokens[at + 1 : matching(self.tokens, at)]
        length = len({token.line for token in body})
        self.module.functions.append(Function(self.word(1), self.tokens[self.at].line, length))

    def child(self):
        """Reads `mod name;` or the head of `mod name {`."""
        name, ending = self.word(1), self.word(2)
        parent = self.module
        if ending == "{":
            child = Module(self.crate, (*parent.path, name), parent.file, parent, inline=True)
            parent.children[name] = child
            self.crate.modules.append(child)
            self.open.append(child)
            self.scope_count += 1
            self.scopes.append(self.scope_count)
        else:
            file = self.child_file(name)
            if file is None:
                place = f"{parent.file}:{self.tokens[self.at].line}"
                self.crate.problems.append(f"{place}: no file of module {name}")
            else:
                folder = file.parent if file.name == "mod.rs" else file.parent / file.stem
                # If a feature selects one of two files for a module, paths in other modules
                # mean the file with the feature.
                label = name if file.stem in (name, "mod") else f"{name}[{file.stem}]"
                is_without = any(one.startswith("cfg ( not (") for one in self.attributes)
                child = self.crate.read(file, (*parent.path, label), parent, folder)
                if name not in parent.children or not is_without:
                    parent.children[name] = child
        self.at += 3

    def child_file(self, name):
        for attribute in self.attributes:
            if attribute.startswith("path = "):
                return self.open[0].file.parent / attribute.split('"')[1]
        folder = self.folder
        for module in self.open[1:]:
            if module is not None:
                folder = folder / module.path[-1]
        for file in (folder / f"{name}.rs", folder / name / "mod.rs"):
            if file.is_file():
                return file
        return None

    def use_statement(self):
        visibility, line, start = self.visibility(), self.tokens[self.at].line, self.at
        if self.word(1) in ("<", ","):
            # In `impl Trait + use<'a>`, `use` captures a lifetime and is not an import.
            self.at += 1
            return
        number = len(self.module.statements)
        attributes, self.attributes = tuple(self.attributes), []
        leaves = []
        self.at += 1
        if self.word() == "::":
            self.at += 1
        self.use_tree((), leaves, bool(visibility), number)
        last = self.tokens[min(self.at, len(self.tokens) - 1)].line
        root = leaves[0].path[0] if leaves else self.tokens[start + 1].text
        statement = Statement(line, last, visibility, attributes, root, leaves, self.scopes[-1])
        self.module.statements.append(statement)
        self.module.uses.extend(leaves)
        self.at += 1

    def use_tree(self, prefix, leaves, public, number):
        """Reads one tree of a `use` declaration, up to the mark that ends it."""
        path = prefix
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.text == "{":
                self.at += 1
                while self.word() not in ("}", ""):
                    self.use_tree(path, leaves, public, number)
                    if self.word() == ",":
                        self.at += 1
                self.at += 1
                return
            if token.text == "*":
                leaves.append(Use(path, None, token.line, public, number))
                self.at += 1
                return
            if token.kind is not NAME:
                return
            self.at += 1
            if token.text != "self" or not path:
                path = (*path, token.text)
            if self.word() == "::":
                self.at += 1
                continue
            name = path[-1]
            if self.word() == "as":
                name = self.word(1)
                self.at += 2
            leaves.append(Use(path, name, token.line, public, number))
            return

    def path_or_name(self):
        """Reads `a::b::c`. A single name does not refer to another module."""
        token = self.tokens[self.at]
        before = self.tokens[self.at - 1].text if self.at else ""
        path = [token.text]
        self.at += 1
        while self.word() == "::" and self.at + 1 < len(self.tokens):
            following = self.tokens[self.at + 1]
            if following.kind is not NAME:
                break
            path.append(following.text)
            self.at += 2
        # In `<T as Trait>::name` and `a::<T>::name`, the path continues from a type.
        if len(path) > 1 and before not in ("::", "."):
            self.module.references.append((tuple(path), token.line))
