"""The playground: a OneBot implementation in a page of the console, over the real gateway."""
