"""What suites/habits.c has, for pytest: habits.py runs both."""

import pytest


def test_passes():
    print("hello")


@pytest.mark.parametrize("n", [1, 2], ids=["n=1", "n=2"])
def test_each(n):
    assert n == 1, f"n is {n}"


@pytest.mark.skip(reason="no licence")
def test_skipped():
    pass


@pytest.mark.skip(reason="no solver")
@pytest.mark.parametrize("n", [1, 2], ids=["n=1", "n=2"])
def test_skipped_twice(n):
    pass


@pytest.mark.xfail(reason="known")
def test_known():
    pytest.fail("diverged")


@pytest.mark.xfail(reason="known, too")
def test_known_too():
    pass


@pytest.fixture
def licence():
    raise RuntimeError("no licence")


@pytest.mark.slow
def test_needs_licence(licence):
    pass


@pytest.mark.slow
def test_last():
    pytest.fail("the last one")
