"""Measurements of the real processes on this machine; `bench/README.md` lists them.

Each is a command, `python -m bench.NAME`. It starts what it needs in a folder of its own, talks to
loopback only, is bounded in count and time, and stops what it started.
"""
