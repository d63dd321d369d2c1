"""Worker processes: in order, each item once, whatever ends; and nothing is left of them."""

import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mudy._support.workers import (
    STARTS_IN_A_ROW,
    Cancelling,
    Task,
    WorkerPool,
    WorkerProcess,
    ordered_outcomes,
    pickled_work,
    silent_seconds,
    threads_each,
)
from mudy.errors import InputError, WorkerError
from tests.reading.test_pool import gone
from tests.served import PATIENCE, until
from tests.support.made import Squares, Unable, pids

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
ROOT = str(Path(__file__).parents[2])


@pytest.fixture(autouse=True)
def workers_find_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((ROOT, os.environ.get("PYTHONPATH", ""))))


@pytest.fixture
def pool(tmp_path: Path) -> Iterator[WorkerPool[Any, Any]]:
    with WorkerPool(Squares(str(tmp_path)), 2) as made:
        yield made


def test_outcomes_come_in_the_order_of_the_items(pool: WorkerPool[Any, Any]) -> None:
    chunks = [range(start, start + 1 + start % 5) for start in range(40)]
    assert list(ordered_outcomes(pool, chunks)) == [number**2 for chunk in chunks for number in chunk]
    assert len(pids(pool)) == 2


def test_no_more_processes_are_started_than_there_is_work(pool: WorkerPool[Any, Any]) -> None:
    assert list(ordered_outcomes(pool, [[1, 2, 3]])) == [1, 4, 9]
    assert len(pids(pool)) == 1


def test_items_of_a_process_that_was_killed_are_computed_by_another(pool: WorkerPool[Any, Any]) -> None:
    chunks: list[list[Any]] = [[1, 2], [3, "die once", 5], [6], [7, 8]]
    assert list(ordered_outcomes(pool, chunks)) == [1, 4, 9, "die once", 25, 36, 49, 64]


def test_an_item_that_ends_every_process_is_lost_and_no_other(pool: WorkerPool[Any, Any]) -> None:
    found = list(ordered_outcomes(pool, [[1, 2], [3, "die", 5], [6], ["die"], [7]]))
    assert [found[i] for i in (0, 1, 2, 4, 5, 7)] == [1, 4, 9, 25, 36, 49]
    assert found[3] == found[6]
    assert "die lost: The worker process that computed it ended (signal 9)." in found[3]


def test_however_many_items_in_a_row_end_their_process_the_next_is_computed() -> None:
    with WorkerPool(Squares(), 1) as pool:
        found = list(ordered_outcomes(pool, [["die"] * 6, [7]]))
    assert found[-1] == 49
    assert all("die lost" in outcome for outcome in found[:-1])


def test_processes_that_are_killed_at_their_start_are_not_started_for_ever() -> None:
    with (
        WorkerPool(Unable(-signal.SIGKILL), 1) as pool,
        pytest.raises(
            WorkerError, match=rf"{2 + STARTS_IN_A_ROW} worker processes were killed at their start.*signal 9"
        ),
    ):
        list(ordered_outcomes(pool, [[1], [2]]))


class WhileStopped:
    """A limit for the silence of processes: none, but where an item has just stopped the only one."""

    def __init__(self, folder: Path) -> None:
        self._stopped = folder / "stopped"

    def __call__(self, _: int) -> float:
        stopped = self._stopped.exists()
        self._stopped.unlink(missing_ok=True)
        return 0.0 if stopped else math.inf


def test_a_process_that_was_stopped_is_replaced_and_its_items_are_computed(tmp_path: Path) -> None:
    with WorkerPool(Squares(str(tmp_path)), 1, WhileStopped(tmp_path)) as pool:
        found = list(ordered_outcomes(pool, [[1, 2], [3, "stop once", 5], [6]]))
        assert found == [1, 4, 9, "stop once", 25, 36]


def test_an_item_in_which_every_process_stops_is_lost_with_the_reason(tmp_path: Path) -> None:
    with WorkerPool(Squares(str(tmp_path)), 1, WhileStopped(tmp_path)) as pool:
        found = list(ordered_outcomes(pool, [[2, "stop"], [3]]))
        assert (found[0], found[2]) == (4, 9)
        assert "stop lost: The worker process that computed it gave no sign of life for" in found[1]


def test_a_long_item_sent_to_a_stopped_process_holds_nobody_up(tmp_path: Path) -> None:
    """It fills the pipe, which nobody empties."""
    with WorkerPool(Squares(str(tmp_path)), 1, lambda _: 0.0) as pool:
        assert pool.submit([3]).future.result(PATIENCE) == [9]
        os.kill(pids(pool)[0], signal.SIGSTOP)
        task = pool.submit(["long" * 1_000_000])
        pool.waited(1.0)
        with pytest.raises(WorkerError, match="no sign of life"):
            task.future.result(PATIENCE)


def test_a_process_that_computes_gives_signs_of_life(tmp_path: Path) -> None:
    with WorkerPool(Squares(str(tmp_path)), 1) as pool:
        pool.submit(["wait"])
        until(lambda: (tmp_path / "waiting").exists())
        pool.waited(silent_seconds(0))
        until(lambda: pool._processes[0]._silent == 0)


def test_the_limit_of_silence_grows_with_what_is_computed() -> None:
    assert 600 <= silent_seconds(0) < silent_seconds(1_000_000) < math.inf


def test_a_process_that_waits_for_a_task_may_be_silent(tmp_path: Path) -> None:
    with WorkerPool(Squares(str(tmp_path)), 1, lambda _: 0.0) as pool:
        assert pool.submit([3]).future.result(PATIENCE) == [9]
        before = pids(pool)
        pool.waited(1e9)
        assert pool.submit([4]).future.result(PATIENCE) == [16]
        assert pids(pool) == before


def test_a_process_that_is_killed_while_it_has_nothing_to_do_is_replaced(pool: WorkerPool[Any, Any]) -> None:
    assert list(ordered_outcomes(pool, [[2]])) == [4]
    os.kill(pids(pool)[0], signal.SIGKILL)
    assert list(ordered_outcomes(pool, [[3], [4]])) == [9, 16]


@pytest.mark.parametrize("code", [0, 3])
def test_a_process_that_cannot_start_fails_for_all(code: int) -> None:
    with (
        WorkerPool(Unable(code), 2) as pool,
        pytest.raises(WorkerError, match=f"ended at its start .exit code {code}"),
    ):
        list(ordered_outcomes(pool, [[1, 2], [3], [4]]))


def test_work_that_cannot_begin_raises_its_own_error() -> None:
    with WorkerPool(Unable(), 2) as pool, pytest.raises(InputError, match="nothing to work with"):
        list(ordered_outcomes(pool, [[1, 2], [3]]))


def test_work_that_cannot_be_sent_is_refused_before_a_process_starts() -> None:
    work: Any = Squares(lambda: None)  # type: ignore[arg-type]
    with pytest.raises(WorkerError, match="cannot be sent to worker processes"):
        WorkerPool(work, 2)


def test_exceptions_keep_type_and_message(pool: WorkerPool[Any, Any]) -> None:
    for item, kind, message in (
        ("ours", InputError, "^no text$"),
        ("theirs", ZeroDivisionError, "by hand"),
        ("unsendable", WorkerError, "^Unsendable: firstsecond$"),
    ):
        with pytest.raises(kind, match=message) as raised:
            list(ordered_outcomes(pool, [[item]]))
        noted = any("in outcome" in note for note in getattr(raised.value, "__notes__", ()))
        assert noted == (item == "theirs")  # where it was raised


def test_what_a_library_prints_is_no_answer(pool: WorkerPool[Any, Any]) -> None:
    assert list(ordered_outcomes(pool, [["print"], [3]])) == ["print", 9]


def test_outcomes_before_an_input_that_fails_come_first(pool: WorkerPool[Any, Any]) -> None:
    def chunks() -> Iterator[list[Any]]:
        yield [1]
        yield [2]
        raise OSError("gone")

    outcomes = ordered_outcomes(pool, chunks())
    assert [next(outcomes), next(outcomes)] == [1, 4]
    with pytest.raises(OSError, match="gone"):
        next(outcomes)


def test_chunks_are_taken_as_they_are_needed(pool: WorkerPool[Any, Any]) -> None:
    taken = []

    def chunks() -> Iterator[list[Any]]:
        for number in range(100):
            taken.append(number)
            yield [number]

    outcomes = ordered_outcomes(pool, chunks())
    assert taken == []
    next(outcomes)
    assert 1 <= len(taken) <= 4 * pool.size


def test_whoever_waits_when_the_pool_is_closed_is_told(tmp_path: Path) -> None:
    with WorkerPool(Squares(str(tmp_path)), 1) as pool:
        task, second = pool.submit(["wait"]), pool.submit([1])
        until(lambda: (tmp_path / "waiting").exists())
        processes = pids(pool)
    for each in (task, second):
        with pytest.raises(WorkerError):
            each.future.result(0)
    assert all(map(gone, processes))


def test_a_task_can_be_cancelled_and_its_process_goes_on(tmp_path: Path) -> None:
    process = WorkerProcess(pickled_work(Squares(str(tmp_path))), lambda _: None)
    task = Task(["wait"])
    process.submit(task)
    until(lambda: (tmp_path / "waiting").exists())
    process.cancel(task)
    with pytest.raises(Cancelling):
        task.future.result(60)
    again = Task([3])
    process.submit(again)
    assert again.future.result(60) == [9]
    process.close()
    late = Task([4])
    process.submit(late)
    with pytest.raises(WorkerError):
        late.future.result(0)


ASKING = """
import sys, time
from mudy._support.workers import WorkerPool
from tests.support.made import Squares, pids
pool = WorkerPool(Squares(sys.argv[1]), 2)
tasks = [pool.submit(["pid"]), pool.submit(["pid"])]
print(*[task.future.result()[0] for task in tasks], *pids(pool), flush=True)
pool.submit(["wait"])
time.sleep(600)
"""


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_no_worker_outlives_the_process_that_started_it(tmp_path: Path, sent: signal.Signals) -> None:
    """Started without a file or a guard: workers import no script again."""
    asking = subprocess.Popen(
        [sys.executable, "-c", ASKING, str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert asking.stdout is not None
    processes = [int(pid) for pid in asking.stdout.readline().split()]
    until(lambda: (tmp_path / "waiting").exists())
    asking.send_signal(sent)
    asking.wait(60)
    asking.stdout.close()
    until(lambda: all(map(gone, processes)))


def test_tasks_of_one_process_are_computed_in_one_thread() -> None:
    with WorkerPool(Squares(), 1) as one:
        assert len(set(ordered_outcomes(one, [["threads"]] * 20))) == 1


def test_cpus_are_shared_out_unless_threads_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mudy._support.workers.usable_cpus", lambda: 8)
    assert [threads_each(n, None) for n in (1, 2, 3, 16)] == [8, 4, 2, 1]
    assert threads_each(4, 5) == 5
