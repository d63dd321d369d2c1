"""Worker processes: the same work as in one process, by several at once."""

from mudy._support.workers.ordered import ordered_outcomes
from mudy._support.workers.work import Work, threads_each
from mudy._support.workers.worker_pool import WorkerPool

__all__ = ["Work", "WorkerPool", "ordered_outcomes", "threads_each"]
