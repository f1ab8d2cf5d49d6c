const number = Number(process.argv[2]);
const twice = number * 2;
process.exit(twice);
