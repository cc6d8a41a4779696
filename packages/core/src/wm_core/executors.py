"""Where cells run: in this process, or in worker processes. A cluster is somebody's plugin in `wm.executors`.

An executor is given cells as JSON and runs `wmbench run-cell CELL.json` for each; the parent reads only the
store. So a killed worker, a killed parent and a machine that vanished all leave the same thing: records.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import IO

from wm_core.cell import run_cell
from wm_core.protocols import CellJob, CellOutcome
from wm_core.store import cell_slug

_STDERR_TAIL = 2000
WORKER = "WMBENCH_WORKER"
"""Environment variable that is set in worker processes."""
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class SerialExecutor:
    """One cell after the other, in this process."""

    def __init__(self, workers: int = 1) -> None:
        self.workers = 1

    def map(self, jobs: Iterable[CellJob]) -> Iterator[CellOutcome]:
        """Run each job and yield its outcome."""
        for job in jobs:
            yield CellOutcome(cell=job.cell, exit_code=run_cell(job))


class ProcessExecutor:
    """`workers` cells at a time, each in an interpreter of its own that ends when this one does."""

    def __init__(self, workers: int = 2) -> None:
        self.workers = workers
        self._running: set[subprocess.Popen[bytes]] = set()

    def map(self, jobs: Iterable[CellJob]) -> Iterator[CellOutcome]:
        """Run the jobs; yield outcomes as they come. Leaving early ends the workers."""
        with ThreadPoolExecutor(self.workers) as pool:
            futures = [pool.submit(self._run, job) for job in jobs]
            try:
                for future in as_completed(futures):
                    yield future.result()
            finally:
                for future in futures:
                    future.cancel()
                for process in list(self._running):
                    process.terminate()

    def _run(self, job: CellJob) -> CellOutcome:
        log = Path(job.run_dir) / "logs" / f"{cell_slug(job.cell)}.worker.log"
        log.parent.mkdir(exist_ok=True)
        with log.open("wb") as output:
            process = start_cell(job, output, workers=self.workers)
            self._running.add(process)
            try:
                code = process.wait()
            finally:
                self._running.discard(process)
                assert process.stdin is not None
                process.stdin.close()
        tail = log.read_bytes()[-_STDERR_TAIL:].decode(errors="replace")
        return CellOutcome(cell=job.cell, exit_code=code, stderr_tail=tail)


def start_cell(job: CellJob, output: IO[bytes], *, workers: int) -> subprocess.Popen[bytes]:
    """A process that measures one cell, and ends when its standard input is closed.

    It shares the cores with the other `workers`: as many threads as there are cores for it, unless the user said.
    """
    job_file = Path(job.run_dir) / "cells" / f"{cell_slug(job.cell)}.json"
    job_file.parent.mkdir(exist_ok=True)
    job_file.write_text(job.model_dump_json(indent=2))
    threads = str(max(1, (os.cpu_count() or 1) // workers))
    return subprocess.Popen(
        [sys.executable, "-m", "wm_core.cli.main", "run-cell", str(job_file), "--with-parent"],
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output,
        env={**dict.fromkeys(_THREAD_VARIABLES, threads), **os.environ, WORKER: "1"},
    )
