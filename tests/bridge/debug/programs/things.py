class Node:
    def __init__(self, value, below=None):
        self.value = value
        self.below = below
        self._secret = "s"


numbers = list(range(10_000))
words = {f"key{n}": n for n in range(1000)}
text = "z" * 100_000
nested = {"a": [1, {"b": Node(1, Node(2, Node(3)))}]}
node = Node("top", [Node("x"), Node("y")])
empty = None
LIMIT = 7


def look(few, flag=True):
    local = few + 1
    return local  # noqa: RET504


look(3)
print(LIMIT)
