"""What every request passes besides Django's own."""

from collections.abc import Callable

from auditlog.context import set_extra_data
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest

Respond = Callable[[HttpRequest], HttpResponse]


def refuse_nul(respond: Respond) -> Respond:
    """Answer 400 to a NUL in the query or in a cookie (which may escape it): Postgres takes none, and
    a filter or a session with one would be a 500."""

    def answer(request: HttpRequest) -> HttpResponse:
        query = request.META.get("QUERY_STRING", "")
        in_query = "%00" in query or "\x00" in query
        if in_query or any("\x00" in value for value in request.COOKIES.values()):
            return HttpResponseBadRequest("NUL is no character that can be asked for.")
        return respond(request)

    return answer


def actor(respond: Respond) -> Respond:
    """Name the person of a request in what the audit keeps of it. Who that is, is asked only where
    there is something to keep."""

    def answer(request: HttpRequest) -> HttpResponse:
        with set_extra_data({"actor": request.user}):
            return respond(request)

    return answer
