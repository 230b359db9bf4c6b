// SPDX-License-Identifier: Apache-2.0

/** Quotes a text for a shell. */
export const quoted = (text) => (/^[\w./:=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Quotes a text for a shell, except a variable at its beginning. */
const address = (base, path) => `"${base}"${path === "/" || path === "" ? path : quoted(path)}`;

/** The credentials that a command takes from the shell: `$SESSION` or `$TOKEN`, never their values. */
const authorizations = {
  session: '-H "Authorization: Layer session-token=$SESSION"',
  token: '-H "Authorization: Bearer $TOKEN"',
};

const joined = (lines) => lines.join(" \\\n  ");

/**
 * Returns a request as a curl command for a shell with STRATA, the URL of a gateway, and SESSION or TOKEN.
 * @param {{method: string, path: string, headers: Record<string, string>, body?: string}} request
 * @param {{authorization?: "session" | "token", app?: string}} options `app`: the one whose Server API is called
 */
export function curlLine({ method, path, headers, body }, { authorization, app } = {}) {
  const verb = { GET: "", HEAD: " --head" }[method] ?? ` -X ${method}`;
  const lines = [`curl -i${verb} ${address("$STRATA", (app ? `/apps/${app}` : "") + path)}`];
  if (authorization) lines.push(authorizations[authorization]);
  for (const [name, value] of Object.entries(headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body !== undefined) lines.push(`--data-binary ${quoted(body)}`);
  return joined(lines);
}

/**
 * Returns frames as a command of websocat, which curl has no counterpart of. STRATA begins with http.
 * @param {string[]} frames
 * @param {number} seconds
 */
export function socketLine(frames, seconds) {
  const sent = frames.map((frame) => quoted(frame)).join(" ");
  return joined([
    `(printf '%s\\n' ${sent}; sleep ${seconds}) | websocat --protocol layer-3.0`,
    '"ws${STRATA#http}/?session_token=$SESSION"',
  ]);
}
