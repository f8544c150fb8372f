"""Every address of the site; the WebSocket's are in botgateway.routing."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.generic import RedirectView

from arise_site import dashboard, health, metrics, preferences, second_factor


def no_icon(request: HttpRequest) -> HttpResponse:
    """Browsers ask for it on every visit; a 404 each time is a warning in the log."""
    return HttpResponse(status=204)


urlpatterns = [
    path("favicon.ico", no_icon),
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/second-factor/", include(second_factor.urls())),
    path("admin/overview/", dashboard.refreshed, name="overview"),
    path("admin/preferences/", include(preferences.urls())),
    path("admin/", admin.site.urls),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", metrics.view),
]

handler403 = "arise_site.refusals.not_allowed"
handler404 = "arise_site.refusals.not_found"
