"""Splits Rust source into tokens, and removes code that only tests compile."""

import re
from dataclasses import dataclass

TOKEN = re.compile(
    r"""
    (?P<doc>//[/!](?!/)[^\n]*)
  | (?P<comment>//[^\n]*)
  | (?P<block>/\*)
  | (?P<raw>b?c?r(?P<hashes>\#*)".*?"(?P=hashes))
  | (?P<string>[bc]?"(?:\\.|[^"\\])*")
  | (?P<char>b?'(?:\\x[0-9a-fA-F]{2}|\\u\{[^}]*\}|\\.|[^\\'\n])')
  | (?P<lifetime>'[A-Za-z_]\w*)
  | (?P<name>(?:r\#)?[A-Za-z_]\w*)
  | (?P<number>\d\w*(?:\.\d\w*)?)
  | (?P<path>::)
  | (?P<arrow>->|=>)
  | (?P<mark>[^\s\w])
    """,
    re.VERBOSE | re.DOTALL,
)
NAME, TEXT, MARK = "name", "text", "mark"
CLOSING = {"(": ")", "[": "]", "{": "}"}
# Items that end with a semicolon, even if they contain braces.
ENDS_WITH_SEMICOLON = {"use", "const", "static", "let", "type", "extern"}
NAMED_ITEMS = {"fn", "struct", "enum", "union", "trait", "type", "const", "static"}
@dataclass(frozen=True, slots=True)
class Token:
    """A token; `kind` is NAME, TEXT (a literal) or MARK (anything else)."""

    kind: str
    text: str
    line: int


def tokens_of(text):
    tokens, line, at, seen = [], 1, 0, 0
    while True:
        found = TOKEN.search(text, at)
        if not found:
            return tokens
        line += text.count("\n", seen, found.start())
        seen = found.start()
        kind, at = found.lastgroup, found.end()
        if kind == "block":
            at = end_of_block_comment(text, at)
        elif kind in ("doc", "comment"):
            continue
        elif kind == "name":
            tokens.append(Token(NAME, found.group().removeprefix("r#"), line))
        elif kind in ("raw", "hashes", "string", "char", "lifetime", "number"):
            tokens.append(Token(TEXT, found.group(), line))
        else:
            tokens.append(Token(MARK, found.group(), line))


def end_of_block_comment(text, at):
    """Returns the end of a block comment whose `/*` is before `at`. Comments nest."""
    depth = 1
    for mark in re.finditer(r"/\*|\*/", text[at:]):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return at + mark.end()
    return len(text)


def without_tests(tokens):
    """Returns the tokens without items, statements, fields and arms that only tests compile."""
    kept, at = [], 0
    while at < len(tokens):
        start, test = at, False
        while tokens[at].text == "#" and at + 1 < len(tokens) and tokens[at + 1].text in "[!":
            inner = tokens[at + 1].text == "!"
            open_at = at + (2 if inner else 1)
            if open_at >= len(tokens) or tokens[open_at].text != "[":
                break
            end = matching(tokens, open_at)
            if is_test_attribute(tokens[open_at + 1 : end]):
                if inner:
                    return []
                test = True
            at = end + 1
            if at >= len(tokens):
                return kept
        if test:
            at = end_of_item(tokens, at)
            continue
        kept.extend(tokens[start : at + 1])
        at += 1
    return kept


def is_test_attribute(tokens):
    """Returns whether an attribute means that only tests compile the code after it."""
    words = [token.text for token in tokens]
    if words[:2] == ["cfg", "("]:
        return words[2:3] == ["test"] or (words[2:4] == ["all", "("] and "test" in words[4:])
    # `#[test]`, `#[tokio::test]`, `#[bench]`.
    return bool(words) and (words[-1] == "test" or words[:3] == ["tokio", "::", "test"])


def matching(tokens, at):
    """Returns the index of the bracket that closes the one at `at`."""
    opening, closing, depth = tokens[at].text, CLOSING[tokens[at].text], 0
    for index in range(at, len(tokens)):
        if tokens[index].kind is MARK:
            if tokens[index].text == opening:
                depth += 1
            elif tokens[index].text == closing:
                depth -= 1
                if depth == 0:
                    return index
    return len(tokens) - 1


def end_of_item(tokens, at):
    """Returns the index after the item, statement, field or arm that begins at `at`."""
    first = at
    if tokens[first].text == "pub":
        first += 1
        if tokens[first].text == "(":
            first = matching(tokens, first) + 1
    keyword = tokens[first].text
    to_semicolon = keyword in ENDS_WITH_SEMICOLON and tokens[first + 1].text != "fn"
    small = keyword not in NAMED_ITEMS | {"impl", "mod", "async", "unsafe", "macro_rules", "pub"}
    while at < len(tokens):
        text = tokens[at].text if tokens[at].kind is MARK else ""
        if text in CLOSING:
            at = matching(tokens, at)
            if text == "{" and not to_semicolon:
                at += 1
                return at + 1 if at < len(tokens) and tokens[at].text in ",;" else at
        elif text in (")", "]", "}"):
            return at
        elif text == ";" or (text == "," and small):
            return at + 1
        at += 1
    return at
