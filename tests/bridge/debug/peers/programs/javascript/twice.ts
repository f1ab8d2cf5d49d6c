function twice(number: number): number {
  const result: number = number * 2;
  return result;
}

process.exit(twice(4));
