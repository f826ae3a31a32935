"""Lists, tuples, sets and dictionaries as they are written, and comprehensions."""

from __future__ import annotations

import ast

from twinrun.audit import expressions
from twinrun.audit.containers import put_in, spill, store
from twinrun.audit.marks import ELEMENT, NONE, Marks, without_order
from twinrun.audit.values import Thing, join, total
from twinrun.audit.world import Frame, UnorderedLoop, World


def sequence_value(world: World, frame: Frame, node: ast.List | ast.Tuple) -> Thing:
    made = Thing("list" if isinstance(node, ast.List) else "tuple", items=[])
    spread = False
    for element in node.elts:
        if isinstance(element, ast.Starred):
            spread = True
            put_in(
                made,
                expressions.element_met(
                    world, frame, element, expressions.evaluate(world, frame, element.value)
                ),
            )
        else:
            put_in(made, expressions.evaluate(world, frame, element))
    if spread:
        spill(made)
    return made


def set_value(world: World, frame: Frame, node: ast.Set) -> Thing:
    made = Thing("set", items=[])
    for element in node.elts:
        put_in(made, expressions.evaluate(world, frame, element))
    return made


def dict_value(world: World, frame: Frame, node: ast.Dict) -> Thing:
    made = Thing("dict")
    for key, value in zip(node.keys, node.values, strict=True):
        held = expressions.evaluate(world, frame, value)
        if key is not None:
            store(made, expressions.evaluate(world, frame, key), held)
            continue
        for each in held.each():
            made.marks |= each.marks
            for name, inner in (each.attributes or {}).items():
                made.set_attribute(name, inner)
            if each.element is not None:
                made.element = each.element
    return made


def comprehension_value(
    world: World, frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
) -> Thing:
    conditions: Marks = NONE
    outer_names, loops = dict(frame.names), len(world.loops)
    for generator in node.generators:
        iterable = expressions.evaluate(world, frame, generator.iter)
        element = expressions.element_met(world, frame, generator.iter, iterable)
        unordered = frozenset(origin for origin, mode in total(element) if mode == ELEMENT)
        if unordered:
            world.loops.append(UnorderedLoop(unordered))
        expressions.assign(world, frame, generator.target, element)
        for test in generator.ifs:
            conditions |= without_order(total(expressions.evaluate(world, frame, test)))
    made: Thing
    world.repeats.append([])
    if isinstance(node, ast.DictComp):
        made = Thing("dict")
        key = expressions.evaluate(world, frame, node.key)
        store(made, key, expressions.evaluate(world, frame, node.value))
        made.element = join(t for t in (made.element, *(made.attributes or {}).values()) if t is not None)
        made.attributes = None
    else:
        value = expressions.evaluate(world, frame, node.elt)
        made = Thing("set" if isinstance(node, ast.SetComp) else "list", numeric=value.numeric, items=[])
        put_in(made, value)
        spill(made)
    made.marks |= conditions
    world.repeats.pop()
    del world.loops[loops:]
    frame.names = outer_names
    return made
