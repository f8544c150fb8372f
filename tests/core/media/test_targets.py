"""Which addresses are of the public internet, and which URLs are none that is fetched from."""

import pytest
from pytest_django import Settings

from core.errors import MediaFailure
from core.media import targets

PUBLIC = [
    "1.1.1.1",
    "8.8.8.8",
    "93.184.216.34",
    "172.32.0.1",
    "100.63.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001:800::200e",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2002:808:808::1",
]
NOT_PUBLIC = [
    "0.0.0.0",  # noqa: S104
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.254",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.250",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::8.8.8.8",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:0:127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b::a00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::7f00:1",
    "100::1",
    "2001::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "2001:db8::1",
    "2001:10::1",
    "2002:7f00:1::",
    "2002:a00:1::1",
    "2002:a9fe:a9fe::1",
    "2002:c0a8:101::1",
    "3fff::1",
    "4000::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "ff0e::1",
    "not an address",
    "",
]


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_public_internet_may_be_asked(address: str) -> None:
    assert targets.is_public(address)


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_any_other_address_may_not(address: str) -> None:
    assert not targets.is_public(address)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "pictures.test/a.png",
        "//pictures.test/a.png",
        "ftp://pictures.test/a.png",
        "file:///etc/passwd",
        "gopher://pictures.test/",
        "data:image/png;base64,AAAA",
        "javascript:alert(1)",
        "http:///a.png",
        "http://",
        "http://:80/",
        "http://user@pictures.test/",
        "http://user:secret@pictures.test/",
        "http://@pictures.test/",
        "http://pictures.test@127.0.0.1/",
        "http://pictures.test:0/",
        "http://pictures.test:65536/",
        "http://pictures.test:-1/",
        "http://pictures.test:a/",
        "http://pictures.test\\@127.0.0.1/",
        "http://127.0.0.1\\pictures.test/",
        "http://pictures.test/a b.png",
        "http://pictures.test/\r\nHost: inside",
        "http://pictures.test/a\x00.png",
        " http://pictures.test/",
        "http://pictures.test%2f@127.0.0.1/",
        "http://%31%32%37.0.0.1/",
        "http://[::1/",
        "http://::1/",
        "http://[::1%25lo]/",
        "http://[127.0.0.1]/",
        "http://[v1.fe80::]/",
        "http://pictures..test/",
        "http://" + "a" * 300 + ".test/",
        "http://pictures.test/" + "a" * 5000,
    ],
)
def test_what_is_no_plain_address_is_refused(url: str) -> None:
    with pytest.raises(MediaFailure) as failure:
        targets.parse(url)
    assert failure.value.code == "bad_address"


def test_an_address_is_taken_apart_once() -> None:
    target = targets.parse("https://Pictures.Test:8443/图/a.png?x=1&y=%2F#part")
    assert (target.scheme, target.host, target.port) == ("https", "pictures.test", 8443)
    assert target.path == "/%E5%9B%BE/a.png?x=1&y=%2F"
    assert target.host_header == "pictures.test:8443"
    assert targets.parse("http://[2606:4700::1]/").host_header == "[2606:4700::1]"
    assert targets.parse("http://图.test./?a").host == "xn--wcs.test"


@pytest.mark.parametrize(
    ("allowed", "may"),
    [
        (["::1"], True),
        (["[::1]"], True),
        (["[::1]:8000"], True),
        (["[::1]:80"], False),
        (["::"], False),
        ([], False),
    ],
)
def test_an_allowed_host_may_be_an_ipv6_address(
    settings: Settings, allowed: list[str], may: bool
) -> None:
    settings.ARISE_MEDIA_ALLOWED_HOSTS = allowed
    target = targets.parse("http://[0:0::1]:8000/")
    if may:
        assert targets.resolved(target, lambda _host, _port: ["::1"], seconds=5) == ["::1"]
        return
    with pytest.raises(MediaFailure) as failure:
        targets.resolved(target, lambda _host, _port: ["::1"], seconds=5)
    assert failure.value.code == "blocked_address"
