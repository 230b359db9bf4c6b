// SPDX-License-Identifier: Apache-2.0
import { html } from "./vendor/preact-htm.js";

/** Strokes on a square of 16 units. */
const shapes = {
  overview: "M2 13.5h12M4 11V7.5M8 11V3M12 11V5.5",
  apps: "M2.5 2.5h4v4h-4zm7 0h4v4h-4zm-7 7h4v4h-4zm7 0h4v4h-4z",
  app: "M2.5 2.5h11v11h-11zm0 3.5h11",
  conversations: "M2.5 3h11v7.5H7l-3 2.5v-2.5H2.5z",
  users: "M8 8a2.7 2.7 0 1 0 0-5.4A2.7 2.7 0 0 0 8 8m-5.2 5.4c.5-2.4 2.6-3.6 5.2-3.6s4.7 1.2 5.2 3.6",
  webhooks: "m6 2.5-1.5 4.5H8L6.5 13.5l5-7H8l1.5-4z",
  try: "m3 4.5 3.5 3.5L3 11.5m5.5 0H13",
  space: "M8 6c3 0 5-.9 5-2s-2-2-5-2-5 .9-5 2 2 2 5 2m-5-2v8c0 1.1 2 2 5 2s5-.9 5-2V4M3 8c0 1.1 2 2 5 2s5-.9 5-2",
  audit: "M4 2h8v12H4zm2.5 3.5h3m-3 2.5h3m-3 2.5h1.5",
  key: "M5.5 10.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6m3-3H14v3m-2.5-3v2",
  copy: "M5.5 5.5h8v8h-8zm-3 5v-8h8",
  check: "m3 8.5 3.5 3.5L13 5",
  warning: "M8 2 1.5 13.5h13zm0 4.5v3.5m0 1.7v.1",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9m3.3-1.2 3.2 3.2",
  close: "m4 4 8 8m0-8-8 8",
  more: "m6 3.5 4.5 4.5L6 12.5",
  down: "m3.5 6 4.5 4.5L12.5 6",
  out: "M6 2.5H3v11h3M9.5 5l3 3-3 3m3-3H6",
  plus: "M8 3v10M3 8h10",
};

/** The mark of Strata. */
export const Mark = () => html`
  <svg class="mark" viewBox="0 0 16 16" aria-hidden="true"><path d="M2 4h12M2 8h9M2 12h12" /></svg>`;

/**
 * An icon without a meaning of its own.
 * @param {{name: keyof typeof shapes}} props
 */
export const Icon = ({ name }) => html`
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d=${shapes[name]} /></svg>`;
