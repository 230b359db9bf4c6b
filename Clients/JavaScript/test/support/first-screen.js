// SPDX-License-Identifier: Apache-2.0
// Measures how long a page takes from the opened socket to 50 conversations with their last messages on screen:
//
//   STRATA_URL=… STRATA_APP=… node first-screen.js [rounds]
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Browser } from "./browser.js";
import { appId, disconnectAll, identityToken, liveClient, newUser, until, url } from "./system.js";

const rounds = Number(process.argv[2] ?? 10);
const conversations = 50;
const user = newUser("reader");

const page = `<!doctype html><meta charset="utf-8"><ul></ul><script type="module">
  import { StrataClient } from "/strata.min.js";
  class TimedSocket extends WebSocket {
    constructor(...words) {
      super(...words);
      this.addEventListener("open", () => { globalThis.openedAt = performance.now(); });
    }
  }
  const identityToken = async (nonce) => (await fetch("/token?" + nonce)).text();
  const client = new StrataClient({ url: "${url}", appId: "${appId}", identityToken, WebSocket: TimedSocket });
  const list = client.conversations();
  const rows = document.querySelector("ul");
  list.subscribe((chats) => {
    rows.replaceChildren(...chats.map((chat) => {
      const row = document.createElement("li");
      row.textContent = chat.participants.map((one) => one.name).join(", ") + ": " + (chat.lastMessage?.text ?? "");
      return row;
    }));
    if (chats.filter((chat) => chat.lastMessage).length < ${conversations} || globalThis.isWhole) return;
    globalThis.isWhole = true;
    requestAnimationFrame(() => setTimeout(() => { globalThis.took = performance.now() - globalThis.openedAt; }));
  });
  client.connect();
</script>`;

const server = createServer((request, response) => {
  const [path, nonce] = request.url.split("?");
  if (path === "/token") return response.end(identityToken(user, nonce));
  if (path !== "/strata.min.js") return response.writeHead(200, { "Content-Type": "text/html" }).end(page);
  response.writeHead(200, { "Content-Type": "text/javascript" });
  response.end(readFileSync(new URL("../../strata.min.js", import.meta.url)));
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

const writer = await liveClient(newUser("writer"));
for (let number = 0; number < conversations; number += 1) {
  const chat = writer.createConversation({ participants: [user], distinct: false });
  await chat.send(`message ${number} of a conversation`);
}
await until(() => writer.pendingChanges === 0);

const times = [];
for (let round = 0; round < rounds; round += 1) {
  const browser = new Browser();
  await browser.open(`http://127.0.0.1:${server.address().port}/`);
  times.push(await browser.until("the conversations", () => globalThis.took));
  await browser.close();
}
times.sort((one, other) => one - other);
console.log(`milliseconds: median ${times[rounds >> 1].toFixed(0)}, ${times[0].toFixed(0)} to ${times.at(-1).toFixed(0)}`);
disconnectAll();
server.close();
