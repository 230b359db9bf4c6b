// SPDX-License-Identifier: Apache-2.0
import { backoff, systemClock } from "./clock.js";
import { StrataError } from "./errors.js";
import { errorOf, parseJSON } from "./rest.js";
import { randomUUID, readContent, uuidOf } from "./wire.js";

/**
 * Uploads and downloads of content that is too large for the body of a message's part.
 *
 * @typedef {import("./client.js").StrataClient} StrataClient
 * @typedef {import("./wire.js").PartRecord} PartRecord
 *
 * @typedef {object} TransferOptions
 * @property {(fraction: number) => void} [onProgress] - Receives the completed fraction, 0 to 1.
 * @property {AbortSignal} [signal] - Cancels the transfer, which rejects with the signal's reason.
 */

/** The number of tries of a transfer without progress. */
const maximumTries = 5;

/**
 * Uploads content. Interrupted uploads begin anew.
 * @param {StrataClient} client
 * @param {Blob} blob
 * @param {TransferOptions & {type?: string}} [options] - `type`: the MIME type. Default: that of the blob.
 * @returns {Promise<{mimeType: string, content: {id: string, size: number}}>} A part for `conversation.send`.
 */
export async function upload(client, blob, options = {}) {
  const { onProgress = () => {}, signal } = options;
  const mimeType = options.type || blob.type || "application/octet-stream";
  const headers = { "Upload-Content-Type": mimeType, "Upload-Content-Length": String(blob.size) };
  const name = randomUUID();
  onProgress(0);
  return retry(signal, async () => {
    // The same name gives the same content, with a new URL.
    const { body } = await client.request("POST", "/content", { name, headers });
    const content = { id: readContent(body).id, size: blob.size };
    await send(client, String(body.upload_url), blob, mimeType, onProgress, signal);
    onProgress(1);
    return { mimeType, content };
  });
}

/**
 * @param {StrataClient} client
 * @param {string} url
 * @param {Blob} blob
 * @param {string} type
 * @param {(fraction: number) => void} onProgress
 * @param {AbortSignal} [signal]
 */
async function send(client, url, blob, type, onProgress, signal) {
  if (typeof XMLHttpRequest === "function") return sendWithProgress(url, blob, type, onProgress, signal);
  const response = await client.fetch(url, { method: "PUT", body: blob, headers: { "Content-Type": type }, signal });
  if (!response.ok) throw errorOf(parseJSON(await response.text()), response.status);
}

/**
 * Uploads with XMLHttpRequest, because `fetch` reports no progress of uploads.
 * @param {string} url
 * @param {Blob} blob
 * @param {string} type
 * @param {(fraction: number) => void} onProgress
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
function sendWithProgress(url, blob, type, onProgress, signal) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const abort = () => request.abort();
    request.upload.onprogress = ({ loaded }) => onProgress(blob.size === 0 ? 1 : loaded / blob.size);
    request.onloadend = () => {
      signal?.removeEventListener("abort", abort);
      if (request.status >= 200 && request.status < 300) resolve();
      else if (request.status === 0) reject(new StrataError("network", "The upload was interrupted."));
      else reject(errorOf(parseJSON(request.responseText), request.status));
    };
    signal?.addEventListener("abort", abort);
    request.open("PUT", url);
    request.setRequestHeader("Content-Type", type);
    request.send(blob);
  });
}

/**
 * Downloads the content of a message's part. Interrupted downloads continue where they ended.
 * @param {StrataClient} client
 * @param {Readonly<PartRecord>} part
 * @param {TransferOptions} [options]
 * @returns {Promise<Blob>}
 */
export async function download(client, part, options = {}) {
  const { onProgress = () => {}, signal } = options;
  if (!part.content) return inlineBlob(part);
  /** @type {Uint8Array[]} */
  const chunks = [];
  const id = part.content.id;
  let received = 0;
  await retry(signal, async () => {
    const before = received;
    try {
      const { body } = await client.request("GET", `/content/${uuidOf(id)}`);
      const { downloadUrl, size } = readContent(body);
      const headers = received > 0 ? { Range: `bytes=${received}-` } : undefined;
      const response = await client.fetch(String(downloadUrl), { headers, signal });
      if (!response.ok) throw errorOf(parseJSON(await response.text()), response.status);
      if (response.status !== 206) [chunks.length, received] = [0, 0];
      const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        chunks.push(next.value);
        received += next.value.length;
        onProgress(size === 0 ? 1 : Math.min(1, received / size));
      }
      if (received < size) throw new StrataError("network", "The download was interrupted.");
    } catch (error) {
      throw received > before ? new Progressed(error) : error;
    }
  });
  onProgress(1);
  return new Blob(chunks, { type: part.mimeType });
}

/** A failure after some progress, which resets the number of tries. */
class Progressed {
  /** @param {unknown} error */
  constructor(error) {
    this.error = error;
  }
}

/** @param {Readonly<PartRecord>} part */
function inlineBlob({ body, encoding, mimeType }) {
  const text = body ?? "";
  if (encoding !== "base64") return new Blob([text], { type: mimeType });
  return new Blob([Uint8Array.from(atob(text), (character) => character.charCodeAt(0))], { type: mimeType });
}

/**
 * Runs a transfer, and repeats it after temporary failures.
 * @template T
 * @param {AbortSignal | undefined} signal
 * @param {() => Promise<T>} run
 * @returns {Promise<T>}
 */
async function retry(signal, run) {
  for (let tries = 1; ; tries += 1) {
    signal?.throwIfAborted();
    try {
      return await run();
    } catch (reason) {
      signal?.throwIfAborted();
      if (reason instanceof Progressed) tries = 1;
      const error = reason instanceof Progressed ? reason.error : reason;
      // With strata.min.js the error is of another class of the same form.
      const isTemporary = /** @type {any} */ (error)?.isTemporary ?? true;
      if (!isTemporary) throw error;
      if (tries >= maximumTries) throw new StrataError("network", "The transfer failed.", { cause: error });
    }
    await new Promise((resolve) => setTimeout(resolve, backoff(tries, systemClock.random())));
  }
}
