"""An invented platform: a OneBot v11 implementation that people and tests play with."""
