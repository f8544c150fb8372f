"""Downloads from servers that mean harm: nothing inside is reached, nothing is endless."""

import base64
import datetime
import hashlib
import os
import socket
import ssl
import threading
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from pytest_django import Settings

from core.errors import MediaFailure
from core.media import store
from core.media.fetching import Network, fetch
from tests.core.media.servers import (
    Behaviour,
    Server,
    answer,
    drip,
    raw,
    redirect,
    running,
    silent,
)

SMALL = 64 * 1024
TEN_GIB = 10 * 1024**3
MEBIBYTE = 1024 * 1024


@pytest.fixture
def inside() -> Iterator[Server]:
    """A server that must not be reached."""
    with running() as server:
        server.paths = {path: answer(b"secret") for path in ("/", "/secret")}
        yield server


@pytest.fixture
def outside(settings: Settings) -> Iterator[Server]:
    """A server that may be asked, since the operator says so: none here has a public address."""
    with running() as server:
        settings.ARISE_MEDIA_ALLOWED_HOSTS = [f"127.0.0.1:{server.port}"]
        yield server


@pytest.fixture
def gone() -> Iterator[threading.Event]:
    """Ends what a server is doing."""
    event = threading.Event()
    yield event
    event.set()


class Liar:
    """A resolver that says, in turn, what it is given; the last answer again and again."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def code(act: Callable[[], object]) -> str:
    with pytest.raises(MediaFailure) as failure:
        act()
    assert failure.value.detail
    return failure.value.code


def test_a_picture_is_fetched_as_it_is(outside: Server) -> None:
    outside.paths["/a.png?x=1"] = answer(b"the bytes")
    assert fetch(outside.url("/a.png?x=1#part")) == b"the bytes"
    (request,) = outside.requests
    assert f"Host: 127.0.0.1:{outside.port}\r\n" in request
    assert "Accept-Encoding: identity\r\n" in request


def test_a_picture_may_be_as_large_as_the_bound(outside: Server) -> None:
    outside.paths["/"] = raw(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * SMALL)
    assert len(fetch(outside.url(), most_bytes=SMALL)) == SMALL


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "127.255.255.254",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0x7f.1",
        "017700000001",
        "0177.0.0.1",
        "0177.1",
        "127.0.0.01",
        "0",
        "0.0.0.0",  # noqa: S104
        "0x0",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "１２７.0.0.1",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
        "[::1]",
        "[0:0:0:0:0:0:0:1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
    ],
)
def test_loopback_is_refused_in_every_spelling(inside: Server, host: str) -> None:
    assert code(lambda: fetch(inside.url(host=host))) == "blocked_address"
    assert inside.connections == 0


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "100.64.0.1",
        "224.0.0.1",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "[ff02::1]",
        "2852039166",
        "0xa9fea9fe",
    ],
)
def test_an_inner_address_is_refused_before_anything_is_sent(address: str) -> None:
    assert code(lambda: fetch(f"http://{address}/latest/meta-data/")) == "blocked_address"


@pytest.mark.parametrize(
    "addresses",
    [
        ["127.0.0.1"],
        ["93.184.216.34", "127.0.0.1"],
        ["127.0.0.1", "93.184.216.34"],
        ["::ffff:127.0.0.1"],
        ["2606:4700::1", "::1"],
        ["inside.test"],
    ],
)
def test_a_name_that_means_an_inner_address_is_refused(
    inside: Server, addresses: list[str]
) -> None:
    network = Network(Liar(addresses))
    url = inside.url(host="pictures.test")
    assert code(lambda: fetch(url, network=network)) == "blocked_address"
    assert inside.connections == 0


def test_a_rebinding_name_gains_nothing(inside: Server, settings: Settings) -> None:
    """One answer when it is judged, another one when it is looked up again: it never is. To the
    system the name means this machine, too."""
    settings.ARISE_MEDIA_ALLOWED_HOSTS = [f"localhost:{inside.port}"]
    liar = Liar(["127.0.0.2"], ["127.0.0.1"])
    url = inside.url(host="localhost")
    assert code(lambda: fetch(url, seconds=5, network=Network(liar))) == "unreachable"
    assert liar.asked == [("localhost", inside.port)]
    assert inside.connections == 0


def test_an_allowed_name_is_connected_to_where_it_was_judged_to_be(
    outside: Server, inside: Server, settings: Settings
) -> None:
    settings.ARISE_MEDIA_ALLOWED_HOSTS = [f"pictures.test:{outside.port}"]
    outside.paths["/"] = answer(b"the bytes")
    liar = Liar(["127.0.0.1"])
    assert fetch(outside.url(host="pictures.test"), network=Network(liar)) == b"the bytes"
    assert f"Host: pictures.test:{outside.port}\r\n" in outside.requests[0]
    assert len(liar.asked) == 1
    other = inside.url(host="pictures.test")
    assert code(lambda: fetch(other, network=Network(liar))) == "blocked_address"


def test_an_allowed_host_without_a_port_is_allowed_on_each(
    outside: Server, settings: Settings
) -> None:
    settings.ARISE_MEDIA_ALLOWED_HOSTS = ["127.0.0.1"]
    outside.paths["/"] = answer(b"the bytes")
    assert fetch(outside.url()) == b"the bytes"
    settings.ARISE_MEDIA_ALLOWED_HOSTS = ["127.0.0.11", "pictures.test"]
    assert code(lambda: fetch(outside.url())) == "blocked_address"


def test_a_name_without_an_address_is_unreachable() -> None:
    network = Network(Liar([]))
    assert code(lambda: fetch("http://nowhere.test/", network=network)) == "unreachable"

    def refuses(_host: str, _port: int) -> Sequence[str]:
        raise socket.gaierror(-2, "not known")

    network = Network(refuses)
    assert code(lambda: fetch("http://nowhere.test/", network=network)) == "unreachable"


def test_a_name_that_nobody_resolves_in_time_is_given_up(gone: threading.Event) -> None:
    def waits(_host: str, _port: int) -> Sequence[str]:
        gone.wait(30)
        return ["127.0.0.1"]

    network = Network(waits)
    assert code(lambda: fetch("http://slow.test/", seconds=0.1, network=network)) == "timeout"


def test_no_server_is_unreachable(settings: Settings) -> None:
    with running() as server:
        url, port = server.url(), server.port
    settings.ARISE_MEDIA_ALLOWED_HOSTS = [f"127.0.0.1:{port}"]
    assert code(lambda: fetch(url, seconds=2)) == "unreachable"


def test_a_proxy_of_the_environment_is_not_asked(
    inside: Server, outside: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, inside.url())
    outside.paths["/"] = answer(b"the bytes")
    assert fetch(outside.url()) == b"the bytes"
    assert inside.connections == 0


# Redirects


def test_three_redirects_are_followed(outside: Server) -> None:
    outside.paths = {
        "/1": redirect("/2", "301 Moved Permanently"),
        "/2": redirect(outside.url("/3"), "307 Temporary Redirect"),
        "/3": redirect("4", "308 Permanent Redirect"),
        "/4": answer(b"the bytes"),
    }
    assert fetch(outside.url("/1")) == b"the bytes"
    assert len(outside.requests) == 4


def test_a_fourth_redirect_is_not(outside: Server) -> None:
    outside.paths = {"/1": redirect("/2")} | {f"/{n}": redirect(f"/{n + 1}") for n in range(2, 9)}
    assert code(lambda: fetch(outside.url("/1"))) == "http_status"
    assert len(outside.requests) == 4


def test_a_redirect_in_a_circle_ends(outside: Server) -> None:
    outside.paths = {"/": redirect("/")}
    assert code(lambda: fetch(outside.url())) == "http_status"
    assert len(outside.requests) == 4


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0x7f.1", "0"])
@pytest.mark.parametrize("form", ["http://{host}:{port}/secret", "//{host}:{port}/secret"])
def test_a_redirect_inwards_is_refused(
    outside: Server, inside: Server, host: str, form: str
) -> None:
    outside.paths["/"] = redirect(form.format(host=host, port=inside.port))
    assert code(lambda: fetch(outside.url())) == "blocked_address"
    assert inside.connections == 0


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "ftp://127.0.0.1/",
        "gopher://127.0.0.1:6379/_FLUSHALL",
        "data:image/png;base64,AAAA",
        "base64://AAAA",
        f"media:{'a' * 64}",
        "http://user@127.0.0.1/",
        "http://[::1",
        "\\\\inside\\share",
    ],
)
def test_a_redirect_to_another_kind_of_address_is_refused(outside: Server, location: str) -> None:
    outside.paths["/"] = redirect(location)
    assert code(lambda: fetch(outside.url())) == "bad_address"


def test_each_hop_of_a_name_is_judged_anew(
    outside: Server, inside: Server, settings: Settings
) -> None:
    settings.ARISE_MEDIA_ALLOWED_HOSTS = [f"pictures.test:{outside.port}"]
    outside.paths["/"] = redirect(inside.url("/secret", host="other.test"))
    liar = Liar(["127.0.0.1"])
    url = outside.url(host="pictures.test")
    assert code(lambda: fetch(url, network=Network(liar))) == "blocked_address"
    assert [host for host, _ in liar.asked] == ["pictures.test", "other.test"]
    assert inside.connections == 0


# Answers


@pytest.mark.parametrize(
    ("behaviour", "expected"),
    [
        (answer(b"", "404 Not Found"), "http_status"),
        (answer(b"", "403 Forbidden"), "http_status"),
        (answer(b"x", "500 Internal Server Error"), "http_status"),
        (answer(b"x", "206 Partial Content"), "http_status"),
        (raw(b"HTTP/1.1 204 No Content\r\n\r\n"), "http_status"),
        (raw(b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n"), "http_status"),
        (answer(b"x" * SMALL, "200 OK", "Content-Encoding: gzip"), "broken"),
        (answer(b"x", "200 OK", "Content-Encoding: br"), "broken"),
        (answer(b"x", "200 OK", "Content-Encoding: identity, gzip"), "broken"),
        (raw(f"HTTP/1.1 200 OK\r\nContent-Length: {TEN_GIB}\r\n\r\n".encode()), "too_large"),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"), "unreachable"),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), "unreachable"),
        (
            raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
            "unreachable",
        ),
        (raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), "unreachable"),
        (raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nzz\r\n"), "unreachable"),
        (raw(b"HTTP/1.1 101 Switching Protocols\r\n\r\n"), "unreachable"),
        (raw(b"SSH-2.0-OpenSSH_9.2\r\n"), "unreachable"),
        (raw(b"\x89PNG\r\n\x1a\n"), "unreachable"),
        (raw(b"\x00" * 1000), "unreachable"),
        (raw(b""), "unreachable"),
        (answer(b"x" * (SMALL + 1)), "too_large"),
        (raw(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (SMALL + 1)), "too_large"),
    ],
)
def test_an_answer_that_is_no_picture_is_a_failure_with_a_code(
    outside: Server, behaviour: Behaviour, expected: str
) -> None:
    outside.paths["/"] = behaviour
    assert code(lambda: fetch(outside.url(), most_bytes=SMALL, seconds=5)) == expected


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"8000\r\n%b\r\n" % (b"x" * 32768),
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"1;" + b"e" * 5000 + b"\r\nx\r\n",
        ),
        (f"HTTP/1.1 200 OK\r\nContent-Length: {SMALL}\r\nX: ".encode(), b"x" * 65536),
        (b"HTTP/1.1 200 OK\r\n", b"X-Header: value\r\n" * 1000),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
        (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 1000),
        (b"", b"x" * 65536),
    ],
)
def test_a_stream_without_an_end_is_not_read_to_it(
    outside: Server, head: bytes, piece: bytes
) -> None:
    outside.paths["/"] = outside.endless(head, piece)
    tracemalloc.start()
    try:
        failed = code(lambda: fetch(outside.url(), most_bytes=SMALL, seconds=20))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert failed in {"too_large", "unreachable"}
    assert peak < 8 * MEBIBYTE
    assert outside.sent < 16 * MEBIBYTE  # what the sockets' buffers took is in it


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nX-Header: ",
        b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
def test_a_drip_is_given_up_in_time(outside: Server, gone: threading.Event, head: bytes) -> None:
    piece = b"1\r\nx\r\n" if head.endswith(b"chunked\r\n\r\n") else b"x"
    outside.paths["/"] = drip(head, piece, gone)
    assert code(lambda: fetch(outside.url(), seconds=0.4)) == "timeout"


def test_silence_is_given_up_in_time(outside: Server, gone: threading.Event) -> None:
    outside.paths["/"] = silent(gone)
    assert code(lambda: fetch(outside.url(), seconds=0.2)) == "timeout"


def test_redirects_share_one_time(outside: Server, gone: threading.Event) -> None:
    def late(connection: socket.socket) -> None:
        gone.wait(0.2)
        redirect("/")(connection)

    outside.paths["/"] = late
    assert code(lambda: fetch(outside.url(), seconds=0.5)) == "timeout"


# TLS


class Authority:
    """An authority of the test's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        self.certificate = self._sign(self.name, self.key.public_key(), is_authority=True)

    def _sign(
        self, name: x509.Name, key: ec.EllipticCurvePublicKey, *, is_authority: bool = False
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self.name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if not is_authority:
            names = [x509.DNSName("pictures.test")]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self.key, hashes.SHA256())

    def trusted(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        pem = self.certificate.public_bytes(serialization.Encoding.PEM)
        context.load_verify_locations(cadata=pem.decode())
        return context

    def serving(self) -> ssl.SSLContext:
        """What a server of `pictures.test` has."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pictures.test")])
        certificate = self._sign(name, key.public_key())
        file = self.folder / "server.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context


def test_a_certificate_is_checked_for_the_name_though_the_address_is_pinned(
    settings: Settings, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    settings.ARISE_MEDIA_ALLOWED_HOSTS = ["pictures.test", "other.test"]
    network = Network(Liar(["127.0.0.1"]), authority.trusted())
    with running(trust=authority.serving()) as server:
        server.paths["/"] = answer(b"the bytes")
        assert fetch(server.url(host="pictures.test"), network=network) == b"the bytes"
        other = server.url(host="other.test")
        assert code(lambda: fetch(other, network=network)) == "unreachable"
        distrusting = Network(Liar(["127.0.0.1"]))
        url = server.url(host="pictures.test")
        assert code(lambda: fetch(url, network=distrusting)) == "unreachable"
        assert len(server.requests) == 1


def test_a_handshake_that_never_ends_is_given_up_in_time(settings: Settings) -> None:
    settings.ARISE_MEDIA_ALLOWED_HOSTS = ["127.0.0.1"]
    with socket.create_server(("127.0.0.1", 0)) as mute:
        url = f"https://127.0.0.1:{mute.getsockname()[1]}/"
        assert code(lambda: fetch(url, seconds=0.3)) == "timeout"


# What needs no network


def test_inline_bytes_are_decoded() -> None:
    assert fetch("base64://" + base64.b64encode(b"the bytes").decode()) == b"the bytes"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("base64://####", "broken"),
        ("base64://AAA", "broken"),
        ("base64://AA==AA==", "broken"),
        ("base64://AA AA", "broken"),
        ("base64://AAAA\n", "broken"),
        ("base64://__--", "broken"),
        ("base64://图图图图", "broken"),
        ("base64://" + "A" * (SMALL * 2), "too_large"),
        ("", "no_address"),
        ("BASE64://AAAA", "bad_address"),
        ("a.png", "bad_address"),
        ("/etc/passwd", "bad_address"),
        ("media:", "bad_address"),
        ("media:../../../../etc/passwd", "bad_address"),
        ("media:" + "A" * 64, "bad_address"),
        ("media:" + "a" * 63, "bad_address"),
        ("media:" + "a" * 64 + "\n", "bad_address"),
        ("media:" + "a" * 64, "no_address"),
    ],
)
def test_other_sources_are_read_strictly(
    source: str, expected: str, settings: Settings, tmp_path: Path
) -> None:
    settings.MEDIA_ROOT = tmp_path
    assert code(lambda: fetch(source, most_bytes=SMALL)) == expected


def test_what_is_kept_is_fetched_by_its_digest(settings: Settings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    digest = store.spool(b"the bytes")
    assert digest == hashlib.sha256(b"the bytes").hexdigest()
    assert fetch(f"media:{digest}") == b"the bytes"
    assert code(lambda: fetch(f"media:{digest}", most_bytes=3)) == "too_large"
    assert os.listdir(tmp_path) == ["spool"]  # noqa: PTH208
