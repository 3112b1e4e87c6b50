"""Samples become medians, peaks and ratios, and a report survives its JSON."""

import json

from benchmarks.report import Collection, Report, Row


def row(**samples: tuple[float, ...]) -> Row:
    return Row("rate", "produce", "MB/s", samples)


def report(*rows: Row) -> Report:
    return Report(
        taken="2026-01-02T03:04:05Z",
        command="python -m benchmarks",
        seconds=61.5,
        versions={"Java": "17"},
        variants=("kafka", "ours"),
        reference="kafka",
        rows=rows,
    )


def test_samples_of_one_name_and_unit_are_one_row_in_the_order_of_the_first() -> None:
    collection = Collection()
    collection.add("rate", "kafka", "produce", "MB/s", 1.0)
    collection.add("rate", "kafka", "produce", "CPU-s/GB", 9.0)
    collection.add("rate", "ours", "produce", "MB/s", 2.0)
    collection.add("rate", "kafka", "produce", "MB/s", 3.0)
    rate, cpu = collection.rows()
    assert (rate.unit, rate.samples) == ("MB/s", {"kafka": (1.0, 3.0), "ours": (2.0,)})
    assert (cpu.unit, cpu.samples) == ("CPU-s/GB", {"kafka": (9.0,)})


def test_a_value_is_the_median_and_not_the_mean() -> None:
    assert row(ours=(1.0, 2.0, 90.0)).value("ours") == 2.0


def test_the_worst_round_counts_where_a_peak_was_measured() -> None:
    collection = Collection()
    for delay in (2.0, 50.0, 5.0):
        collection.add("rate", "ours", "loop delay at most", "ms", delay, peak=True)
    (delays,) = collection.rows()
    assert delays.value("ours") == 50.0


def test_a_ratio_is_of_medians() -> None:
    measured = row(kafka=(10.0, 10.0, 1000.0), ours=(20.0, 25.0, 30.0))
    assert measured.ratio("ours", "kafka") == 2.5


def test_a_variant_that_took_no_part_has_neither_value_nor_ratio() -> None:
    measured = row(kafka=(10.0,))
    assert measured.value("ours") is None
    assert measured.ratio("ours", "kafka") is None
    assert measured.ratio("kafka", "ours") is None


def test_nothing_is_a_multiple_of_zero() -> None:
    assert row(kafka=(0.0,), ours=(1.0,)).ratio("ours", "kafka") is None


def test_a_report_reads_back_from_its_json() -> None:
    whole = report(row(kafka=(1.0, 2.0), ours=(3.5,)), row(kafka=(0.1,)))
    assert Report.from_json(whole.to_json()) == whole


def test_a_peak_is_one_still_when_it_is_read_back() -> None:
    whole = report(Row("rate", "loop delay at most", "ms", {"ours": (1.0, 9.0)}, peak=True))
    assert Report.from_json(whole.to_json()).rows[0].value("ours") == 9.0


def test_an_older_report_may_say_more_of_itself_and_less_of_its_rows() -> None:
    whole = report(row(kafka=(1.0,)))
    said = json.loads(whole.to_json())
    del said["rows"][0]["peak"]
    assert Report.from_json(json.dumps({**said, "rounds": 3})) == whole
