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
   * @param {string} [message] - An English sentence for people. Default: the code.
   * @param {{status?: number, property?: string, data?: any, retryAfter?: number, cause?: unknown}} [details]
   */
  constructor(code, message = code, details = {}) {
    super(message, details);
    this.name = "StrataError";
    /** @type {string} The error code. Decide by it, never by the message. */
    this.code = code;
    /** @type {number} The HTTP status; 0 if there was no answer. */
    this.status = details.status ?? 0;
    /** @type {string | undefined} The path of the refused property, such as `parts.0.body`. */
    this.property = details.property;
    /** @type {any} The `data` member of the server's error object. */
    this.data = details.data;
    /** @type {number | undefined} The delay that the server requests, in milliseconds. */
    this.retryAfter = details.retryAfter;
    /** True if the sign-in before the request failed, and not the request. */
    this.isSignIn = false;
  }

  /**
   * True if the same request can succeed later.
   * @returns {boolean}
   */
  get isTemporary() {
    return this.code === "network" || this.status >= 500 || [401, 408, 429].includes(this.status);
  }
}

/**
 * Returns an error for an argument of the app.
 * @param {string} property
 * @param {string} message
 */
export const invalid = (property, message) => new StrataError("invalid_property", message, { property });

/**
 * Returns the error for a failure of any kind. Everything that is no {@link StrataError} is a failure of the network.
 * @param {unknown} cause
 * @returns {StrataError}
 */
export const asError = (cause) =>
  cause instanceof StrataError ? cause : new StrataError("network", undefined, { cause });

/**
 * Throws unless a condition holds. The reader of a packet or a page catches it, and every other error of a reader, as a
 * sign of malformed JSON.
 * @param {boolean} isValid
 */
export function check(isValid) {
  if (!isValid) throw new StrataError("malformed");
}
