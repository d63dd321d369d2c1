"""TextRank, SingleRank, TopicRank, MultipartiteRank: against networkx and plain loops over the papers' definitions."""

import random
import tracemalloc
from collections.abc import Sequence
from itertools import combinations
from math import exp
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from mudy.errors import SettingError
from mudy.methods import method_class
from mudy.methods.graphs import Nearness, WordIndex, WordRange, pagerank
from mudy.methods.method import Method
from mudy.methods.textrank import SingleRank, TextRank, co_occurrences
from mudy.methods.topicrank import MultipartiteRank, TopicRank, jaccard_distance, topics
from mudy.methods.yake import Yake
from mudy.reading.candidates import Candidate, candidates, given, grouped
from mudy.reading.document import Document
from tests.tagged import tagged
from tests.taggers import english

WITHOUT_MODELS: list[Method] = [TextRank(), SingleRank(), TopicRank(), MultipartiteRank(), Yake()]
every_method = pytest.mark.parametrize("method", WITHOUT_MODELS, ids=lambda method: type(method).__name__)

TEXT = """
river/NN ice/NN is/VBZ thin/JJ . the/DT ice/NN road/NN closes/VBZ in/IN early/JJ spring/NN . a/DT radar/NN map/NN
guides/VBZ trucks/NNS over/IN the/DT river/NN ice/NN . old/JJ radar/NN maps/NNS fail/VBP trucks/NNS . then/RB a/DT
ferry/NN crosses/VBZ , and/CC its/PRP$ crew/NN reads/VBZ the/DT radar/NN map/NN on/IN the/DT ice/NN road/NN .
"""
SCIENCE = (
    "Deep neural networks learn features from raw data. A neural network with many layers needs much training data, "
    "and training data is scarce. Transfer learning moves features from one task to another task. Image models use "
    "convolutional layers; language models use attention layers. Attention maps show which words a model reads. "
)


def scores_of(method: Method, document: Document, found: Sequence[Candidate]) -> dict[str, float]:
    return {found[s.candidate].phrase: s.score for s in method.score(document, found)}


def many_words(n: int, seed: int = 0) -> Document:
    """Phrases of one to three words out of 800, like a long text: many repeated, most rare."""
    drawn = random.Random(seed)
    words: list[str] = []
    while len(words) < n:
        phrase = [f"word{int(800 * drawn.random() ** 2)}" for _ in range(drawn.choice((1, 1, 2, 2, 3)))]
        words += [*phrase, drawn.choice(("of/IN", "runs/VBZ", "the/DT", "."))]
    return tagged(" ".join(words))


# -- PageRank ---------------------------------------------------------------------------------------------------------


def test_pagerank_agrees_with_networkx_on_a_directed_graph_with_a_dead_end() -> None:
    edges = [(0, 1, 2.0), (0, 2, 1.0), (1, 2, 0.5), (2, 0, 3.0), (2, 3, 1.0), (4, 0, 1.0)]  # 3 leads nowhere
    graph = nx.DiGraph()
    graph.add_nodes_from(range(5))
    graph.add_weighted_edges_from(edges)
    source, target, weight = map(np.array, zip(*edges, strict=True))
    incoming = sparse.csr_array((weight, (target, source)), shape=(5, 5))
    found = pagerank(incoming, np.array([3.0, 0.5, 4.0, 0.0, 1.0]), 0.85)
    assert found.sum() == pytest.approx(1)
    assert found == pytest.approx([visits for _, visits in sorted(by_networkx(graph).items())], abs=1e-8)


def by_networkx(graph: Any) -> dict[Any, float]:
    return dict(nx.pagerank(graph, alpha=0.85, tol=1e-12, max_iter=1000))


# -- Words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "window"), [(TextRank(), 2), (SingleRank(), 10), (SingleRank(window=4), 4)])
def test_word_methods_sum_the_pagerank_of_a_phrases_words(method: Method, window: int) -> None:
    document = tagged(TEXT)
    graph = nx.Graph()
    words = [(w.span.of(document.text), w.tag in ("NN", "NNS", "JJ")) for w in document.words]
    graph.add_nodes_from(word for word, fits in words if fits)
    for i, (left, left_fits) in enumerate(words):
        for right, right_fits in words[i + 1 : i + window]:
            if left_fits and right_fits and left != right:
                seen = graph[left][right]["weight"] if graph.has_edge(left, right) else 0
                graph.add_edge(left, right, weight=seen + 1 if isinstance(method, SingleRank) else 1)
    rank = by_networkx(graph)
    found = scores_of(method, document, candidates(document))
    assert len(found) == 8
    assert found == pytest.approx({phrase: sum(rank[w] for w in phrase.split()) for phrase in found}, rel=1e-6)


def test_words_beyond_a_stop_word_are_not_side_by_side_but_within_a_wider_window() -> None:
    nodes = np.array([0, -1, 1, 0, 1])
    ends = np.array([1.0, 10.0])
    assert (co_occurrences(nodes, 2, weighted=False) @ ends).tolist() == [10, 1]
    assert (co_occurrences(nodes, 3, weighted=True) @ ends).tolist() == [30, 3]


def test_the_words_of_a_callers_candidates_are_in_the_graph_whatever_their_tags() -> None:
    document = tagged("trucks/NNS slide/VBP away/RB over/IN thin/JJ ice/NN .")
    found, _ = given(document, ["slide away"])
    assert scores_of(TextRank(), document, found)["slide away"] > 0


@pytest.mark.parametrize("method", [TextRank(), SingleRank()])
def test_stop_words_add_nothing_to_a_callers_phrase_but_acronyms_that_look_like_them_do(method: Method) -> None:
    document = tagged("the/DT state of/IN the/DT art helps/VBZ IT/PRP firms/NNS .")
    score = scores_of(method, document, given(document, ["state of the art", "state", "art", "the", "it"])[0])
    assert score["state of the art"] == pytest.approx(score["state"] + score["art"])
    assert score["the"] == 0 < score["it"]


# -- Topics -----------------------------------------------------------------------------------------------------------


def topics_of(*phrases: str) -> list[int]:
    document = tagged(" . ".join(phrases))
    found, _ = given(document, phrases)
    return [int(t) for t in topics(WordIndex.of(document, found), 0.74)]


def test_phrases_are_one_topic_if_more_than_a_quarter_of_their_stems_are_common() -> None:
    assert topics_of("ice road", "radar map", "ice roads", "road map") == [0, 1, 0, 1]
    assert topics_of("ice road", "road radar") == [0, 0]  # a third in common
    assert topics_of("ice road", "road radar map") == [0, 1]  # a quarter


def test_topics_join_by_the_mean_distance_of_their_phrases() -> None:
    # ice and ice road lie 1/2 apart and join first; ice road truck is 2/3 from one and 1/3 from the other
    assert topics_of("ice", "ice road", "ice road truck") == [0, 0, 0]
    # ice road and road truck join at 2/3; the mean of 2/3 and 1 is too far for truck ferry
    assert topics_of("ice road", "road truck", "truck ferry") in ([0, 0, 1], [0, 1, 1])


@pytest.mark.parametrize("seed", range(5))
def test_clustering_by_parts_gives_the_topics_of_clustering_all_at_once(seed: int) -> None:
    drawn = random.Random(seed)
    phrases = list(dict.fromkeys(" ".join(drawn.sample("abcdefghijklmnopqrstuvwxyz", 2)) for _ in range(15)))
    document = tagged(" . ".join(phrases))
    found, _ = given(document, phrases)
    reading = WordIndex.of(document, found)
    distance = jaccard_distance([set(words) for words in reading.words()])
    whole = fcluster(linkage(squareform(distance), "average"), 0.74, "distance")
    parts = topics(reading, 0.74)
    assert [a == b for a, b in combinations(parts, 2)] == [a == b for a, b in combinations(whole, 2)]


def slow_nearness(
    places: Sequence[Sequence[WordRange]], node: Sequence[int], topic: Sequence[int]
) -> np.ndarray[Any, Any]:
    """The sum of 1 / gap, by a loop over every two occurrences of candidates of different topics."""
    table = np.zeros((max(node) + 1, max(node) + 1))
    for a, b in combinations(range(len(places)), 2):
        if topic[a] != topic[b]:
            for p in places[a]:
                for q in places[b]:
                    earlier, later = sorted((p, q))
                    table[node[a], node[b]] += 1 / (later.first - earlier.last)
    return table + table.T


@pytest.mark.parametrize("seed", range(3))
def test_nearness_is_the_sum_of_inverse_gaps_between_occurrences_of_different_topics(seed: int) -> None:
    drawn = random.Random(seed)
    places: list[list[WordRange]] = [[] for _ in range(12)]
    position = 0
    for i in [*range(12), *(drawn.randrange(12) for _ in range(60))]:
        length = drawn.randint(1, 3)
        places[i].append(WordRange(position, position + length - 1))
        position += length + drawn.randint(0, 5)
    topic = np.array([0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 6, 7])
    for node in (topic, np.arange(12)):
        table = slow_nearness(places, [int(n) for n in node], [int(t) for t in topic])
        found = np.stack([Nearness.of(places, node, topic) @ row for row in np.eye(len(table))])
        assert found == pytest.approx(table, abs=1e-12)


def read(text: str) -> tuple[Document, list[Candidate], WordIndex, list[int]]:
    document = tagged(text)
    found = candidates(document)
    reading = WordIndex.of(document, found)
    return document, found, reading, [int(t) for t in topics(reading, 0.74)]


def test_topicrank_gives_the_first_phrase_of_a_topic_the_topics_pagerank() -> None:
    document, found, reading, topic = read(TEXT)
    rank = by_networkx(nx.from_numpy_array(slow_nearness(reading.places, topic, topic)))
    score = [scores_of(TopicRank(), document, found)[c.phrase] for c in found]
    heads = [topic.index(t) for t in range(max(topic) + 1)]  # candidates come in text order
    assert [score[h] for h in heads] == pytest.approx([rank[topic[h]] for h in heads], rel=1e-6)
    others = [i for i in range(len(found)) if i not in heads]
    assert len(others) > 1
    assert max(score[i] for i in others) < min(score[h] for h in heads)
    assert sorted(others, key=score.__getitem__) == sorted(others, key=lambda i: rank[topic[i]])


def test_multipartiterank_lifts_the_first_phrase_of_each_topic() -> None:
    document, found, reading, topic = read(TEXT)
    table = slow_nearness(reading.places, range(len(found)), topic)
    lifted = table.copy()  # from row to column
    for head in (topic.index(t) for t in range(max(topic) + 1)):
        for j in range(len(found)):
            others = (v for v in range(len(found)) if v != head and topic[v] == topic[head])
            lifted[j, head] += 1.1 * exp(1 / (1 + reading.places[head][0].first)) * sum(table[v, j] for v in others)
    rank = by_networkx(nx.from_numpy_array(lifted, create_using=nx.DiGraph))
    plain = by_networkx(nx.from_numpy_array(table))
    phrases = [c.phrase for c in found]
    assert scores_of(MultipartiteRank(), document, found) == pytest.approx(
        {p: rank[i] for i, p in enumerate(phrases)}, rel=1e-6
    )
    assert scores_of(MultipartiteRank(alpha=0), document, found) == pytest.approx(
        {p: plain[i] for i, p in enumerate(phrases)}, rel=1e-6
    )


@pytest.mark.parametrize("method", [TopicRank(), MultipartiteRank()])
def test_a_text_with_one_topic_ranks_its_phrases_without_noise(method: Method) -> None:
    document = tagged("ice road . ice roads . frozen/JJ ice road . ice roads . ice road .")
    found = candidates(document)
    score = scores_of(method, document, found)
    assert len(score) == 3
    assert score["ice road"] == max(score.values())
    if isinstance(method, MultipartiteRank):  # no edge anywhere
        assert list(score.values()) == pytest.approx([1 / 3] * 3)


# -- What every method without a model must do ------------------------------------------------------------------------


@every_method
def test_each_occurrence_given_is_scored_once_and_left_as_it_is(method: Method) -> None:
    document = english().document(SCIENCE)
    found = candidates(document)
    scored = method.score(document, found)
    assert [(s.candidate, s.occurrence) for s in scored] == [(i, o) for i, c in enumerate(found) for o in c.occurrences]
    assert all(np.isfinite(s.score) for s in scored)
    assert len({(s.candidate, s.score) for s in scored}) == len(found)


@every_method
def test_what_a_text_keeps_talking_about_scores_higher_than_what_it_says_once(method: Method) -> None:
    text = "ice road . a/DT truck on/IN the/DT ice road . the/DT ice road ends/VBZ . one/CD ferry waits/VBZ ."
    document = tagged(text)
    score = scores_of(method, document, candidates(document))
    assert score["ice road"] > score["ferry"]


@every_method
def test_scores_are_the_same_every_time(method: Method) -> None:
    document = english().document(SCIENCE)
    found = candidates(document)
    assert method.score(document, found) == method.score(english().document(SCIENCE), candidates(document))


@every_method
def test_a_single_candidate_is_scored(method: Method) -> None:
    document = tagged("ice/NN")
    (score,) = method.score(document, candidates(document))
    assert score.candidate == 0
    assert np.isfinite(score.score)


@every_method
def test_a_callers_overlapping_stopped_and_unreadable_candidates_are_scored(method: Method) -> None:
    run = "x" * 150 + "+" + "y" * 150  # too long to be prose: it holds no words
    document = english().document(f"The state of the art in deep learning is of use. {run} learning")
    phrases = ["state of the art", "the state of the art", "deep learning", "learning", "the", "of", "y" * 150]
    found, missing = given(document, phrases)
    assert not missing
    scored = method.score(document, found)
    assert len(scored) == sum(len(c.occurrences) for c in found)
    assert all(np.isfinite(s.score) for s in scored)


@every_method
def test_a_text_of_nothing_but_stop_words_or_without_any_words_is_scored(method: Method) -> None:
    for text in ("the of", "x" * 150 + "/" + "y" * 150):
        document = english().document(text)
        found, _ = given(document, ["the", "of", "x" * 150, "y" * 150])
        assert len(found) == 2
        assert all(np.isfinite(s.score) for s in method.score(document, found))


@every_method
@pytest.mark.parametrize("text", ["机 器 学 习 方法", "кошка и собака . кошка", "C++ & C# / 42 -- !"])
def test_words_of_any_script_are_scored(method: Method, text: str) -> None:
    document = tagged(text.replace("/", "\u2044"), language="xx")
    found = grouped((c.phrase, o) for c in given(document, text.replace("/", " ").split())[0] for o in c.occurrences)
    assert len(method.score(document, found)) >= len(found) > 1


@every_method
def test_three_thousand_words_take_little_memory(method: Method) -> None:
    document = many_words(3000)
    found = candidates(document)
    assert sum(len(c.occurrences) for c in found) > 900
    assert _peak(method, document, found) < 16 * 2**20


def test_memory_of_topic_graphs_grows_with_the_text_and_not_with_its_square() -> None:
    sentences = "ice/NN melts/VBZ . trucks/NNS wait/VBP . snow/NN falls/VBZ . "
    small, large = (tagged(sentences * n) for n in (150, 1200))
    peaks = [_peak(MultipartiteRank(), document, candidates(document)) for document in (small, large)]
    assert peaks[1] < 12 * peaks[0]  # eight times the text; a square would take sixty-four times the memory


def _peak(method: Method, document: Document, found: Sequence[Candidate]) -> int:
    method.score(document, found)  # what is imported or cached on first use is not counted
    tracemalloc.start()
    try:
        method.score(document, found)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@every_method
def test_methods_without_models_are_built_without_asking_for_one(method: Method) -> None:
    models: Any = None
    name, kind = type(method).__name__.lower(), type(method)
    assert method_class(name) is kind
    assert method_class(name).build(models, None, {}) == method
    with pytest.raises(SettingError, match="no presets"):
        method_class(name).build(models, "fast", {})


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        (TextRank, {"window": 1}),
        (SingleRank, {"damping": 1.0}),
        (TopicRank, {"threshold": 1.0}),
        (MultipartiteRank, {"alpha": -1.0}),
        (Yake, {"window": 0}),
    ],
)
def test_settings_out_of_range_are_refused(kind: Any, settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match=next(iter(settings))):
        kind(**settings)
