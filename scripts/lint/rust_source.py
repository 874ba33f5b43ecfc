"""Finds a workspace's packages, and resolves paths in their modules. Re-exports are followed to
their definitions.
"""

import tomllib
from pathlib import Path

from rust_modules import Crate, Item, Module

class Package:
    def __init__(self, manifest):
        self.manifest = manifest
        self.folder = manifest.parent
        data = tomllib.loads(manifest.read_text(encoding="utf-8"))
        self.name = data["package"]["name"]
        tables = [data, *data.get("target", {}).values()]
        self.dependencies = sorted(
            {name for table in tables for kind in ("dependencies", "build-dependencies")
             for name in table.get(kind, {})})
        self.test_dependencies = sorted(
            {name for table in tables for name in table.get("dev-dependencies", {})})
        library = self.folder / data.get("lib", {}).get("path", "src/lib.rs")
        programs = [self.folder / one["path"] for one in data.get("bin", []) if "path" in one]
        programs += [self.folder / "src/main.rs", *sorted(self.folder.glob("src/bin/*.rs"))]
        library_name = data.get("lib", {}).get("name", self.name.replace("-", "_"))
        self.crates = []
        if library.is_file():
            self.crates.append(Crate(self, library_name, library, True))
        for program in dict.fromkeys(programs):
            if program.is_file():
                stem = self.name if program.name == "main.rs" else program.stem
                self.crates.append(Crate(self, f"bin:{stem}", program, False))


class Workspace:
    """All packages in a workspace, and the meaning of paths in their modules."""

    def __init__(self, root):
        self.root = Path(root)
        data = tomllib.loads((self.root / "Cargo.toml").read_text(encoding="utf-8"))
        self.packages = [
            Package(self.root / member / "Cargo.toml") for member in data["workspace"]["members"]]
        self.libraries = {
            crate.name: crate for package in self.packages for crate in package.crates
            if crate.is_library}
        self.crates = [crate for package in self.packages for crate in package.crates]

    def relative(self, file):
        return Path(file).relative_to(self.root).as_posix()

    def resolve(self, module, path, seen=frozenset()):
        """Resolves a path in a module to a Module, an Item, or None if it is outside the workspace.
        """
        key = (id(module), path)
        if key in seen or not path:
            return None
        seen = seen | {key}
        head, rest = path[0], path[1:]
        if head == "crate":
            found = module.crate.root
        elif head == "self":
            found = module
        elif head == "super":
            found = module.parent
        else:
            found = self.member(module, head, seen)
            if found is None and head in self.libraries:
                found = self.libraries[head].root
        return self.walk(found, rest, seen)

    def walk(self, found, rest, seen):
        for number, name in enumerate(rest):
            if not isinstance(found, Module):
                return found
            if name == "super":
                found = found.parent
                continue
            inside = self.member(found, name, seen)
            if inside is None:
                # A macro may create this item. We then assume that the module in which it is
                # searched contains it.
                return Item(name, "unknown", 0, "", found) if number + 1 else None
            found = inside
        return found

    def member(self, module, name, seen):
        """Resolves a name in a module: its child, its item, or an import with this name."""
        if name in module.items:
            item = module.items[name]
            if name not in module.children or item.kind in ("struct", "enum", "trait", "type"):
                return item
        if name in module.children:
            return module.children[name]
        for use in module.uses:
            if use.name == name and use.path != (name,):
                found = self.resolve(module, use.path, seen)
                if found is not None:
                    return found
        for use in module.uses:
            if use.name is None:
                around = self.resolve(module, use.path, seen)
                if isinstance(around, Module) and (id(around), (name,)) not in seen:
                    found = self.member(around, name, seen | {(id(around), (name,))})
                    if found is not None:
                        return found
        return None
