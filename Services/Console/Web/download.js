// SPDX-License-Identifier: Apache-2.0

/**
 * Saves a file that the page made.
 * @param {string} name
 * @param {BlobPart[]} parts
 * @param {string} type
 */
export function save(name, parts, type) {
  const address = URL.createObjectURL(new Blob(parts, { type }));
  follow(address, { download: name });
  // The browser reads it after the click has returned.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Opens an address outside of the console, which is not told where the click was. */
export const open = (address) => follow(address, { target: "_blank", rel: "noopener noreferrer" });

function follow(href, attributes) {
  const anchor = Object.assign(document.createElement("a"), { href, ...attributes });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
}

/** Returns the bytes of base64, also without padding. */
export const bytesOf = (base64) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

/** Returns a text that can be a file's name. */
export const fileName = (text) => text.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 80) || "file";
