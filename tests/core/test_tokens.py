from core import tokens


def test_a_token_is_long_url_safe_and_new_each_time() -> None:
    made = {tokens.new_token() for _ in range(50)}
    assert len(made) == 50
    assert all(len(token) * 6 >= 128 for token in made)
    assert all(token.replace("-", "").replace("_", "").isalnum() for token in made)


def test_a_hash_matches_its_token_alone() -> None:
    token = tokens.new_token()
    kept = tokens.hash_token(token)
    assert len(kept) == 64
    assert tokens.matches(kept, token)
    assert not tokens.matches(kept, token + "x")
    assert not tokens.matches(kept, kept)


def test_an_empty_hash_matches_nothing() -> None:
    assert not tokens.matches("", "")
    assert not tokens.matches("", "anything")


def test_odd_characters_are_only_wrong() -> None:
    assert not tokens.matches(tokens.hash_token("a"), "密\ud800")
