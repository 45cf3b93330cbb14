"""What is promised is importable, sorted, and all there is."""

import types

import toolroute


def test_all_is_sorted_and_complete() -> None:
    assert toolroute.__all__ == sorted(toolroute.__all__)
    public = {n for n, v in vars(toolroute).items() if not n.startswith("_") and not isinstance(v, types.ModuleType)}
    assert public == set(toolroute.__all__)


def test_every_error_is_a_route_error() -> None:
    from toolroute import errors

    found = {n: v for n, v in vars(errors).items() if isinstance(v, type) and issubclass(v, Exception)}
    assert all(issubclass(v, toolroute.RouteError) for v in found.values())
    assert set(found) <= set(toolroute.__all__)
    assert all(name in (errors.__doc__ or "") for name in found)
