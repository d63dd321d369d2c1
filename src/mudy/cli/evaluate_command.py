"""The commands `evaluate` and `compare`: measure a method, and the difference between two runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import click
from click.core import ParameterSource

from mudy._support.storage import dump_json, refuse_inputs
from mudy.cli import data_commands as shared
from mudy.cli import parameters
from mudy.cli.main import Screen, cli, made_extractor, text_table
from mudy.errors import InputError, SettingError
from mudy.evaluation.datasets import Dataset
from mudy.extraction.extractor import Extractor
from mudy.extraction.options import Setup

if TYPE_CHECKING:
    from mudy.evaluation.measures import Averaging, Measure, NamedMeasure
    from mudy.evaluation.runs import GoldKind, Run
    from mudy.evaluation.suite import SuiteResult

_SIGNIFICANT = 0.05  # p of a significant difference is below


@dataclass(frozen=True)
class Measured:
    named: Sequence[NamedMeasure]
    averaging: Averaging
    gold: GoldKind
    depths: Sequence[int]

    @classmethod
    def of(cls, given: dict[str, Any]) -> Self:
        """The options of `measuring`, taken out of what a command was given."""
        from mudy.evaluation.measures import AVERAGINGS

        return cls(given.pop("named"), AVERAGINGS[given.pop("averaging")], given.pop("gold"), given.pop("depths"))

    @property
    def title(self) -> str:
        names = ", ".join(dict.fromkeys(name for name, _ in self.named))
        gold = "" if self.gold == "all" else f", {self.gold} gold only"
        return f"{self.averaging.name} {names} in per cent [95 % interval]{gold}"

    def measures(self, embed: Callable[[Sequence[str]], Any]) -> list[Measure]:
        from mudy.evaluation.measures import DEPTHS, PhraseVectors, named_measures

        return named_measures(self.named, self.depths or DEPTHS, PhraseVectors(embed))


def _parsed_measures(ctx: click.Context, param: click.Parameter, value: str) -> list[NamedMeasure]:
    from mudy.evaluation.measures import parse_measure

    try:
        return [parse_measure(text) for text in value.split(",")]
    except SettingError as error:
        raise click.BadParameter(str(error), ctx, param) from error


measuring = parameters.together(
    click.option(
        "--measures",
        "named",
        metavar="NAME,NAME",
        callback=_parsed_measures,
        default="F1",
        help="P, R, F1, MAP, nDCG, SemP, SemR or SemF1; with a depth: F1@10, F1@M (all) or F1@O (as many as gold).",
    ),
    click.option("--averaging", type=click.Choice(["micro", "macro"]), default="micro"),
    click.option("--gold", type=click.Choice(["all", "present", "absent"]), default="all", help="Which gold counts."),
    click.option(
        "-k", "depths", **parameters.COUNT, multiple=True, help="Measure the first K; repeatable.  [default: 5, 10, 15]"
    ),
)


@cli.command("evaluate")
@click.argument("paths", nargs=-1, required=True, metavar="DATA...")
@parameters.with_method
@parameters.with_options(Setup, "model")
@parameters.declared_option(Setup, "encoder", help="For methods that embed, and for SemF1.")
@parameters.with_options(Setup, "endpoint", "preset", "examples")
@parameters.with_settings
@shared.on_data
@click.option("-o", "--output", metavar="FILE", help="Keep the run here, as JSON. Resumable after an interruption.")
@click.option("--restart", is_flag=True, help="Discard the run in the output and start over.")
@click.option("--places", is_flag=True, help="Keep every occurrence with the parts of its score.")
@click.option("--suite", metavar="FILE", help="Measure by the suite's frozen protocol, and write a result file.")
@click.option("--function", metavar="MODULE:NAME", help="With --suite: measure this function of a text, not a method.")
@click.option("--name", metavar="NAME", help="With --suite: the name in the leaderboard.  [default: the method]")
@shared.reading_texts
@parameters.on_machine
@measuring
@shared.reporting
@click.pass_context
def evaluate_command(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    form: str,
    quiet: bool,
    suite: str | None,
    function: str | None,
    name: str | None,
    **options: Any,
) -> None:
    """Measure a method on data sets with gold keyphrases.

    DATA are files or folders, as for `mudy data describe`. Prints F1, or other --measures, with a 95 % interval
    (bootstrap over documents), the ceiling (the share of gold phrases that are among the candidates) and the
    CPU-seconds per document; for mudyplus also how well its probabilities are calibrated.

    With --output every document is saved as soon as it is done. Run the same command to resume after an interruption,
    or with a larger --limit to add documents; an output with other settings or another model is refused.

    If a data set cannot be read, nothing is computed. The exit code is then 1, and also if a document failed.

    With --suite, texts, measures and counting are fixed, so that results of different people are comparable: see the
    guide to evaluation. A function takes a text and returns a list of phrases, best first.
    """
    for written in filter(None, (options["output"], suite)):
        refuse_inputs(written, paths)
    _refuse_options(ctx, suite, function, name)
    measured = Measured.of(options)
    with Screen(quiet) as screen:
        sets = shared.all_loaded(screen, paths, options)
        if suite is not None:
            result = _suite_result(screen, sets, function, name, options)
            result.save(suite)
            click.echo(_suite_report(result, form), nl=False)
            return
        extractor, run = _evaluated(screen, sets, **options)
        _warn_of_documents(screen, run)
        screen.show("Measuring")
        measures = measured.measures(lambda phrases: extractor.loader.encoder().embed(phrases))
        measurements = {name: _measurement(run, name, measures, measured) for name in run.names}
    if form == "json":
        named_here = ctx.get_parameter_source("named") is not ParameterSource.DEFAULT
        rows = {"measures": measurements} if named_here else {}
        click.echo(dump_json({"title": run.title, **rows, **run.to_dict()}, indent=2))
    else:
        table = _table(run, list(map(str, measures)), measurements)
        click.echo(f"{run.title}; {measured.title}\n{table}", nl=False)
    if any(document.error for document in run.documents):
        ctx.exit(1)


_FIXED = ("limit", "protocol", "max_words", "places", "named", "averaging", "gold", "depths")  # by --suite
_OF_METHODS = ("method", "model", "speed", "style", "pairs", "preset", "examples", "endpoint", "output", "restart")


def _refuse_options(ctx: click.Context, suite: str | None, function: str | None, name: str | None) -> None:
    if suite is None and (function is not None or name is not None):
        raise click.UsageError("--function and --name belong to --suite FILE, which says where the result is written.")
    refused = {"--suite": _FIXED if suite else (), "--function": _OF_METHODS if function else ()}
    given = [p for p in ctx.command.params if ctx.get_parameter_source(p.name or "") is ParameterSource.COMMANDLINE]
    for option, names in refused.items():
        for parameter in given:
            if parameter.name in names:
                raise click.UsageError(f"{parameter.opts[-1]} cannot be combined with {option}.")


def _suite_result(
    screen: Screen, loaded: Sequence[Dataset], function: str | None, name: str | None, options: dict[str, Any]
) -> SuiteResult:
    from mudy.evaluation import suite
    from mudy.evaluation.experiment import refuse_equal_names

    sets, hashes = [], {}
    for data in loaded:
        documents = suite.suite_documents(data)
        own = suite.suite_name(documents)
        if own is None:
            screen.warning(f"{data.name} has no document of the suite, so the leaderboard does not show it")
        elif len(documents) < (all_of_it := len(suite.register()[own])):
            screen.warning(f"{data.name}: only {len(documents)} of the {all_of_it} documents of the suite's {own}")
        sets.append(replace(data, name=own or data.name, documents=tuple(documents.values())))
        hashes[own or data.name] = list(documents)
    refuse_equal_names(sets)
    for one, first, other, second, share in suite.near_duplicates(sets):
        screen.warning(f"{one} {first!r} and {other} {second!r} are near-duplicates ({share:.0%} in common)")
    if function is None:
        _, run = _evaluated(screen, sets, **{**options, "protocol": None})
        _warn_of_documents(screen, run)
        if any(document.error for document in run.documents):
            raise InputError("No result was written, because documents failed.")
        about, name = {**run.asked, "versions": run.used["versions"]}, name or run.title
        phrases = {key: ([*document.phrases], document.cpu_seconds) for key, document in run.by_key().items()}
    else:
        about, name = {"function": function}, name or function
        phrases = _returned(suite.named_function(function), sets, shared.counting(screen, "Evaluating "))
    screen.show("Measuring")
    embed = shared.sentence_encoder(screen, options["threads"], suite.ENCODER).embed
    outcomes = {
        data.name: [
            suite.outcome(key, record, phrases[data.name, record.id][0], embed)
            for key, record in zip(hashes[data.name], data.documents, strict=True)
        ]
        for data in sets
    }
    seconds = sum(cpu for _, cpu in phrases.values()) / len(phrases)
    return suite.SuiteResult(name, about, round(seconds, 3), outcomes)


def _returned(
    function: Callable[[str], Sequence[str]], sets: Sequence[Dataset], progress: Callable[[str, int, int], None]
) -> dict[tuple[str, str], tuple[list[str], float]]:
    """What a function returns for each document, and the CPU-seconds it takes, after a first call that may load."""
    function(sets[0].documents[0].text)
    returned = {}
    for data in sets:
        for done, record in enumerate(data.documents):
            progress(data.name, done, len(data.documents))
            start = time.process_time()
            phrases = [*function(record.text)]
            returned[data.name, record.id] = phrases, time.process_time() - start
    return returned


def _suite_report(result: SuiteResult, form: str) -> str:
    from mudy.evaluation import suite

    rows = {name: suite.measured(outcomes) for name, outcomes in result.sets.items()}
    if form == "json":
        return dump_json({"suite": suite.VERSION, "name": result.name, "measures": rows}, indent=2) + "\n"
    head = ["Data set", "Documents", *next(iter(rows.values()))]
    cells = [[name, str(len(result.sets[name])), *(f"{v:.1f}" for v in row.values())] for name, row in rows.items()]
    return f"{result.name}; suite {suite.VERSION}, in per cent\n" + text_table(head, cells, {*head[1:]})


def _evaluated(screen: Screen, sets: Sequence[Dataset], output: str | None, **options: Any) -> tuple[Extractor, Run]:
    from mudy.evaluation.experiment import evaluate

    kept = {name: options.pop(name) for name in ("places", "restart")}
    extractor = made_extractor(screen, **parameters.given_setup(options))
    screen.show(f"Loading {extractor.method}")
    try:
        return extractor, evaluate(extractor, sets, output, progress=shared.counting(screen, "Evaluating "), **kept)
    except KeyboardInterrupt:
        if output:
            screen.error(f"Stopped. Finished documents are kept next to {output}; run the same command to resume.")
        raise


def _warn_of_documents(screen: Screen, run: Run) -> None:
    for document in run.documents:
        if document.error:
            screen.error(f"{document.data}: document {document.id!r} failed: {document.error}")
    for name in run.names:
        if empty := sum(not document.occurrences and not document.error for document in run.of(name)):
            screen.warning(f"{name}: {empty:,} documents have no candidates; nothing is found in them")
        if dropped := sum(document.dropped for document in run.of(name)):
            screen.warning(f"{name}: {dropped:,} generated phrases do not occur in the text and are left out")


def _measurement(run: Run, name: str, measures: Sequence[Measure], measured: Measured) -> dict[str, Any]:
    documents = run.predictions(name, measured.gold)
    about = {"averaging": measured.averaging.name, "gold": measured.gold, "documents": len(documents)}
    values = {str(m): asdict(m.interval(documents, measured.averaging)) for m in measures} if documents else {}
    return {**about, **values}


def _table(run: Run, measures: Sequence[str], measurements: Mapping[str, Mapping[str, Any]]) -> str:
    from mudy.evaluation.measures import Interval
    from mudy.evaluation.runs import ceiling

    head = ["Data set", "Documents", *measures, "Ceiling %", "CPU-s"]
    rows = []
    for name, row in measurements.items():
        documents = run.of(name)
        cells = [str(Interval(**row[measure])) if measure in row else "–" for measure in measures]
        cost = sum(document.cpu_seconds for document in documents) / len(documents)
        rows.append([name, f"{row['documents']:,}", *cells, f"{ceiling(documents):.1f}", f"{cost:.2f}"])
    probabilities = [f"\n{shared.brier_line(own, own.name)}{shared.reliability_table(own)}" for own in run.calibrations]
    return text_table(head, rows, set(head[1:])) + "".join(probabilities)


@cli.command("compare")
@click.argument("first", metavar="A.json")
@click.argument("second", metavar="B.json")
@parameters.declared_option(Setup, "encoder", help="For SemP, SemR and SemF1.")
@measuring
@shared.reporting
def compare_command(first: str, second: str, encoder: str, form: str, quiet: bool, **given: Any) -> None:
    """Compare two runs of `mudy evaluate`.

    Prints, over the documents that both have, the measure of each run, the difference B - A with its 95 % interval by
    paired bootstrap, and the two-sided p of a paired t-test and of the bootstrap. A difference is called significant if
    both are below 0.05. Each row is tested separately: of twenty rows without a difference, one may seem significant.
    """
    from mudy.evaluation.runs import Run

    measured, a, b = Measured.of(given), Run.load(first), Run.load(second)
    common = [name for name in a.names if name in b.names]
    if not common:
        raise InputError(f"{first} has {', '.join(a.names)} and {second} {', '.join(b.names)}: no data set in common.")
    with Screen(quiet) as screen:
        for name in sorted({*a.names, *b.names} - {*common}):
            screen.warning(f"{name} is in only one of the runs, and left out")
        encoder_used = cache(lambda: shared.sentence_encoder(screen, None, encoder))
        measures = measured.measures(lambda phrases: encoder_used().embed(phrases))
        rows = [row for name in common for row in _compared(a, b, name, measures, measured)]
        for row in rows[:: len(measures)]:
            if row["unmatched"]:
                screen.warning("{data}: {unmatched:,} documents are in only one of the runs and left out".format(**row))
    if form == "json":
        click.echo(dump_json(rows, indent=2))
        return
    head = ["Data set", "Documents", "Measure", "A", "B", "B - A", "p (t-test)", "p (bootstrap)", "Verdict"]
    click.echo(f"A: {a.title}\nB: {b.title}")
    click.echo(text_table(head, map(_cells, rows), {*head[1:2], *head[3:8]}), nl=False)


def _compared(a: Run, b: Run, name: str, measures: Sequence[Measure], measured: Measured) -> Iterator[dict[str, Any]]:
    from mudy.evaluation.comparison import compare

    one, other = a.predictions(name, measured.gold), b.predictions(name, measured.gold)
    if not one or not other:
        raise InputError(f"{name}: no document has gold that is {measured.gold}.")
    for measure in measures:
        found = compare(measure, one, other, measured.averaging)
        difference, tests = found.difference, {"p_t_test": found.p_t_test, "p_bootstrap": found.p_bootstrap}
        better = "B is better" if difference.value > 0 else "A is better"
        documents = {"data": name, "documents": found.documents, "unmatched": found.unmatched}
        values = {"measure": str(measure), "averaging": measured.averaging.name, "a": found.first, "b": found.second}
        interval = {"difference": difference.value, "low": difference.low, "high": difference.high}
        verdict = better if max(tests.values()) < _SIGNIFICANT else "no significant difference"
        yield {**documents, **values, **interval, **tests, "verdict": verdict}


def _cells(row: Mapping[str, Any]) -> list[str]:
    numbers = [f"{row['a']:.2f}", f"{row['b']:.2f}", "{difference:+.2f} [{low:+.2f}, {high:+.2f}]".format(**row)]
    tests = [f"{row['p_t_test']:.4f}", f"{row['p_bootstrap']:.4f}", row["verdict"]]
    return [row["data"], f"{row['documents']:,}", row["measure"], *numbers, *tests]
