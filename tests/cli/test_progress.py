"""The progress bar: on a terminal only, and gone when the work is."""

import io

import pytest

from binnacle.cli import progress_bar
from binnacle.cli.progress_bar import ProgressBar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def stderr(monkeypatch):
    def replaced(stream):
        monkeypatch.setattr(progress_bar.sys, "stderr", stream)
        return stream

    return replaced


def test_a_terminal_sees_how_far_the_work_is_and_then_nothing(stderr):
    stream = stderr(Terminal())
    with ProgressBar("exporting", 10) as bar:
        bar.advance(5)
        assert stream.getvalue() == f"\rexporting {'█' * 15}{'░' * 15} 5/10\x1b[K"
    assert stream.getvalue().endswith("\r\x1b[K")


def test_work_of_unknown_length_is_counted(stderr):
    stream = stderr(Terminal())
    with ProgressBar("reading", 0) as bar:
        bar.advance(7)
    assert "reading 7" in stream.getvalue()


def test_elsewhere_nothing_is_printed(stderr):
    stream = stderr(io.StringIO())
    with ProgressBar("exporting", 10) as bar:
        bar.advance(5)
    assert stream.getvalue() == ""
