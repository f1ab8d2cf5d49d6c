function add(total, item) {
  const sum = total + item.price;
  return sum;
}

function main() {
  const cart = [{ name: "tea", price: 3 }, { name: "jam", price: 5 }, { name: "rye", price: 7 }];
  let total = 0;
  for (const item of cart) {
    total = add(total, item);
    console.log("total", total, process.env.GREETING);
  }
  if (process.argv[2] === "poor") {
    throw new Error("no money");
  }
  while (process.argv.length > 2) {}
  process.exit(total);
}

main();
