// SPDX-License-Identifier: Apache-2.0

/** The screens and the patterns of their addresses. A part that begins with a colon is a parameter. */
const routes = [
  ["overview", "overview"],
  ["apps", "apps"],
  ["app", "apps/:app"],
  ["conversations", "apps/:app/conversations"],
  ["conversation", "apps/:app/conversations/:conversation"],
  ["users", "apps/:app/users"],
  ["user", "apps/:app/users/:user"],
  ["trace", "apps/:app/users/:user/trace"],
  ["webhooks", "apps/:app/webhooks"],
  ["try", "try"],
  ["space", "space"],
  ["audit", "audit"],
].map(([screen, pattern]) => ({ screen, parts: pattern.split("/") }));

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function parameters(pattern, parts) {
  if (pattern.length !== parts.length) return null;
  const found = {};
  for (const [index, part] of pattern.entries()) {
    if (part.startsWith(":")) found[part.slice(1)] = decode(parts[index]);
    else if (part !== parts[index]) return null;
  }
  return found;
}

/**
 * Finds the screen of an address. The empty one is that of the overview.
 * @param {string} hash such as `#/apps/6a1f…/users?prefix=a`
 * @returns {{screen: string, path: string, params: Record<string, string>, query: Record<string, string>}}
 */
export function match(hash) {
  const [path, query = ""] = hash.replace(/^#?\/?/, "").split(/\?(.*)/s);
  const parts = (path.replace(/\/+$/, "") || "overview").split("/");
  for (const { screen, parts: pattern } of routes) {
    const params = parameters(pattern, parts);
    if (params) return { screen, path: parts.join("/"), params, query: Object.fromEntries(new URLSearchParams(query)) };
  }
  return { screen: "missing", path, params: {}, query: {} };
}

/**
 * Makes an address from parts, which are escaped: `link("apps", id, "users")`. An object as the last one is the query.
 * @param {...(string | Record<string, unknown>)} parts
 */
export function link(...parts) {
  const query = typeof parts.at(-1) === "object" ? Object.entries(parts.pop()) : [];
  const pairs = query.filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(pairs).toString();
  return `#/${parts.map(encodeURIComponent).join("/")}${text && `?${text}`}`;
}

/** Shows another screen. With `isReplaced` the present address leaves the history. */
export function navigate(address, { isReplaced = false } = {}) {
  if (isReplaced) location.replace(address);
  else location.hash = address;
}
