"""The same job on a real Ray cluster: two nodes on this machine, one of which is killed in the middle."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mudy import SettingError, corpus
from tests.corpora import jsonl, rows, texts

pytest.importorskip("ray", reason="ray is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of Ray and what it imports


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head, which says that it has a GPU, and a second node. CPUs and GPUs are what the nodes are told to have."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ray
        from ray.cluster_utils import Cluster

        head = {"num_cpus": 3, "num_gpus": 1, "include_dashboard": False}
        made = Cluster(initialize_head=True, head_node_args=head)
        made.second = made.add_node(num_cpus=2)
        ray.init(address=made.address, logging_level="ERROR", log_to_driver=False)
        yield made
        ray.shutdown()
        made.shutdown()


def files(folder: Path, count: int, each: int) -> list[Path]:
    return [
        jsonl(folder / f"{i}.jsonl", [{"id": f"{i}-{j}", "text": t} for j, t in enumerate(texts(each, seed=i))])
        for i in range(count)
    ]


def run(source: Any, output: Path, **more: Any) -> corpus.Summary:
    return corpus.run(source, output, method="yake", part_rows=50, **more)


@pytest.mark.slow
def test_a_table_in_memory_is_not_for_a_cluster(tmp_path: Path, cluster: Any) -> None:  # noqa: ARG001
    import pyarrow

    with pytest.raises(SettingError, match="which every node can read"):
        run(pyarrow.table({"text": ["River ice."]}), tmp_path / "out.jsonl", engine="ray")


@pytest.mark.slow
def test_an_actor_on_a_gpu_gives_the_same_rows_broken_ones_too(tmp_path: Path, cluster: Any) -> None:  # noqa: ARG001
    (source,) = files(tmp_path, 1, 60)
    source.write_text(source.read_text() + "broken\n" + '{"id": 7, "text": null}\n')
    run(source, tmp_path / "local.jsonl")
    summary = run(source, tmp_path / "ray.jsonl", engine="ray")
    assert (summary.rows, summary.failed) == (62, 2)
    assert rows(tmp_path / "ray.jsonl") == rows(tmp_path / "local.jsonl")


@pytest.mark.slow
def test_an_empty_corpus_gives_an_empty_output(tmp_path: Path, cluster: Any) -> None:  # noqa: ARG001
    (tmp_path / "in.jsonl").write_text("\n")
    assert run(tmp_path / "in.jsonl", tmp_path / "out.jsonl", engine="ray").rows == 0
    assert rows(tmp_path / "out.jsonl") == []


@pytest.mark.slow
def test_what_a_cluster_began_one_machine_can_finish(tmp_path: Path, cluster: Any) -> None:  # noqa: ARG001
    source = files(tmp_path, 2, 60)

    def stop(progress: corpus.Progress) -> None:
        if progress.rows == 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(source, tmp_path / "out.jsonl", engine="ray", device="cpu", report=stop)
    summary = run(source, tmp_path / "out.jsonl")
    assert (summary.rows, summary.resumed) == (120, 100)
    run(source, tmp_path / "local.jsonl")
    assert rows(tmp_path / "out.jsonl") == rows(tmp_path / "local.jsonl")


@pytest.mark.long
def test_a_node_killed_in_the_middle_costs_no_row_and_doubles_none(tmp_path: Path, cluster: Any) -> None:
    source = files(tmp_path, 4, 150)
    run(source, tmp_path / "local.jsonl")
    killed: list[int] = []

    def kill(progress: corpus.Progress) -> None:
        if not killed:
            killed.append(progress.rows)
            cluster.remove_node(cluster.second, allow_graceful=False)

    summary = run(source, tmp_path / "ray.jsonl", engine="ray", device="cpu", actors=4, report=kill)
    assert 0 < killed[0] <= 100
    assert (summary.rows, summary.failed) == (600, 0)
    assert rows(tmp_path / "ray.jsonl") == rows(tmp_path / "local.jsonl")
