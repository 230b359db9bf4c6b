// SPDX-License-Identifier: Apache-2.0

/**
 * A call of the file calls.json.
 * @typedef {{api: "client" | "server" | "socket", id: string, group: string, method: string, path: string,
 *   summary: string, description?: string, session?: "none" | "optional" | "required",
 *   parameters?: {name: string, in: "path" | "query" | "header", required?: boolean, schema: object,
 *     example?: unknown}[],
 *   headers?: Record<string, string>, body?: unknown, examples?: {name: string, body: unknown}[]}} Call
 */

/**
 * True if a call of the Client API can also be made by the app's server on behalf of a user. Blocks and follows have
 * calls of their own in the Server API.
 */
export const canBeOnBehalf = (call) =>
  call.api === "client" && call.session === "required" && !/^\/(blocks|following)\b/.test(call.path);

/** Returns the calls whose method, path or summary has all words of a text. */
export function search(calls, text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const textOf = ({ method, path, summary, group }) => `${method} ${path} ${summary} ${group}`.toLowerCase();
  return calls.filter((call) => words.every((word) => textOf(call).includes(word)));
}

/** Puts calls together by their groups, in the order of the file. @returns {[string, Call[]][]} */
export function grouped(calls) {
  const groups = new Map();
  for (const call of calls) groups.set(call.group, [...(groups.get(call.group) ?? []), call]);
  return [...groups];
}

/** Returns the key of a parameter in the values of a form: a path, a query and a header may have the same name. */
export const keyOf = (parameter) => `${parameter.in}:${parameter.name}`;

/** Returns the values at the beginning: what a required parameter must be, or the first of several. */
export function initialValues(call) {
  const fixed = ({ schema }) => schema.const ?? schema.enum?.[0] ?? "";
  const entries = (call.parameters ?? []).map((one) => [keyOf(one), one.required ? String(fixed(one)) : ""]);
  return Object.fromEntries(entries);
}

/** Returns a body as a text to edit. */
export const bodyText = (body) => (body === undefined ? "" : JSON.stringify(body, null, 2));

/** Returns why a body is refused before it is sent, or null. */
export function bodyComplaint(call, text) {
  if (!/json/.test(call.headers?.["Content-Type"] ?? "") || text.trim() === "") return null;
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    return `The body is no JSON: ${error.message}`;
  }
}

/** Returns the names of required parameters without a value. */
export const missing = (call, values) =>
  (call.parameters ?? []).filter((one) => one.required && !values[keyOf(one)]).map((one) => one.name);

/**
 * Makes the request of a form.
 * @param {Call} call
 * @param {Record<string, string>} values by `keyOf`
 * @param {{body?: string, query?: string, user?: string}} more `query`: further parameters, `a=b&c=d`; `user`: the one
 *   on whose behalf the app's server makes the call
 * @returns {{method: string, path: string, headers: Record<string, string>, body?: string}} `path` with the query
 */
export function requestOf(call, values, { body = "", query = "", user } = {}) {
  const parameters = call.parameters ?? [];
  const given = (place) => parameters.filter((one) => one.in === place && values[keyOf(one)]);
  let path = call.path;
  // An empty one stays as its name, so that the curl line shows what is missing.
  for (const one of given("path")) path = path.replace(`{${one.name}}`, encodeURIComponent(values[keyOf(one)]));
  const search = new URLSearchParams(given("query").map((one) => [one.name, values[keyOf(one)]]));
  for (const [name, value] of new URLSearchParams(query.trim())) search.append(name, value);
  const headers = Object.fromEntries(given("header").map((one) => [one.name, values[keyOf(one)]]));
  const hasBody = body.trim() !== "" && !["GET", "HEAD"].includes(call.method);
  return {
    method: call.method,
    path: (user ? `/users/${encodeURIComponent(user)}` : "") + path + (String(search) && `?${search}`),
    headers: { ...headers, ...(hasBody && call.headers) },
    ...(hasBody && { body }),
  };
}

