"""Choosing tokens: verification, the order of filters, repeatability, and the distribution itself."""

from __future__ import annotations

import numpy as np
import pytest

from toolroute.engine.sampler import Sampler, log_softmax
from toolroute.errors import DeadEnd, EngineError
from toolroute.mask import Matcher
from toolroute.schema import compile_route, compile_schema
from toolroute.vocab import Vocabulary

VOCABULARY = Vocabulary.from_tokens([*(bytes((byte,)) for byte in range(256)), None], eog={256})
DIGITS = {"enum": [1, 2, 3, 4, 5]}


def matcher(schema: object = True, cap: int | None = None, prefix: bytes = b"") -> Matcher:
    made = Matcher(compile_schema(schema), VOCABULARY, cap)
    for token in prefix:
        made.accept(token)
    return made


def row(**values: float) -> np.ndarray:
    found = np.zeros(257, np.float32)
    for name, value in values.items():
        found[ord(name[-1])] = value
    return found


def test_greedy_takes_the_best_allowed_token() -> None:
    choice = Sampler().choose(matcher(DIGITS), row(_3=5, _x=3))
    assert choice == (ord("3"), False, False)
    choice = Sampler().choose(matcher(DIGITS), row(_x=9, _4=1))
    assert choice == (ord("4"), True, False)


def test_greedy_inside_a_string_masks_what_cannot_stand_there() -> None:
    inside = matcher({"type": "string"}, prefix=b'"')
    values = row(_a=2)
    values[10] = values[0xFF] = values[256] = 9
    assert Sampler().choose(inside, values) == (ord("a"), True, False)


def test_the_cap_is_told_from_the_language() -> None:
    near = matcher({"type": "string"}, cap=3, prefix=b'"a')
    assert Sampler().choose(near, row(_b=9)) == (ord('"'), False, True)
    values = row(_b=5, _c=3)
    values[10] = 9
    assert Sampler().choose(near, values) == (ord('"'), False, True)
    for seed in range(5):
        choice = Sampler(1.0, seed=seed).choose(near, row(_b=20))
        assert choice.token == ord('"') and choice.capped


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("at", [3, ord("1"), 255, 256])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_rows_that_are_not_finite_are_refused(bad: float, at: int, temperature: float) -> None:
    values = row(_1=2)
    values[at] = bad
    with pytest.raises(EngineError, match="not finite"):
        Sampler(temperature).choose(matcher(DIGITS), values)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_row_without_any_probability_is_refused(temperature: float) -> None:
    with pytest.raises(EngineError, match="not finite"):
        Sampler(temperature).choose(matcher(DIGITS), np.full(257, -np.inf, np.float32))


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("state", ["sparse", "dense"])
def test_a_row_that_rules_out_every_allowed_token_is_refused(temperature: float, state: str) -> None:
    values = np.full(257, -np.inf, np.float32)
    values[10] = 1  # the only token with any probability is not allowed
    made = matcher(DIGITS) if state == "sparse" else matcher({"type": "string"}, prefix=b'"')
    with pytest.raises(EngineError, match="allowed"):
        Sampler(temperature, seed=0).choose(made, values)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_minus_infinity_elsewhere_is_no_fault(temperature: float) -> None:
    values = np.full(257, -np.inf, np.float32)
    values[[10, ord("2")]] = 1
    assert Sampler(temperature, seed=0).choose(matcher(DIGITS), values).token == ord("2")


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_dead_end(temperature: float) -> None:
    vocabulary = Vocabulary.from_tokens(["!", "a"])
    made = Matcher(compile_route([{"name": "t"}]), vocabulary)
    with pytest.raises(DeadEnd) as caught:
        Sampler(temperature).choose(made, np.array([1, 0], np.float32))
    assert caught.value.prefix == b"" and caught.value.missing_bytes == (ord("{"),)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_rows_longer_and_shorter_than_the_vocabulary(temperature: float) -> None:
    longer = np.concatenate([row(_2=20), np.full(40, 99, np.float32)])
    for made in (matcher(DIGITS), matcher({"type": "string"}, prefix=b'"')):
        assert Sampler(temperature, seed=1).choose(made, longer.copy()).token == ord("2")
    with pytest.raises(EngineError, match="256"):
        Sampler(temperature).choose(matcher(DIGITS), np.zeros(256, np.float32))


def test_top_k_of_one_is_the_best_legal_token() -> None:
    for seed in range(20):
        values = row(_x=50, _y=40, _5=3, _1=2)
        assert Sampler(1.5, top_k=1, seed=seed).choose(matcher(DIGITS), values).token == ord("5")


def test_a_tiny_top_p_is_the_best_legal_token() -> None:
    for seed in range(20):
        assert Sampler(1.5, top_p=1e-6, seed=seed).choose(matcher(DIGITS), row(_x=50, _5=3, _1=2)).token == ord("5")


def test_equal_seeds_give_equal_draws() -> None:
    def draws(sampler: Sampler) -> list[int]:
        return [sampler.choose(matcher(DIGITS), row(_1=1)).token for _ in range(40)]

    one, other = Sampler(1.0, seed=5), Sampler(1.0, seed=5)
    first = draws(one)
    assert first == draws(other) and draws(one) != first and draws(Sampler(1.0, seed=6)) != first
    one.restart()
    assert draws(one) == first


def chi_square(sampler: Sampler, values: np.ndarray, expected: dict[str, float], count: int = 4000) -> None:
    made = matcher(DIGITS)
    counts = dict.fromkeys("12345", 0)
    for _ in range(count):
        counts[chr(sampler.choose(made, values.copy()).token)] += 1
    assert all(counts[digit] == 0 for digit in counts if not expected.get(digit))
    statistic = sum((counts[d] - count * p) ** 2 / (count * p) for d, p in expected.items())
    assert statistic < 18.5, counts  # 99.9 % quantile for four degrees of freedom


WEIGHTS = dict(zip("12345", (0.4, 0.3, 0.15, 0.1, 0.05), strict=True))


def weighted(temperature: float = 1.0) -> np.ndarray:
    values = row(_x=10)
    for digit, weight in WEIGHTS.items():
        values[ord(digit)] = np.log(weight) * temperature + 3
    return values


def normal(weights: dict[str, float]) -> dict[str, float]:
    total = sum(weights.values())
    return {digit: weight / total for digit, weight in weights.items()}


def test_distribution() -> None:
    chi_square(Sampler(1.0, seed=1), weighted(), WEIGHTS)
    chi_square(Sampler(2.0, seed=2), weighted(2.0), WEIGHTS)
    chi_square(Sampler(0.5, seed=3), weighted(), normal({d: w**2 for d, w in WEIGHTS.items()}))


def test_distribution_of_the_filters() -> None:
    chi_square(Sampler(1.0, top_k=3, seed=4), weighted(), normal({d: WEIGHTS[d] for d in "123"}))
    chi_square(Sampler(1.0, top_p=0.8, seed=5), weighted(), normal({d: WEIGHTS[d] for d in "123"}))
    chi_square(Sampler(1.0, top_p=0.69, seed=6), weighted(), normal({d: WEIGHTS[d] for d in "12"}))
    # top-k first, then top-p of what it left: 0.4 / 0.7 covers 0.55
    chi_square(Sampler(1.0, top_k=2, top_p=0.55, seed=7), weighted(), {"1": 1.0}, 200)


def test_filters_never_leave_nothing() -> None:
    for seed in range(50):
        random = np.random.default_rng(seed)
        sampler = Sampler(random.uniform(0.01, 50), int(random.integers(0, 4)), float(random.uniform(1e-9, 1)), seed)
        made = matcher(DIGITS if seed % 2 else {"type": "string"}, prefix=b"" if seed % 2 else b'"')
        token = sampler.choose(made, (random.normal(size=257) * 30).astype(np.float32)).token
        assert made.allows(token)


@pytest.mark.parametrize("wrong", [{"temperature": -1}, {"top_k": -1}, {"top_p": 0}, {"top_p": 1.5}])
def test_settings_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must hold"):
        Sampler(**wrong)  # type: ignore[arg-type]


def test_log_softmax() -> None:
    values = np.array([1000.0, 999.0, -1000.0], np.float32)
    assert log_softmax(values, 0) == pytest.approx(-np.log1p(np.exp(-1)))
    assert log_softmax(values, 1) == pytest.approx(-1 - np.log1p(np.exp(-1)))
