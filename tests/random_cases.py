"""Random schemas, values that suit them (or nearly), vocabularies and catalogues, all drawn from a ``random.Random``.

The schemas are of the kind that the mask enforces exactly. Values have one JSON text each up to the order of members: no number is written
with an exponent or as an integer with a fraction.
"""

from __future__ import annotations

import itertools
import json
import string
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from toolroute.vocab import Vocabulary

NAMES = ("a", "b", "ab", "city", "été", 'q"x', "n")
TEXTS = ("", "a", "ab", "Oslo", "né", "日本", "😀", 'say "hi"', "back\\slash", "tab\there", "\x7f", "\x01")
SCALARS = (None, True, False, 0, 1, -1, 7, 12, 1.5, -0.25, "", "a", "ab", "né", 'q"')
STYLES = {"spaced": (", ", ": "), "compact": (",", ":")}


def random_schema(random: Random, depth: int = 2, refs: Sequence[str] = ()) -> Any:
    """A schema that nests at most ``depth`` deep; ``refs``: definitions it may name."""
    kinds = ["null", "boolean", "integer", "number", "string", "enum", "const", "types", "any"]
    if depth > 0:
        kinds += ["array", "tuple", "object", "object", "object", "map", "anyOf", "oneOf", "allOf"]
    if refs:
        kinds += ["$ref"]
    kind = random.choice(kinds)
    return _KINDS[kind](random, depth, refs) if kind in _KINDS else {"type": kind}


def _integer(random: Random, depth: int, refs: Sequence[str]) -> Any:
    schema: dict[str, Any] = {"type": "integer"}
    if random.random() < 0.6:
        schema[random.choice(("minimum", "exclusiveMinimum"))] = random.choice((-12, -1, 0, 1, 7, 99, 1.5))
    if random.random() < 0.6:
        schema[random.choice(("maximum", "exclusiveMaximum"))] = random.choice((-3, 0, 1, 8, 12, 100, 2.5))
    return schema


def _number(random: Random, depth: int, refs: Sequence[str]) -> Any:
    return {**_integer(random, depth, refs), "type": "number"}


def _string(random: Random, depth: int, refs: Sequence[str]) -> Any:
    schema: dict[str, Any] = {"type": "string"}
    if random.random() < 0.4:
        schema["minLength"] = random.randrange(4)
    if random.random() < 0.5:
        schema["maxLength"] = random.randrange(6)
    return schema


def _enum(random: Random, depth: int, refs: Sequence[str]) -> Any:
    return {"enum": random.sample(SCALARS, random.randrange(1, 5)) + ([{"a": [1, "x"]}] if random.random() < 0.2 else [])}


def _const(random: Random, depth: int, refs: Sequence[str]) -> Any:
    return {"const": random.choice(SCALARS)}


def _types(random: Random, depth: int, refs: Sequence[str]) -> Any:
    return {"type": random.sample(("null", "boolean", "integer", "number", "string"), random.randrange(1, 4))}


def _any(random: Random, depth: int, refs: Sequence[str]) -> Any:
    return random.choice(({}, True, {"description": "anything"}, {"minLength": 2}, {"minimum": 1}))


def _array(random: Random, depth: int, refs: Sequence[str]) -> Any:
    schema: dict[str, Any] = {"type": "array", "items": random_schema(random, depth - 1, refs)}
    if random.random() < 0.4:
        schema["minItems"] = random.randrange(3)
    if random.random() < 0.6:
        schema["maxItems"] = random.randrange(4)
    return schema


def _tuple(random: Random, depth: int, refs: Sequence[str]) -> Any:
    schema = _array(random, depth, refs)
    schema["prefixItems"] = [random_schema(random, depth - 1, refs) for _ in range(random.randrange(1, 3))]
    if random.random() < 0.4:
        schema["items"] = False
    return schema


def _object(random: Random, depth: int, refs: Sequence[str]) -> Any:
    names = random.sample(NAMES, random.randrange(4))
    schema: dict[str, Any] = {"type": "object", "properties": {name: random_schema(random, depth - 1, refs) for name in names}}
    schema["required"] = [name for name in names if random.random() < 0.4]
    if random.random() < 0.1:
        schema["required"].append(random.choice(NAMES))
    schema["required"] = list(dict.fromkeys(schema["required"]))
    if random.random() < 0.5:
        schema["additionalProperties"] = random.random() < 0.2
    return schema


def _map(random: Random, depth: int, refs: Sequence[str]) -> Any:
    return {"type": "object", "additionalProperties": random_schema(random, depth - 1, refs)}


def _any_of(random: Random, depth: int, refs: Sequence[str]) -> Any:
    schema: dict[str, Any] = {"anyOf": [random_schema(random, depth - 1, refs) for _ in range(random.randrange(1, 4))]}
    if random.random() < 0.3:
        schema.update(random.choice(({"type": "string"}, {"maxLength": 2}, {"properties": {"a": {"type": "integer"}}}, {"minimum": 1})))
    return schema


def _one_of(random: Random, depth: int, refs: Sequence[str]) -> Any:
    kinds = random.sample(("null", "integer", "string", "array", "object"), random.randrange(1, 4))
    return {"oneOf": [_KINDS.get(kind, lambda *_: {"type": "null"})(random, depth, refs) for kind in kinds]}


def _all_of(random: Random, depth: int, refs: Sequence[str]) -> Any:
    kind = random.choice((_integer, _string, _object, _array, _number))
    return {"allOf": [kind(random, depth, refs) for _ in range(2)]}


def _ref(random: Random, depth: int, refs: Sequence[str]) -> Any:
    schema = {"$ref": f"#/$defs/{random.choice(refs)}"}
    return {**schema, "maxLength": 3} if random.random() < 0.2 else schema


_KINDS = {
    "integer": _integer, "number": _number, "string": _string, "enum": _enum, "const": _const, "types": _types, "any": _any,
    "array": _array, "tuple": _tuple, "object": _object, "map": _map, "anyOf": _any_of, "oneOf": _one_of, "allOf": _all_of, "$ref": _ref,
}  # fmt: skip


def random_logic(random: Random, depth: int) -> Any:
    """A small schema in which keywords are negated, excluded, implied and counted."""
    def below() -> Any:
        return random_logic(random, depth - 1)

    scalars: list[Any] = [
        {"type": random.choice(["integer", "string", "null", "boolean", "number", "object", "array"])}, {"enum": [1, "a", None, True]},
        {"minimum": random.randint(-2, 3)}, {"maximum": random.randint(-2, 3)}, {"multipleOf": random.choice([2, 3, 0.5])},
        {"pattern": random.choice(["a", "^b", "^[ab]*$"])}, {"minLength": 1}, {"maxLength": 1}, {"const": random.choice([0, "b", False])},
        {"required": [random.choice("ab")]}, {"maxProperties": 1}, {"minProperties": 1}, {"minItems": 1}, {"maxItems": 1}, True, {},
        {"dependentRequired": {"a": ["b"]}}, {"propertyNames": {"pattern": "^a"}},
    ]  # fmt: skip
    if depth <= 0 or random.random() < 0.4:
        return random.choice(scalars)
    return random.choice([
        lambda: {"not": below()},
        lambda: {"anyOf": [below(), below()]},
        lambda: {"oneOf": [below(), below()]},
        lambda: {"allOf": [below(), below()]},
        lambda: {"if": below(), "then": below(), "else": below()},
        lambda: {"properties": {"a": below(), "b": below()}, **random.choice([{}, {"additionalProperties": below()}])},
        lambda: {"patternProperties": {"^a": below()}, "additionalProperties": below()},
        lambda: {"items": below(), **random.choice([{}, {"contains": below()}])},
        lambda: {"prefixItems": [below()], "items": below()},
        lambda: {"properties": {"a": below()}, "unevaluatedProperties": random.choice([False, below()])},
        lambda: {**random.choice(scalars[:-4]), **random.choice(scalars[:-4])},
    ])()  # fmt: skip


def random_document(random: Random) -> dict[str, Any]:
    """A whole schema, perhaps with definitions, one of which may contain itself."""
    if random.random() < 0.7:
        schema = random_schema(random)
        return schema if isinstance(schema, dict) else {}
    schema = _object(random, 2, ("leaf", "tree"))
    schema["$defs"] = {
        "leaf": random_schema(random, 1),
        "tree": {"type": "object", "properties": {"v": random_schema(random, 0), "next": {"$ref": "#/$defs/tree"}}, "required": ["v"]},
    }
    return schema


def random_parameters(random: Random) -> dict[str, Any]:
    """A tool's parameters: an object schema."""
    schema = _object(random, 2, ())
    if random.random() < 0.2:
        schema["$defs"] = {"item": random_schema(random, 1)}
        schema["properties"]["item"] = {"$ref": "#/$defs/item"}
    return schema


def random_tools(random: Random, most: int = 6) -> list[dict[str, Any]]:
    """One to ``most`` tools whose names may be prefixes of one another."""
    names = random.sample(("get", "get_weather", "get_weather_now", "send", "send_mail", "x", "play_music"), random.randrange(1, most + 1))
    return [{"name": name, "description": f"do {name}", "parameters": random_parameters(random)} for name in names]


# -- values --------------------------------------------------------------------------------------------------------------------


def random_value(random: Random, depth: int = 2) -> Any:
    """Any value."""
    kind = random.randrange(8 if depth > 0 else 5)
    if kind < 3:
        return random.choice(SCALARS)
    if kind == 3:
        return random.choice(TEXTS)
    if kind == 4:
        return random.choice((random.randrange(-15, 120), random.randrange(-40, 40) / 4 + 0.125))
    if kind == 5:
        return [random_value(random, depth - 1) for _ in range(random.randrange(4))]
    return {name: random_value(random, depth - 1) for name in random.sample(NAMES, random.randrange(4))}


def suiting_value(random: Random, schema: Any, root: Any, depth: int = 6) -> Any:
    """A value that has good chances to suit ``schema``; now and then any value."""
    if not isinstance(schema, dict) or depth == 0 or random.random() < 0.08:
        return random_value(random, 1)
    if "$ref" in schema:
        return suiting_value(random, root["$defs"][schema["$ref"].rpartition("/")[2]], root, depth - 1)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return random.choice(schema["enum"])
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return suiting_value(random, random.choice(schema[keyword]), root, depth - 1)
    if "allOf" in schema:
        merged: dict[str, Any] = {}
        for part in schema["allOf"]:
            properties = {**merged.get("properties", {}), **part.get("properties", {})}
            merged = {**merged, **part, **({"properties": properties} if properties else {})}
        return suiting_value(random, merged, root, depth - 1)
    kind = schema.get("type", "any")
    kind = random.choice(kind) if isinstance(kind, list) else kind
    if kind in ("integer", "number"):
        low = schema.get("minimum", schema.get("exclusiveMinimum", -20))
        high = schema.get("maximum", schema.get("exclusiveMaximum", 130))
        value = random.choice((low, high, low + 1, high - 1, random.randrange(-20, 130)))
        value = int(value) if float(value).is_integer() else value
        return value + 0.5 if kind == "number" and isinstance(value, int) and random.random() < 0.4 else value
    if kind == "string":
        fitting = [t for t in TEXTS if schema.get("minLength", 0) <= len(t) <= schema.get("maxLength", 99)]
        return random.choice(fitting or TEXTS)
    if kind == "array":
        head = schema.get("prefixItems", [])
        count = random.randrange(schema.get("minItems", 0), max(schema.get("minItems", 0), min(schema.get("maxItems", 3), 3)) + 1)
        return [suiting_value(random, head[i] if i < len(head) else schema.get("items", True), root, depth - 1) for i in range(count)]
    if kind == "object":
        required = schema.get("required", ())
        value = {
            name: suiting_value(random, sub, root, depth - 1)
            for name, sub in schema.get("properties", {}).items()
            if name in required or random.random() < 0.5
        }
        if (set(required) - value.keys()) or random.random() < 0.15:
            more = schema.get("additionalProperties", True)
            for name in [*required, *([random.choice(NAMES)] if random.random() < 0.3 else [])]:
                value.setdefault(name, suiting_value(random, more, root, depth - 1))
        return value
    return {"null": None, "boolean": random.random() < 0.5}[kind] if kind != "any" else random_value(random, 1)


def spellings(value: Any, style: str, most: int = 300) -> list[str]:
    """The texts of ``value`` in ``style`` under all orders of its members, at most ``most``."""
    comma, colon = STYLES[style]

    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, list):
            for items in itertools.product(*(list(texts(item)) for item in value)):
                yield f"[{comma.join(items)}]"
        elif isinstance(value, dict):
            members = [[json.dumps(name, ensure_ascii=False) + colon + text for text in texts(item)] for name, item in value.items()]
            for order in itertools.permutations(members):
                for chosen in itertools.product(*order):
                    yield f"{{{comma.join(chosen)}}}"
        else:
            yield json.dumps(value, ensure_ascii=False)

    return list(itertools.islice(texts(value), most))


# -- vocabularies --------------------------------------------------------------------------------------------------------------


def random_vocabulary(random: Random, samples: Sequence[bytes], *, whole: bool = True, most: int = 120) -> Vocabulary:
    """Single bytes (all 256, or those of ASCII where not ``whole``) and up to ``most`` longer pieces, many of them cut from ``samples``.

    Some pieces occur twice, some are control tokens, some ids have no piece, and one to three end a generation.
    """
    pieces: list[bytes | None] = [bytes((byte,)) for byte in range(256 if whole else 128)]
    ends = [b'"', b'",', b'"}', b'": ', b'":', b'"}}', b'", "', b"\\", b"\\u", b"\\n", b"\\ud83d", b'\\"', b"}", b"]", b'["', b'{"', b", "]
    ends += [b"\xc3", b"\xf0\x9f", b"\x98\x80", b"\xed\xa0", b"\xff", b"00", b"0.", b"-0", b"e+", b"\n\n", b'": "', b'{"tool"', b"null"]
    for _ in range(random.randrange(most // 2, most)):
        kind = random.randrange(4)
        if kind == 0 or not samples:
            pieces.append(random.choice(ends))
        elif kind == 1:
            pieces.append("".join(random.choices(string.ascii_lowercase[:6] + '"é,: ', k=random.randrange(1, 4))).encode())
        elif kind == 2:
            pieces.append(random.choice(ends) + random.choice(ends))
        else:
            sample = random.choice(samples)
            start = random.randrange(len(sample) + 1)
            pieces.append(sample[start : start + random.randrange(1, 12)] or None)
    eog = [len(pieces) + i for i in range(random.randrange(1, 4))]
    pieces += [b"<|end|>" if random.random() < 0.5 else None for _ in eog]
    order = list(range(len(pieces)))
    random.shuffle(order)
    shuffled = [pieces[i] for i in order]
    control = [i for i, piece in enumerate(shuffled) if piece is not None and len(piece) > 1 and random.random() < 0.05]
    return Vocabulary.from_tokens(shuffled, eog=[i for i, old in enumerate(order) if old in eog], control=control)
