// SPDX-License-Identifier: Apache-2.0
// Sends a message with the WebSocket of the runtime, and prints its text.
import { StrataClient } from "../../strata.js";
import { appId, identityToken, newUser, url } from "./system.js";

const user = newUser("ann");
const client = new StrataClient({ url, appId, identityToken: (nonce) => identityToken(user, nonce) });
await client.connect();
const chat = client.createConversation({ participants: [newUser("ben")] });
console.log((await chat.send("Train leaves at 8")).text);
client.disconnect();
