"""A shop that adds up prices."""

import sys


class Item:
    def __init__(self, name, price):
        self.name = name
        self.price = price


def total(items):
    amount = 0
    for item in items:
        amount += item.price
    return amount


def main():
    print("open")
    items = [Item("pen", 2), Item("ink", 5), Item("paper", 3)]
    amount = total(items)
    print("total", amount)
    return amount


if __name__ == "__main__":
    main()
    sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
