"""The possible mutants of a source file: small mistakes that people make, each as a replacement for a part of the text.

A mutant reverses a comparison or moves its bound, swaps `and` and `or`, negates a condition, changes a number by one, flips a flag, swaps
`+` and `-`, `min` and `max`, or `break` and `continue`, removes a statement or a guard's `return`, or changes a return value. Texts,
annotations, decorators, and imports stay unchanged, because mistakes there are a matter of taste or are found by mypy.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: (r"is\s+not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: (r"not\s+in", ("in",)),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: (r"\+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: (r"\*", "//"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
}
DECLARED = ("init", "repr", "eq")
"""The arguments of `attrs.field` that stay unchanged, like the decorator of its class."""
CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
TEXTS = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp, ast.Dict, ast.Set)


class Mutant(NamedTuple):
    """A replacement for bytes [start, end) of a file. `block` is the number of its basic block in the file, or None if importing the file
    runs it.
    """

    path: str
    start: int
    end: int
    text: str
    line: int
    block: int | None
    before: str
    after: str

    def order(self, seed: int) -> bytes:
        """Return the sort key of a mutant for a seed. It does not depend on the other mutants."""
        return hashlib.blake2b(f"{seed} {self.path} {self.before} {self.after}".encode()).digest()

    def applied(self, source: bytes) -> bytes:
        return source[: self.start] + self.text.encode() + source[self.end :]


def inner_lists(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Return the lists of statements in a compound statement, except those of a class or function."""
    for name in ("body", "orelse", "finalbody"):
        if inner := getattr(statement, name, None):
            yield inner
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def blocks(tree: ast.Module) -> dict[ast.stmt, int]:
    """Return the basic block of every statement in a function. A new block begins with each list of statements, and after each compound
    statement.
    """
    found: dict[ast.stmt, int] = {}
    count = 0

    def visit(statements: list[ast.stmt], within: bool) -> None:
        nonlocal count
        new = True
        for statement in statements:
            if within and not is_docstring(statement):
                count += new
                found[statement] = count - 1
                new = False
            function = isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
            for inner in inner_lists(statement):
                visit(inner, function or (within and not isinstance(statement, ast.ClassDef)))
                new = not function

    visit(tree.body, False)
    return found


def mutants(path: str, source: bytes) -> list[Mutant]:
    """Return every mutant of a file."""
    tree = ast.parse(source)
    numbers = blocks(tree)
    lines = source.splitlines(keepends=True)
    begins = [0]
    for line in lines:
        begins.append(begins[-1] + len(line))

    def start(node: ast.AST) -> int:
        return begins[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def end(node: ast.AST) -> int:
        return begins[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def text(node: ast.AST) -> str:
        return source[start(node) : end(node)].decode()

    def whole(node: ast.AST, *texts: str) -> Iterator[tuple[int, int, str]]:
        for other in texts:
            yield start(node), end(node), other

    def between(left: ast.AST, right: ast.AST, old: str, *texts: str) -> Iterator[tuple[int, int, str]]:
        gap = source[end(left) : start(right)].decode()
        if found := re.search(rf"(?<!\w){old}(?!\w)", gap):
            for other in texts:
                yield end(left), start(right), gap[: found.start()] + other + gap[found.end() :]

    def changes(node: ast.AST, function: ast.AST | None) -> Iterator[tuple[int, int, str]]:
        match node:
            case ast.Compare(left, operators, comparators):
                sides = [left, *comparators]
                for i, operator in enumerate(operators):
                    old, others = COMPARISONS[type(operator)]
                    yield from between(sides[i], sides[i + 1], old, *others)
            case ast.BoolOp(operator, values):
                old, other = ("and", "or") if isinstance(operator, ast.And) else ("or", "and")
                for left, right in pairwise(values):
                    yield from between(left, right, old, other)
            case ast.UnaryOp(ast.Not(), operand):
                yield from whole(node, f"({text(operand)})")
            case ast.BinOp(left, operator, right) if type(operator) in ARITHMETIC:
                if not any(isinstance(side, TEXTS) or isinstance(getattr(side, "value", None), str | bytes) for side in (left, right)):
                    yield from between(left, right, *ARITHMETIC[type(operator)])
            case ast.AugAssign(target, ast.Add() | ast.Sub() as operator, value):
                old, other = ARITHMETIC[type(operator)]
                yield from between(target, value, old, other)
                yield from whole(node, "pass")
            case ast.Constant(bool() as value):
                yield from whole(node, str(not value))
            case ast.Constant(int() | float() as value):
                yield from whole(node, str(value + 1), f"({value - 1})")
            case ast.Call(ast.Name(name) as called) if name in CALLS:
                yield from whole(called, CALLS[name])
            case ast.Expr(ast.Call()) | ast.Raise() | ast.Return(None) | ast.Delete() | ast.AugAssign():
                yield from whole(node, "pass")
            case ast.Assign([ast.Attribute() | ast.Subscript()]) | ast.AnnAssign(ast.Attribute(), value=ast.expr()):
                if function is not None:
                    yield from whole(node, "pass")
            case ast.Break():
                yield from whole(node, "continue")
            case ast.Continue():
                yield from whole(node, "break")
            case ast.Return(ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
                returns = getattr(function, "returns", None)
                truth = isinstance(returns, ast.Name) and returns.id == "bool"
                yield from whole(node, f"return not ({text(value)})" if truth else "return None")
            case _:
                pass
        test = getattr(node, "test", None)
        if isinstance(test, (ast.Name, ast.Attribute, ast.Call)):
            yield from whole(test, f"not ({text(test)})")

    found: list[Mutant] = []
    seen: dict[tuple[str, str], int] = {}

    def visit(node: ast.AST, statement: ast.stmt | None, function: ast.AST | None) -> None:
        if isinstance(node, (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Assert)):
            return
        if isinstance(node, ast.If) and "TYPE_CHECKING" in text(node.test):
            return
        if isinstance(node, ast.keyword) and node.arg in DECLARED:
            return
        if isinstance(node, ast.stmt):
            statement = node
        for low, high, other in changes(node, function):
            assert statement is not None
            first, last = source.rfind(b"\n", 0, low) + 1, source.find(b"\n", high)
            before = source[first:last].decode().strip()
            after = (source[first:low].decode() + other + source[high:last].decode()).strip()
            again = seen[before, after] = seen.get((before, after), 0) + 1
            if again > 1:
                after += f"  # occurrence {again}"
            line = source.count(b"\n", 0, low) + 1
            found.append(Mutant(path, low, high, other, line, numbers.get(statement), before, after))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
                visit(default, statement, function)
            function = node
            children: list[ast.AST] = list(node.body)
        elif isinstance(node, ast.ClassDef):
            children = list(node.body)
        elif isinstance(node, ast.AnnAssign):
            children = [node.value] if node.value else []
        else:
            children = list(ast.iter_child_nodes(node))
        for child in children:
            visit(child, statement, function)

    visit(tree, None, None)
    return found


def with_probes(source: bytes, offset: int) -> tuple[str, int]:
    """Return the source with a probe at the start of each basic block, numbered from `offset` on, and the number of probes."""
    tree = ast.parse(source)
    numbers = blocks(tree)

    def visit(statements: list[ast.stmt]) -> None:
        last = None
        noted: list[ast.stmt] = []
        for statement in statements:
            number = numbers.get(statement)
            if number is not None and number != last:
                noted.extend(ast.parse(f"_hit_[{offset + number}] = 1").body)
                last = number
            noted.append(statement)
            for inner in inner_lists(statement):
                visit(inner)
        statements[:] = noted

    visit(tree.body)
    at = sum(is_docstring(s) or (isinstance(s, ast.ImportFrom) and s.module == "__future__") for s in tree.body[:2])
    tree.body[at:at] = ast.parse("from tests.mutants.probes import hit as _hit_").body
    return ast.unparse(ast.fix_missing_locations(tree)), len(set(numbers.values()))
