"""Pictures of the media store, for who may see what they belong to: the stored bytes, or a still one.

They are strangers' bytes. They go out as what they were found to be when they were examined, with
headers that let a browser take them for nothing else.
"""

import io

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotModified
from django.utils.cache import patch_cache_control
from django.utils.http import parse_etags, quote_etag
from PIL import Image, UnidentifiedImageError

from core.media import store
from core.models import StoredMedia

MEDIA_TYPES = {"image/gif": "GIF", "image/jpeg": "JPEG", "image/png": "PNG", "image/webp": "WEBP"}
"""What is ever served, by Pillow's name of it."""
_STILL_SIDE = 480
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Disposition": "inline",
}


def serve(request: HttpRequest, sha256: str, *, still: bool = False) -> HttpResponse:
    """Answer with a picture that the person may see, or its first frame; Http404 where there is none."""
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
