"""Failures of the skills room."""


class BadImport(ValueError):
    """What was given can't be imported; the text is one sentence for the operator."""


class BadTarget(ValueError):
    """A place that can't be written to; the text is one sentence for the operator."""
