import sys


def divide(a, b):
    return a / b


print("before", flush=True)
print("a warning", file=sys.stderr, flush=True)
divide(1, 0)
