"""How the benches take and print figures."""

import argparse
import os
import tempfile
import time
from collections.abc import Mapping

import psutil


def parser(name: str, doc: str | None) -> argparse.ArgumentParser:
    """A command line whose help is the module's docstring."""
    return argparse.ArgumentParser(
        prog=f"python -m bench.{name}",
        description=doc,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def cpu_seconds(measured: Mapping[str, psutil.Process]) -> dict[str, float]:
    """User and system time of each process so far."""
    times = {name: one.cpu_times() for name, one in measured.items()}
    return {name: time.user + time.system for name, time in times.items()}


def percentile(values: list[float], share: float) -> float:
    """The value below which `share` (0 to 1) of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def tell_disk(*, fast: bool = False) -> None:
    """Print what the disk takes to keep one block, which each commit waits for."""
    took = []
    with tempfile.TemporaryFile(dir=os.environ["ARISE_HOME"]) as file:
        for _ in range(50):
            file.write(bytes(8192))
            file.flush()
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            took.append(1000 * (time.perf_counter() - began))
    middle = percentile(took, 0.5)
    used = "commits do not wait for it" if fast else "each commit waits for it"
    print(f"the disk keeps a block in {middle:.2f} ms (p90 {percentile(took, 0.9):.1f}); {used}")
