const { fork } = require("child_process");

const child = fork(`${__dirname}/child.js`, ["7"]);
child.on("exit", (code) => console.log("the child ended with", code));
