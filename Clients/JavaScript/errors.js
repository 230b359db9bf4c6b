// SPDX-License-Identifier: Apache-2.0

/**
 * The error of every failed call.
 *
 * `code` is the `id` of the server's error object, such as `invalid_property`, or one of the client's own codes:
 *
 * - `network`: the server was not reached, or did not answer in time.
 * - `gave_up`: a change failed 20 times with temporary errors.
 * - `sign_in_failed`: the callback for identity tokens failed.
 * - `user_changed`: the identity token names another user than the session before.
 * - `closed`: the client was closed, or the user signed out.
 * - `malformed`: the server's answer has an unexpected shape.
 */
export class StrataError extends Error {
  /**
   * @param {string} code - The error code.
   * @param {string} [message] - An English sentence for people.
   * @param {{status?: number, property?: string, data?: any, retryAfter?: number, cause?: unknown}} [details]
   */
  constructor(code, message = code, details = {}) {
    const { status = 0, property, data, retryAfter, cause } = details;
    super(message, cause === undefined ? undefined : { cause });
    this.name = "StrataError";
    /** @type {string} The error code. Decide by it, never by the message. */
    this.code = code;
    /** @type {number} The HTTP status; 0 if there was no answer. */
    this.status = status;
    /** @type {string | undefined} The path of the refused property, such as `parts.0.body`. */
    this.property = property;
    /** @type {any} The `data` member of the server's error object. */
    this.data = data;
    /** @type {number | undefined} The delay that the server requests, in milliseconds. */
    this.retryAfter = retryAfter;
  }

  /**
   * True if the same request can succeed later.
   * @returns {boolean}
   */
  get isTemporary() {
    return this.code === "network" || this.status >= 500 || [401, 408, 429].includes(this.status);
  }
}

/** The error for JSON of an unexpected shape. It never leaves the client. */
export class Malformed extends Error {}
