// SPDX-License-Identifier: Apache-2.0

/**
 * The source of time and randomness. Tests replace it.
 *
 * @typedef {object} Clock
 * @property {() => number} now - Returns the time, in milliseconds.
 * @property {(run: () => void, delay: number) => any} set - Runs a function after a delay, in milliseconds.
 * @property {(timer: any) => void} clear - Cancels a timer.
 * @property {() => number} random - Returns a number in 0..<1.
 */

/** @type {Clock} */
export const systemClock = {
  now: () => Date.now(),
  set: (run, delay) => setTimeout(run, delay),
  clear: (timer) => clearTimeout(timer),
  random: () => Math.random(),
};

/** The longest delay between two tries, in milliseconds. */
const longestDelay = 60_000;

/**
 * Returns the delay after a failed try, in milliseconds: a random value between half of a bound and the bound.
 * The bound is 1 s after the first try and doubles up to 60 s.
 * @param {number} tries - The number of failed tries, at least 1.
 * @param {number} random - A number in 0..<1.
 * @param {number} [requested] - The minimum delay that the server requests, in milliseconds.
 */
export function backoff(tries, random, requested = 0) {
  const bound = Math.min(longestDelay, 1000 * 2 ** Math.min(tries - 1, 6));
  return Math.min(longestDelay, Math.max(requested, bound * (0.5 + random / 2)));
}
