"""What the log says of requests that were refused."""

import logging


class WithoutTraces(logging.Filter):
    """Says in one line that somebody was refused: where that was decided in the code tells an operator
    nothing. Failures keep their tracebacks."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.ERROR:
            record.exc_info = record.exc_text = None
        return True
