"""JSON Schema → expression, and catalogue → route.

Reading order: ``keywords`` (what each keyword is), ``document`` (references), ``lower`` (the compiler), ``disjoint`` and ``check``
(what it asks about values), ``report`` (what became of every assertion), ``compile`` (routes).
"""

from .compile import Route, compile_route, compile_schema
from .report import Assertion, CompileReport

__all__ = ["Assertion", "CompileReport", "Route", "compile_route", "compile_schema"]
