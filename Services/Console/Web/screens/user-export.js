// SPDX-License-Identifier: Apache-2.0
import { path, server } from "../api.js";
import { fileName, save } from "../download.js";
import { Button, Dialog } from "../forms.js";
import { bytes, counted } from "../format.js";
import { serverPage } from "../lists.js";
import { exportUser } from "../model/export.js";
import { Failure } from "../parts.js";
import { html, useEffect, useRef, useState } from "../vendor/preact-htm.js";

/** The size of the text that is kept apart, so that the browser may put it on disk, in characters. */
const blockSize = 1 << 20;

const wait = (seconds, signal) => new Promise((resolve, reject) => {
  const timer = setTimeout(resolve, seconds * 1000);
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    reject(signal.reason);
  }, { once: true });
});

/** Repeats a reading that was refused because there were too many, or because a service is not there for a moment. */
async function patiently(read, signal) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read();
    } catch (error) {
      if (attempt === 5 || ![0, 429, 502, 503].includes(error.status)) throw error;
      await wait(error.retryAfter ?? attempt, signal);
    }
  }
}

/** The readings of an export; a missing object is null. */
const source = (app, user, signal) => ({
  one: (target) => patiently(() => server(app, "GET", path`/users/${user}` + target, { signal }).catch((error) => {
    if (error.status === 404) return null;
    throw error;
  }), signal),
  page: (target, query) => patiently(() => serverPage(app, path`/users/${user}` + target, { query, signal }), signal),
});

async function collect(app, user, signal, onProgress) {
  const blobs = [];
  let text = "";
  let size = 0;
  const keep = () => {
    const blob = new Blob([text]);
    size += blob.size;
    blobs.push(blob);
    text = "";
  };
  const show = (progress) => onProgress({ ...progress, size: size + text.length });
  const given = { user, now: new Date().toISOString(), onProgress: show, ...source(app, user, signal) };
  for await (const piece of exportUser(given)) {
    text += piece;
    if (text.length >= blockSize) keep();
  }
  keep();
  return { blobs, size };
}

/** The dialog that makes the file and shows how far it is. Closing it ends the export. */
export function Export({ app, user, onClose }) {
  const [state, setState] = useState({ progress: { conversations: 0, messages: 0, size: 0 } });
  const abort = useRef(null);
  const begin = async () => {
    abort.current = new AbortController();
    const { signal } = abort.current;
    setState((old) => ({ ...old, error: undefined }));
    try {
      const { blobs, size } = await collect(app, user, signal, (progress) => setState((old) => ({ ...old, progress })));
      if (signal.aborted) return;
      save(`${fileName(user)}-export.json`, blobs, "application/json");
      setState((old) => ({ progress: { ...old.progress, size }, isDone: true }));
    } catch (error) {
      if (!signal.aborted) setState((old) => ({ ...old, error }));
    }
  };
  useEffect(() => {
    begin();
    return () => abort.current.abort();
  }, []);
  const { progress, error, isDone } = state;
  return html`<${Dialog} title=${`Export ${user}`} onClose=${onClose}>
    <div class="prose">
      ${isDone ? html`<p>The file was saved.</p>`
        : html`<p>One JSON file with the identity, sessions, blocks, following, announcements, and every conversation
            with the messages that the user can see.</p>`}
      <p role="status"><strong>${counted(progress.conversations, "conversation")}</strong>,
        ${" "}${counted(progress.messages, "message")},
        ${" "}${bytes(progress.size)}${!isDone && !error && " so far"}</p>
      ${!isDone && !error && html`<progress aria-label="The export is running"></progress>`}
      ${isDone && html`<p class="quiet">The file has personal data. Content is named in it; its addresses work for
        some hours only.</p>`}
    </div>
    ${error && html`<${Failure} error=${error} retry=${begin} />`}
    <footer class="form-foot"><${Button} onClick=${onClose}>${isDone ? "Close" : "Cancel"}<//></footer>
  <//>`;
}
