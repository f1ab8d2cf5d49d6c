#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

struct Item {
  const char *name;
  int price;
};

int add(int total, const Item &item) {
  int sum = total + item.price;
  return sum;
}

volatile unsigned rounds = 0;

int main(int argc, char **argv) {
  std::vector<Item> cart = {{"tea", 3}, {"jam", 5}, {"rye", 7}};
  int total = 0;
  for (const Item &item : cart) {
    total = add(total, item);
    std::printf("total %d %s\n", total, std::getenv("GREETING"));
  }
  if (argc > 1 && !std::strcmp(argv[1], "poor"))
    throw std::runtime_error("no money");
  while (argc > 1) {
    rounds++;
  }
  return total;
}
