"""What clients send first, as a script that both drainers read alike."""

import json

from benchmarks.fanout import clients
from benchmarks.fanout.clients import BINARY, Scripted, Step, frame, script
from benchmarks.fanout.slow_drain import read_script


def test_a_script_reads_back_as_it_was_written() -> None:
    steps = [Step(b"GET /", b"\r\n\r\n"), Step(b"", b"INFO "), Step(b"SUB")]
    first, second = read_script(script([Scripted(7, steps), Scripted(8, [])]))
    assert (first.number, list(first.steps)) == (7, steps)
    assert (second.number, list(second.steps)) == (8, [])


def test_a_frame_of_a_client_is_masked_and_has_its_length() -> None:
    assert frame(BINARY, b"ab") == b"\x82\x82\0\0\0\0ab"
    assert frame(BINARY, b"x" * 200)[:8] == b"\x82\xfe\x00\xc8\0\0\0\0"


def test_a_client_of_the_sample_waits_for_the_question() -> None:
    opening, question, answer = clients.sample("ticks", 3, 8083)
    assert opening.send.startswith(b"GET /ws HTTP/1.1\r\n")
    assert question == Step(b"", b"what topic/key do you want?\n")
    assert answer.send.endswith(b"ticks/k000003")
    assert not answer.until


def test_a_subscription_over_tcp_is_json_behind_its_length() -> None:
    (step,) = clients.tcp("ticks", 3, 8084)
    assert int.from_bytes(step.send[:4], "big") == len(step.send) - 4
    asked = {"type": "subscribe", "id": 1, "topic": "ticks", "key": "k000003"}
    assert json.loads(step.send[4:]) == asked
