"""What a cart costs, in cents."""

CODES = {"TENTH": 10, "THIRD": 33}
"""Percent that a code takes off."""


def subtotal(items):
    """What the items cost by themselves; each is a price and a count."""
    return sum(price * count for price, count in items)


def discount(amount, code):
    """What a code takes off an amount."""
    return amount * CODES.get(code, 0) // 100


def total(items, code=None):
    """What is to be paid."""
    amount = subtotal(items)
    reduction = discount(amount, code)
    return amount + reduction
