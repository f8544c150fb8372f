"""Failures that the code tells apart."""


class LeaseLost(Exception):
    """Another worker holds the chat now: nothing of this one may be committed."""


class MediaFailure(Exception):
    """A picture or another medium that can't be had or is not taken.

    `code` is short and stable (`no_address`, `bad_address`, `blocked_address`, `unreachable`,
    `timeout`, `http_status`, `too_large`, `not_a_picture`, `too_many_pixels`, `too_many_frames`,
    `broken`); `detail` is for the operator.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail


class ModelFailure(Exception):
    """A model call that gave no answer, after its retries.

    `code` is short and stable (`rate_limited`, `timeout`, `unreachable`, `server_error`,
    `refused`, `bad_answer`); `detail` is what the endpoint said, for the operator.
    `costs_nothing` where its last attempt surely was not charged: nothing could be sent, or the
    endpoint was too busy (429) or broken (5xx). One that was sent and not answered may be charged.
    """

    def __init__(self, code: str, detail: str, *, costs_nothing: bool = False) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.costs_nothing = costs_nothing


class ToolRefusal(Exception):
    """A tool call that is refused: the model is told the code and the sentence, nothing is done."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
