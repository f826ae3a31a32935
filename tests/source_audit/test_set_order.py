"""Which expressions are sets, asked generously and strictly."""

from __future__ import annotations

import ast

import pytest

from twinrun.knowledge.set_order import Sets


def uses(source: str, *, certain: bool = False) -> list[tuple[int, str, int]]:
    found = Sets(ast.parse(source), certain=certain).order_uses()
    return [(use.line, ast.unparse(use.expression), use.weight) for use in found]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("for w in {'a', 'b'}: f(w)", [(1, "{'a', 'b'}", 4)]),
        ("for w in {1, 2}: f(w)", []),  # numbers hash to themselves
        ("x = set(words)\ny = list(x)", [(2, "x", 4)]),
        ("x = set(words)\ny = sorted(list(x))", []),
        ("x = set(words)\nprint(list(x))", [(2, "x", 1)]),
        ("x = a.union(b)\ny = [*x]", [(2, "x", 3)]),
        ("y = {f(w) for w in set(words)}", []),
        ("groups = defaultdict(set)\nfor w in groups[k]: f(w)", [(2, "groups[k]", 4)]),
        ("f(hash(name))", [(1, "hash(name)", 3)]),
        ("x = {'a'} | y\nx.pop()", [(2, "x", 3)]),
        ("x = set()\nzip(x, {'a'})", [(2, "x", 4), (2, "{'a'}", 4)]),
    ],
)
def test_the_order_of_a_set_is_used_where_it_is_iterated_over(
    source: str, expected: list[tuple[int, str, int]]
) -> None:
    assert uses(source) == expected


def test_a_name_that_is_not_always_a_set_is_one_only_when_asked_generously() -> None:
    source = "x = set(words)\nx = sorted(x)\nfor w in x: f(w)"
    assert [line for line, _, _ in uses(source)] == [3]
    assert uses(source, certain=True) == []


def test_a_parameter_of_the_same_name_is_not_certainly_a_set() -> None:
    source = "x = set(words)\ndef f(x):\n    for w in x: g(w)"
    assert [line for line, _, _ in uses(source)] == [3]
    assert uses(source, certain=True) == []


def test_an_attribute_that_is_made_of_itself_ends_the_search() -> None:
    source = "self.x = self.x.copy()\nfor w in self.x: f(w)"
    assert uses(source, certain=True) == uses(source) == []


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("set(line.split())", True),
        ("{'a', 'b'}", True),
        ("{'a', 1}", False),
        ("{w.lower() for w in words}", True),
        ("set(words)", False),
    ],
)
def test_sets_of_text_are_recognised(source: str, text: bool) -> None:
    tree = ast.parse(source)
    expression = tree.body[0]
    assert isinstance(expression, ast.Expr)
    assert Sets(tree, certain=True).holds_text(expression.value) is text
