"""The contract of a route: its schema, a reply to it, the arguments, the result message, the prompt text.

Reading order: ``terminal`` and ``schema`` (with ``reroot``) say what may be answered; ``jsontext`` and ``reply`` read an answer strictly,
``lenient`` reads one that nothing constrained; ``validate`` (with ``dialects``, ``patterns``, ``ecma``, ``charset``, ``numbers`` and
``formats``) judges its arguments; ``result`` renders what the tool returned; ``prompt`` (with ``typetext``) tells the model about it all;
``backend`` sends the same route to another process.
"""

from .backend import can_route, routed_backend, routing_cap
from .jsontext import MAX_DEPTH, MAX_DIGITS
from .jsontext import dump as dump_json
from .lenient import parse_route_lenient
from .prompt import tool_parameters_doc, tool_signature, tools_section
from .reply import ParsedRoute, parse_route
from .result import routed_call_id, routed_result_header, routed_result_text, split_routed_result
from .schema import offered, route_choices, route_schema, route_tool_names
from .terminal import NONE, Terminal, to_terminals
from .validate import ArgumentValidator, argument_validator, validate_arguments

__all__ = [
    "MAX_DEPTH",
    "MAX_DIGITS",
    "NONE",
    "ArgumentValidator",
    "ParsedRoute",
    "Terminal",
    "argument_validator",
    "can_route",
    "dump_json",
    "offered",
    "parse_route",
    "parse_route_lenient",
    "route_choices",
    "route_schema",
    "route_tool_names",
    "routed_backend",
    "routed_call_id",
    "routed_result_header",
    "routed_result_text",
    "routing_cap",
    "split_routed_result",
    "to_terminals",
    "tool_parameters_doc",
    "tool_signature",
    "tools_section",
    "validate_arguments",
]
