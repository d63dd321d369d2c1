"""The routes of the app, looked up when a request comes: one that is added later needs no entry anywhere."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi.routing import APIRoute
from starlette.routing import BaseRoute, Match, Mount, Route
from starlette.types import Scope

JSON = "application/json"
OCTETS = "application/octet-stream"
BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})


class RouteTable:
    """What the middleware asks about the route of a request."""

    def __init__(self, routes: Sequence[BaseRoute]) -> None:
        self._routes = routes  # the app's own list, which grows with it

    def body_type(self, scope: Scope) -> str | None:
        """The Content-Type that a request's body must have: JSON, unless its route declares another to OpenAPI.

        None for methods without a body, and where no route reads it.
        """
        if scope["method"] not in BODY_METHODS:
            return None
        route = next((route for route in self._routes if route.matches(scope)[0] is Match.FULL), None)
        if route is None:
            return None
        declared = (route.openapi_extra or {}).get("requestBody", {}) if isinstance(route, APIRoute) else {}
        return str(next(iter(declared.get("content", {JSON: None}))))

    def template(self, scope: Scope) -> str:
        """The path of the route, not of the request, which might hold a text."""
        for route in self._routes:
            if route.matches(scope)[0] is not Match.NONE:
                if isinstance(route, Mount):
                    return f"{route.path}/{{file}}"
                return route.path if isinstance(route, Route) else "other"
        return "other"
