#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
/*
 * Makes docs/console-*.webp, pictures of the console's screens, from a running system without other apps:
 *
 *     export STRATA_HOME=/tmp/pictures STRATA_URL=http://localhost:8080 STRATA_APP=app.json
 *     strata dev --public-url $STRATA_URL        # in another terminal
 *     strata app create --name "Harbour Ferries" --json >app.json
 *     scripts/console_pictures.mjs
 *
 * Needs Chromium, psql and the command strata; CHROMIUM, PSQL and STRATA_PROGRAM name other programs. The charts need
 * two minutes.
 */
import { createServer } from "node:http";
import { writeFileSync } from "node:fs";
import { disconnectAll, pause } from "../Clients/JavaScript/test/support/system.js";
import { Console } from "../Services/Console/Web.test/browser/console.js";
import { makePeople, makeTalk, signIn } from "../Services/Console/Web.test/browser/content.js";
import {
  appUUID, consoleURL, password, server, sql, strata, text,
} from "../Services/Console/Web.test/browser/system.js";

const limit = 120_000;
/** Scales and qualities. The first pair whose picture is small enough is used. */
const grades = [[2, 85], [2, 70], [1.5, 85], [1.5, 70], [1.25, 70], [1, 80]];
const docs = new URL("../docs/", import.meta.url);

/** Further people, who keep the charts moving. */
const further = {
  "ana.ferreira": "Ana Ferreira", "bruno.lopes": "Bruno Lopes", "diogo.matos": "Diogo Matos", "eva.pinto": "Eva Pinto",
  "filipe.gomes": "Filipe Gomes", "gabriela.dias": "Gabriela Dias", "hugo.teixeira": "Hugo Teixeira",
  "joana.moreira": "Joana Moreira", "luis.carvalho": "Luís Carvalho", "miguel.antunes": "Miguel Antunes",
};
/** Further conversations: title, status, participants, and what the first of them says. */
const talks = [
  ["Ferry 3, Friday", "boarding", ["ana.ferreira", "bruno.lopes", "rui.almeida"], "Two cars are missing on the list."],
  ["Lost property", "open", ["eva.pinto", "marta.sousa"], "A blue backpack, left at pier 2."],
  ["Ferry 1, Sunday", "planned", ["diogo.matos", "filipe.gomes", "tiago.reis"], "Captain is Diogo."],
  ["Ticket 48213", "open", ["gabriela.dias", "harbour-bot"], "My ticket was charged twice."],
  ["Ticket 48207", "closed", ["hugo.teixeira", "harbour-bot"], "Thank you, that helped!"],
  ["Night shift", "open", ["joana.moreira", "luis.carvalho", "clara.nunes"], "Fuel is at 64 %."],
  ["Pier 3 works", "planned", ["miguel.antunes", "ines.costa"], "Scaffolding goes on Tuesday."],
];

const identity = (name) => `layer:///identities/${name}`;

let webhookStatus = 200;
/** A receiver of webhooks. */
const receiver = createServer(async (request, response) => {
  const challenge = new URL(request.url, "http://localhost").searchParams.get("verification_challenge");
  await request.toArray();
  response.writeHead(challenge ? 200 : webhookStatus).end(challenge ?? "");
});

/** Makes the content that lists show. */
async function makeTalks() {
  for (const [id, name] of Object.entries(further)) {
    const [first, last] = name.split(" ");
    await server("PUT", `/users/${id}/identity`, { display_name: name, first_name: first, last_name: last });
  }
  for (const [title, status, participants, body] of talks) {
    const metadata = { title, status };
    const { id } = await server("POST", "/conversations", { participants, distinct: false, metadata });
    await server("POST", `/conversations/${id.split("/").at(-1)}/messages`,
      { sender_id: identity(participants[0]), parts: [text(body)] });
  }
  await server("POST", "/indexes", { property: "metadata.status" });
  await server("POST", "/users/ines.costa/blocks", { user_id: "hugo.teixeira" });
  for (const other of ["ana.ferreira", "bruno.lopes"]) await server("PUT", `/users/ines.costa/following/${other}`);
  strata("app", "token", "create", "--name", "back office", appUUID);
  for (const name of ["Harbour Tours", "Pier Café", "Crew roster"]) strata("app", "create", "--name", name, "--json");
}

/** Registers the device of a session for pushes. */
const addDevice = (client) => fetch(`${process.env.STRATA_URL}/push_tokens`, {
  method: "POST",
  headers: { Accept: "application/vnd.layer+json; version=3.0", "Content-Type": "application/json",
    Authorization: `Layer session-token="${client.session.token}"` },
  body: JSON.stringify({
    device_id: "ines-phone", token: "1f".repeat(32), type: "apns", apns_bundle_id: "example.ferries",
  }),
});

/** Sends messages in waves, until it is told to stop, so that the charts have something to show. */
async function chat() {
  const users = Object.keys(further);
  const clients = [];
  const rooms = [];
  for (let index = 0; index < 4; index += 1) {
    const { id } = await server("POST", "/conversations", { participants: users, distinct: false, metadata: {} });
    rooms.push(id);
  }
  let isOver = false;
  const run = (async () => {
    for (let beat = 0; !isOver; beat += 1) {
      if (beat % 60 === 0 && clients.length < users.length) clients.push(await signIn(users[clients.length]));
      const wave = 1.5 + Math.sin(beat / 40) + Math.sin(beat / 17) / 2;
      const client = clients[beat % clients.length];
      const room = client.conversation(rooms[beat % rooms.length]);
      if (room && beat % Math.max(1, Math.round(4 - wave)) === 0) await room.send(`Position report ${beat}`);
      await pause(150);
    }
  })();
  return () => {
    isOver = true;
    return run;
  };
}

const page = await Console.open(`${consoleURL}/console/`);

/** Writes a picture of the screen that is shown. */
async function take(name, { width = 1280, height = 860, scheme = "light" } = {}) {
  await page.browser.run(() => document.activeElement?.blur());
  for (const [scale, quality] of grades) {
    const picture = await page.browser.picture({ width, height, scale, scheme, quality });
    if (picture.length > limit && scale > 1) continue;
    writeFileSync(new URL(`console-${name}.webp`, docs), picture);
    console.log(`docs/console-${name}.webp: ${picture.length} bytes, scale ${scale}, quality ${quality}`);
    break;
  }
  await page.browser.resize(1280, 900);
}

/** Takes the conversation while somebody types. */
async function takeConversation({ id, clients }) {
  const inside = (user) => clients[user].conversation(`layer:///conversations/${id}`);
  await page.show("conversations", id);
  await page.sees("Live");
  const type = setInterval(() => inside("marta.sousa").typing(), 1000);
  await page.sees("Marta Sousa is typing");
  await take("conversation", { height: 1180 });
  await take("conversation-dark", { height: 1180, scheme: "dark" });
  await page.browser.resize(380, 800);
  await page.sees("Marta Sousa is typing");
  await take("conversation-380", { width: 380, height: 1000 });
  clearInterval(type);
}

/** Takes a trace, one of whose packets is chosen. */
async function takeTrace({ id, clients }) {
  await page.show("users", "ines.costa", "trace");
  await page.press("Start");
  await page.sees("Tracing");
  const inside = (user) => clients[user].conversation(`layer:///conversations/${id}`);
  inside("ines.costa").typing();
  await inside("ines.costa").send("Ramp up, lines off.");
  await inside("rui.almeida").setMetadata("status", "departed");
  await inside("tiago.reis").send("Lines are off.");
  inside("marta.sousa").typing();
  await page.sees("metadata.status", "Packets");
  await page.browser.until("a packet is shown whole", () => {
    [...document.querySelectorAll(".packet.out")].find((row) => row.innerText.includes("Message create"))?.click();
    return document.querySelector(".packet-detail");
  });
  await take("trace", { scheme: "dark", height: 900 });
  await page.press("Stop");
}

/** Takes a webhook with deliveries that succeeded and one that failed. */
async function takeWebhooks({ id }) {
  await page.show("webhooks");
  const address = (name) => `http://localhost:${receiver.address().port}/${name}`;
  const webhooks = { tickets: ["Message.created", "Receipt.created"], crew: ["Conversation.updated"] };
  for (const [name, names] of Object.entries(webhooks)) {
    await page.press("Register");
    await page.fill("Target URL", address(name));
    for (const event of names) await page.fill(event, true);
    await page.press("Register");
    await page.sees("active", "Webhook");
    await page.show("webhooks");
  }
  const say = (body) => server("POST", `/conversations/${id}/messages`,
    { sender_id: identity("rui.almeida"), parts: [text(body)] });
  await say("Departed at 17:41.");
  await say("Speed 11 kn, all well.");
  await page.press(address("tickets"));
  await page.browser.until("two deliveries", () =>
    document.querySelectorAll("[aria-label=Deliveries] tbody tr").length > 1);
  webhookStatus = 503;
  await say("Arrival at Barreiro in ten minutes.");
  await page.sees("503", "Deliveries");
  webhookStatus = 200;
  await page.press("Send a test");
  await page.sees("200", ".test-result");
  await take("webhooks");
}

/** Takes a call with its answer. */
async function takeTry({ id }) {
  await page.go(["try"]);
  await page.press("One conversation", "Calls");
  await page.fill("App", "Harbour Ferries");
  await page.fill("id", id);
  await page.press("Send");
  await page.sees("200", "Answer");
  await take("try", { height: 1100 });
}

const stop = await chat();
await new Promise((resolve) => receiver.listen(0, "127.0.0.1", resolve));
await makePeople();
const talk = await makeTalk();
await makeTalks();
await addDevice(talk.clients["ines.costa"]);
const file = `${process.env.STRATA_HOME}/ana.password`;
writeFileSync(file, password);
strata("operator", "create", "ana", "--role", "operator", "--password-file", file);
strata("operator", "create", "vera", "--role", "viewer", "--password-file", file);
await page.fill("Name", "ana");
await page.fill("Password", password);
await take("sign-in", { height: 560 });
await page.press("Sign in");
await page.sees("Services");
await pause(100_000);
await take("overview");
await page.browser.resize(380, 800);
await take("overview-380", { width: 380, height: 1000, scheme: "dark" });
await stop();
await page.go(["apps"]);
await take("apps", { height: 480 });
await page.show();
await page.sees("back office");
await take("app", { height: 1000 });
await page.show("conversations");
await page.sees("Find by metadata");
await take("conversations", { height: 760 });
await takeConversation(talk);
await page.show("users");
await take("users", { height: 860 });
await page.show("users", "ines.costa");
await page.sees("ines-phone");
await take("user", { height: 1180 });
await takeTrace(talk);
await takeWebhooks(talk);
await takeTry(talk);
sql("ANALYZE");
await page.go(["space"]);
await take("space", { height: 1000 });
await page.go(["audit"]);
await take("audit", { height: 800 });
console.log(page.browser.problems.filter((problem) => !/status of 401/.test(problem)).join("\n"));
await page.close();
disconnectAll();
receiver.close();
process.exit();
