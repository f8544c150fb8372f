"""A sticker's picture, for who may see the sticker: the stored bytes, or a still one of them.

They are strangers' bytes. They go out as what they were found to be when they were examined, with
headers that let a browser take them for nothing else.
"""

import io
from collections.abc import Iterable

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified
from django.utils.cache import patch_cache_control
from django.utils.http import parse_etags, quote_etag
from PIL import Image, UnidentifiedImageError

from core.media import store
from core.models import StoredMedia
from stickers.acts import HOLDING
from stickers.models import Sticker

MEDIA_TYPES = {"image/gif": "GIF", "image/jpeg": "JPEG", "image/png": "PNG", "image/webp": "WEBP"}
"""What is ever served, by Pillow's name of it."""
IS_MOVING = "is_moving"
_STILL_SIDE = 480
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Disposition": "inline",
}


def mark_moving(stickers: Iterable[Sticker]) -> None:
    """Tell each whether its picture moves, for the templates, as the gallery's own rows have it."""
    rows = list(stickers)
    digests = {sticker.picture.sha256 for sticker in rows}
    moving = StoredMedia.objects.filter(sha256__in=digests, frames__gt=1)
    known = set(moving.values_list("sha256", flat=True))
    for sticker in rows:
        setattr(sticker, IS_MOVING, sticker.picture.sha256 in known)


def serve(request: HttpRequest, sticker: Sticker, *, still: bool) -> HttpResponse:
    """Answer with the sticker's picture, or its first frame; Http404 where there is none."""
    sha256 = sticker.picture.sha256 if sticker.state in HOLDING else ""
    return serve_stored(request, sha256, still=still)


def serve_stored(request: HttpRequest, sha256: str, *, still: bool) -> HttpResponse:
    """The same for a digest that the person may see."""
    media = StoredMedia.objects.filter(sha256=sha256, media_type__in=MEDIA_TYPES).first()
    if media is None:
        raise Http404
    tag = quote_etag(f"{sha256}-still" if still else sha256)
    if tag in parse_etags(request.headers.get("If-None-Match", "")):
        return _with_headers(HttpResponseNotModified(), tag)
    content = store.read(sha256)
    if content is None:
        raise Http404
    media_type = media.media_type
    if still and media.frames > 1:
        media_type, content = "image/png", _first_frame(content, MEDIA_TYPES[media_type])
    return _with_headers(HttpResponse(content, content_type=media_type), tag)


def _with_headers(answer: HttpResponse, tag: str) -> HttpResponse:
    for name, value in _HEADERS.items():
        answer.headers[name] = value
    answer.headers["ETag"] = tag
    # Asked for again each time, so that what was taken down is not shown any more.
    patch_cache_control(answer, private=True, no_cache=True)
    return answer


def _first_frame(content: bytes, kind: str) -> bytes:
    try:
        with Image.open(io.BytesIO(content), formats=(kind,)) as picture:
            frame = picture.convert("RGBA")
    except (UnidentifiedImageError, OSError):
        raise Http404 from None
    frame.thumbnail((_STILL_SIDE, _STILL_SIDE))
    file = io.BytesIO()
    frame.save(file, "PNG")
    return file.getvalue()
