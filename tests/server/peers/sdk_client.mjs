// The official TypeScript SDK's client of `bn mcp serve`: `sdk_client.mjs TOOL CALL…` waits until TOOL is listed, makes
// the calls (each as JSON) and prints what it got. Whatever the SDK refuses to read ends it with an error.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [bn, tool, ...calls] = process.argv.slice(2);
const client = new Client({ name: "sdk", version: "1" });
await client.connect(new StdioClientTransport({ command: bn, args: ["mcp", "serve"], env: process.env }));
const names = async () => (await client.listTools()).tools.map((one) => one.name);
while (!(await names()).includes(tool)) await new Promise((resolve) => setTimeout(resolve, 100));
const told = {
  tools: await names(),
  prompts: (await client.listPrompts()).prompts.map((one) => one.name),
  resources: (await client.listResources()).resources.map((one) => one.uri),
  templates: (await client.listResourceTemplates()).resourceTemplates.map((one) => one.uriTemplate),
  results: [],
};
for (const call of calls) told.results.push(await client.callTool(JSON.parse(call)));
console.log(JSON.stringify(told));
await client.close();
