"""Shapes of tests that benchmarks use, for the source parser; the ids that pytest gives them stand in collected.txt."""
import sys
import unittest

import pytest

CASES = [("a.txt", 1), ("b.txt", 2)]
NAMES = ["plain", "with space", "caf\u00e9", "tab\there"]
LIMIT = 3


def helper():
    def test_inside():
        pass

    return test_inside


@pytest.fixture
def test_data():
    return {}


def test_plain():
    assert True


async def test_async():
    assert True


def testnounderscore():
    assert True


@pytest.mark.parametrize("path,size", CASES)
def test_constant(path, size):
    assert size


@pytest.mark.parametrize("name", NAMES)
def test_strings(name):
    assert name


@pytest.mark.parametrize("value", [1, -2, 0x10, 1_000, 1.50, 1e-7, 1e20, True, None, LIMIT])
def test_numbers(value):
    pass


@pytest.mark.parametrize("value", [[1], {"a": 1}, (2, 3), int, helper, lambda: 0, ValueError])
def test_objects(value):
    pass


@pytest.mark.parametrize("x", [0, 1])
@pytest.mark.parametrize("y", ["u", "v"])
def test_stacked(x, y):
    pass


@pytest.mark.parametrize("x", [10, 20, 30], ids=["ten", None, "thirty"])
def test_ids(x):
    pass


@pytest.mark.parametrize(
    ("x", "y"),
    [
        pytest.param(1, 2, id="one-two"),
        pytest.param(3, 4, marks=pytest.mark.skip),
        (5, "six"),  # a comment
    ],
)
def test_param(x, y):
    pass


@pytest.mark.parametrize("x", ["same", "same", "1", "1"])
def test_repeated(x):
    pass


@pytest.mark.parametrize("x", range(3))
def test_range(x):
    pass


@pytest.mark.parametrize(argvalues=[r"raw\d", "imp" "licit"], argnames="x")
def test_keywords(x):
    pass


if sys.version_info >= (3, 0):

    def test_in_branch():
        pass

else:

    def test_in_branch():
        pass


try:
    import json

    class TestInTry:
        def test_method(self):
            pass
except ImportError:
    json = None


class Base:
    def test_inherited(self):
        pass

    def test_overridden(self):
        pass


@pytest.mark.parametrize("k", ["p", "q"])
class TestChild(Base):
    def test_overridden(self, k):
        pass

    def test_inherited(self, k):
        pass

    @pytest.mark.parametrize("m", [7, 8])
    def test_both(self, k, m):
        pass

    @staticmethod
    def test_static(k):
        pass


class TestHeir(Base):
    class TestInner:
        def test_deep(self):
            pass

    def not_a_test(self):
        pass


class TestConstructed:
    def __init__(self):
        pass

    def test_never(self):
        pass


class TestOff:
    __test__ = False

    def test_never(self):
        pass


class Helper:
    def test_never(self):
        pass


class Output(unittest.TestCase):
    def setUp(self):
        pass

    def test_case(self):
        pass

    def testCamel(self):
        pass

    def check(self):
        pass


class More(Output):
    def test_more(self):
        pass


def test_plain_again():
    pass


def load():
    return ["x", "y"]


@pytest.fixture(params=[1, 2])
def many(request):
    return request.param


@pytest.mark.parametrize("x", load())
def test_open(x):
    pass


def test_open_by_fixture(many):
    pass
