"""How long a search takes in the database, at several numbers of stickers over many chats.

Vectors are random, 512 numbers each. Each chat has 300 stickers, and the catalogue holds some more;
where that is a large one (`--catalogue 100000`), it is measured without its index and with it. Prints
p50 and p95 of `stickers.search.find` (the query is embedded already), of the statement alone, recall
of the ten nearest against exact comparison, and how many stickers of other chats were found.
"""

import random
import time

from bench import figures, house

SIZES = (1_000, 100_000)
OF_A_CHAT = 300
SEARCHES = 200
PICTURES = """
INSERT INTO stickers_picture
  (verdict, reason, sha256, shareable, model, tokens, claimed_at, learned)
SELECT 'stored', '', lpad(to_hex(n), 64, '0'), true, '', 0, now(), '{}' FROM generate_series(1, %s) n
"""
STICKERS = """
INSERT INTO stickers_sticker (ref, chat_id, picture_id, state, reason, file_id, meaning, use_when,
  avoid_when, moods, words, market_face, pinned, times_sent, learned_at)
SELECT 's' || p.id, CASE WHEN p.id <= %(shared)s THEN NULL
                         ELSE c.first + (p.id * 7919) %% c.count END,
       p.id, 'stored', '', 'md5:' || md5(p.id::text), 'meaning ' || md5(p.id::text), '', '', '{}', '',
       '{}', false, 0, now()
  FROM (SELECT row_number() OVER (ORDER BY id) AS id FROM stickers_picture) p,
       (SELECT min(id) AS first, count(*) AS count FROM core_chat) c
"""
VECTORS = """
INSERT INTO stickers_stickervector (sticker_id, scope, model, vector, text_digest)
SELECT s.id, coalesce(s.chat_id, 0), %s,
       (SELECT array_agg(random() - 0.5) FROM generate_series(1, 512) WHERE s.id > 0)::vector, ''
  FROM stickers_sticker s ORDER BY s.id
"""
EXACT = """
SELECT v.sticker_id FROM stickers_stickervector v JOIN stickers_sticker s ON s.id = v.sticker_id
 WHERE v.scope + 0 IN (%s, 0) ORDER BY v.vector <=> %s::vector LIMIT 10
"""


def main() -> None:
    parser = figures.parser("sticker_speed", __doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--catalogue", type=int, default=1000)
    parser.add_argument("--searches", type=int, default=SEARCHES)
    options = parser.parse_args()
    with house.services(fast=True):
        for size in options.sizes:
            shared = min(options.catalogue, size // 2)
            _fill(size, shared)
            _measure(size, shared, options.searches)


def _fill(size: int, shared: int) -> None:
    from django.db import connection  # noqa: PLC0415

    from core.models import Bot, Chat  # noqa: PLC0415
    from stickers.embeddings import BUILT_IN  # noqa: PLC0415

    began = time.monotonic()
    with connection.cursor() as cursor:
        cursor.execute(
            "TRUNCATE stickers_stickervector, stickers_sticker, stickers_picture, core_chat"
            " RESTART IDENTITY CASCADE"
        )
        bot, _ = Bot.objects.get_or_create(self_id="10000")
        count = max(2, (size - shared) // OF_A_CHAT)
        Chat.objects.bulk_create(
            Chat(bot=bot, kind="group", external_id=str(number)) for number in range(count)
        )
        cursor.execute(PICTURES, [size])
        cursor.execute(STICKERS, {"shared": shared})
        cursor.execute(VECTORS, [BUILT_IN.model])
        cursor.execute("VACUUM ANALYZE stickers_stickervector, stickers_sticker")
    print(f"{size} stickers in {count} chats, {shared} in the catalogue; filled in", end=" ")
    print(f"{time.monotonic() - began:.0f} s")


def _measure(size: int, shared: int, searches: int) -> None:
    from core.models import Chat  # noqa: PLC0415
    from stickers import upkeep  # noqa: PLC0415

    draw = random.Random(size)
    chats = draw.choices(list(Chat.objects.all()), k=searches)
    _tell("one by one", chats, draw)
    from stickers import candidates  # noqa: PLC0415

    if shared > candidates.LARGE:
        began = time.monotonic()
        print(f"  {upkeep.index_large_scopes()} made in {time.monotonic() - began:.0f} s")
        _tell("the catalogue by its index", chats, draw)


def _tell(name: str, chats: list, draw: random.Random) -> None:  # type: ignore[type-arg]
    from stickers import candidates, search  # noqa: PLC0415
    from stickers.embeddings import BUILT_IN  # noqa: PLC0415
    from stickers.models import Sticker  # noqa: PLC0415

    whole: list[float] = []
    statement: list[float] = []
    recall: list[float] = []
    strays = 0
    for chat in chats:
        vector = [draw.uniform(-1, 1) for _ in range(512)]
        query = search.Query("无奈", BUILT_IN, vector)
        began = time.perf_counter()
        search.find(chat, query)
        whole.append(1000 * (time.perf_counter() - began))
        began = time.perf_counter()
        found = candidates.find(chat.pk, BUILT_IN.model, vector, [])
        statement.append(1000 * (time.perf_counter() - began))
        strays += Sticker.objects.filter(pk__in=found).exclude(search.usable(chat)).count()
        if len(recall) < 50:
            nearest = house.rows(EXACT, chat.pk, f"[{','.join(map(repr, vector))}]")
            best = sorted(found, key=lambda key: -(found[key] or 0))[:10]
            recall.append(len({key for (key,) in nearest} & set(best)) / len(nearest))
    print(
        f"  {name}: find p50 {figures.percentile(whole, 0.5):.1f}, p95 "
        f"{figures.percentile(whole, 0.95):.1f} ms; statement p50 "
        f"{figures.percentile(statement, 0.5):.1f}, p95 {figures.percentile(statement, 0.95):.1f} ms; "
        f"recall@10 {sum(recall) / len(recall):.3f}; of other chats {strays}"
    )


if __name__ == "__main__":
    main()
