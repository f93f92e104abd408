// Answers queries as the search box of the site does: the theme's own worker, outside a browser.
// node search_site.js WORKER INDEX QUERIES -> JSON: for each query the pages, best first.
const fs = require("fs");
const [worker, index, queries] = process.argv.slice(2);
const answers = [];
let waiting;

globalThis.self = globalThis;
globalThis.addEventListener = (kind, listener) => { globalThis.listener = listener; };
globalThis.postMessage = (message) => waiting(message);
(0, eval)(fs.readFileSync(worker, "utf8"));

const ask = (message) => new Promise((answer) => {
  waiting = answer;
  globalThis.listener({ data: message });
});

(async () => {
  const { config, docs } = JSON.parse(fs.readFileSync(index, "utf8"));
  await ask({ type: 0, data: { config, docs, options: {} } });
  for (const query of JSON.parse(queries)) {
    const { items } = (await ask({ type: 2, data: query })).data;
    answers.push(items.map((sections) => sections[0].location.split("#")[0]));
  }
  process.stdout.write(JSON.stringify(answers));
})();
