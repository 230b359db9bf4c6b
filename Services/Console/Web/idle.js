// SPDX-License-Identifier: Apache-2.0

/** The time without input after which a page is idle, in milliseconds. */
export const idleTime = 60_000;

const inputs = ["keydown", "pointerdown", "pointermove", "touchmove", "wheel"];
let lastInput = Date.now();

/**
 * Notes when the page is used.
 * @param {EventTarget} page
 */
export function watchInput(page) {
  for (const type of inputs) page.addEventListener(type, () => (lastInput = Date.now()), { capture: true, passive: true });
}

/** A Boolean value that indicates whether nobody uses the page. Its requests do not prolong the session then. */
export const isIdle = () => Date.now() - lastInput > idleTime;
