"""What every request passes before Django's own."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest

Respond = Callable[[HttpRequest], HttpResponse]


def refuse_nul(respond: Respond) -> Respond:
    """Answer 400 to a NUL in the query: Postgres takes none, and a filter with one would be a 500."""

    def answer(request: HttpRequest) -> HttpResponse:
        query = request.META.get("QUERY_STRING", "")
        if "%00" in query or "\x00" in query:
            return HttpResponseBadRequest("NUL is no character that can be asked for.")
        return respond(request)

    return answer
