"""Every address of the site; the WebSocket's are in botgateway.routing."""

from django.contrib import admin
from django.urls import path
from django.views.generic import RedirectView

from arise_site import health

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
]
