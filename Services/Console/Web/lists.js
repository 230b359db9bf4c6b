// SPDX-License-Identifier: Apache-2.0
import { exchange, refusal, serverPath, types } from "./api.js";

/**
 * Reads a page of a list of the Server API.
 * @param {string} app
 * @param {string} target below `/apps/:app`, escaped
 * @param {{query?: object, accept?: string, signal?: AbortSignal}} [options]
 * @returns {Promise<{items: object[], hasMore: boolean, count: number | null}>} `count`: the items of the whole list
 * @throws {APIError}
 */
export async function serverPage(app, target, { query, accept = types.api, signal } = {}) {
  const { response, data } = await exchange("GET", serverPath(app, target),
    { query, signal, headers: { Accept: accept } });
  if (!response.ok) throw refusal(response, data);
  const count = response.headers.get("Layer-Count");
  return {
    items: data,
    hasMore: /\brel="?next"?/.test(response.headers.get("Link") ?? ""),
    count: count === null ? null : Number(count),
  };
}

/**
 * A page in the form that `usePages` takes: `next` is the id to read on from.
 * @param {string} app
 * @param {string} target
 * @param {{query?: object, accept?: string, signal?: AbortSignal}} options
 */
export async function serverPages(app, target, options) {
  const { items, hasMore, count } = await serverPage(app, target, options);
  return { items, count, next: hasMore ? items.at(-1)?.id : null };
}
