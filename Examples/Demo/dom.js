// SPDX-License-Identifier: Apache-2.0

/**
 * Makes an element. Texts become text nodes, so that no value is read as HTML.
 * @param {string} name
 * @param {Record<string, string>} attributes
 * @param {...(Node | string)} children
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

/**
 * Makes an icon from a symbol of the page.
 * @param {string} symbol
 */
export function icon(symbol) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#${symbol}`);
  made.setAttribute("class", "icon");
  made.setAttribute("aria-hidden", "true");
  made.append(use);
  return made;
}

/**
 * Changes a text, if it differs.
 * @param {Element} target
 * @param {string} text
 */
export function setText(target, text) {
  if (target.textContent !== text) target.textContent = text;
}

/**
 * Makes the children of a list equal to given elements, and moves only those that are in another place.
 * @param {Element} list
 * @param {Element[]} children
 */
export function setChildren(list, children) {
  const kept = new Set(children);
  for (const child of [...list.children]) if (!kept.has(child)) child.remove();
  children.forEach((child, index) => {
    if (list.children[index] !== child) list.insertBefore(child, list.children[index] ?? null);
  });
}

const time = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

/** @param {Date} date */
const isToday = (date) => date.toDateString() === new Date().toDateString();

/** @param {Date} date */
export const timeText = (date) => (isToday(date) ? time.format(date) : `${day.format(date)}, ${time.format(date)}`);

/** @param {Date} date */
export const shortTimeText = (date) => (isToday(date) ? time : day).format(date);

/**
 * Returns a count with its noun.
 * @param {number} count
 * @param {string} noun
 */
export const counted = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;
