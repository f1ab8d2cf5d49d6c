from cart import total


def test_sum():
    assert total([(1000, 2), (500, 1)]) == 2500


def test_code():
    assert total([(1000, 2), (500, 2)], code="TENTH") == 2700
