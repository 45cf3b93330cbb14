"""toolroute: a local language model chooses its next tool, one schema-valid call or none, and never anything else.

    import toolroute as tr

    catalogue = tr.Catalogue.from_tools(tools)
    router = tr.Router(tr.LlamaEngine.load("smollm2-135m"), catalogue)
    action = router.route("What's the weather in Oslo?")

What is listed in ``__all__`` is the public door. Everything else can be reached by its module path and may change.
"""

from .action import Action, Score, Timings, Usage
from .catalogue import Catalogue, Tool, ToolRegistry
from .engine import Engine, LlamaEngine, ScriptedEngine, load_vocabulary, resolve_model
from .engine.gate import Gate
from .errors import (
    Aborted,
    CapTooSmall,
    CatalogueError,
    ContextOverflow,
    DeadEnd,
    DownloadError,
    EngineError,
    ModelError,
    ReplyRejected,
    RouteError,
    SchemaError,
    SchemaLimit,
    TokenRejected,
    ToolChoiceError,
    UnsatisfiableRoute,
    UnsupportedSchema,
    VocabularyError,
)
from .mask import Matcher, TokenMask
from .route import (
    ParsedRoute,
    Terminal,
    can_route,
    parse_route,
    parse_route_lenient,
    route_choices,
    route_schema,
    route_tool_names,
    routed_backend,
    routed_call_id,
    routed_result_header,
    routed_result_text,
    routing_cap,
    split_routed_result,
    validate_arguments,
)
from .router import Router, UnfittedGateWarning
from .schema import Assertion, CompileReport, Route, compile_route, compile_schema
from .vocab import Vocabulary

__version__ = "0.1.0"

__all__ = [
    "Aborted",
    "Action",
    "Assertion",
    "CapTooSmall",
    "Catalogue",
    "CatalogueError",
    "CompileReport",
    "ContextOverflow",
    "DeadEnd",
    "DownloadError",
    "Engine",
    "EngineError",
    "Gate",
    "LlamaEngine",
    "Matcher",
    "ModelError",
    "ParsedRoute",
    "ReplyRejected",
    "Route",
    "RouteError",
    "Router",
    "SchemaError",
    "SchemaLimit",
    "Score",
    "ScriptedEngine",
    "Terminal",
    "Timings",
    "TokenMask",
    "TokenRejected",
    "Tool",
    "ToolChoiceError",
    "ToolRegistry",
    "UnfittedGateWarning",
    "UnsatisfiableRoute",
    "UnsupportedSchema",
    "Usage",
    "Vocabulary",
    "VocabularyError",
    "can_route",
    "compile_route",
    "compile_schema",
    "load_vocabulary",
    "parse_route",
    "parse_route_lenient",
    "resolve_model",
    "route_choices",
    "route_schema",
    "route_tool_names",
    "routed_backend",
    "routed_call_id",
    "routed_result_header",
    "routed_result_text",
    "routing_cap",
    "split_routed_result",
    "validate_arguments",
]
