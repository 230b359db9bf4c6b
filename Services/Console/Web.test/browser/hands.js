// SPDX-License-Identifier: Apache-2.0

/**
 * Functions of an operator's hands and eyes, which run in the page as `hands`. `area`: the label of a panel or a table,
 * which begins with a capital letter, or a CSS selector; none: the dialog that is open, otherwise the page.
 */
function makeHands() {
  const clean = (text) => text.replace(/\s+/g, " ").trim();
  const isVisible = (element) => element.checkVisibility() && !element.closest("[inert]");

  function scope(area) {
    const dialog = [...document.querySelectorAll("dialog[open]")].at(-1);
    if (!area) return dialog ?? document.body;
    if (!/^[A-Z]/.test(area)) return document.querySelector(area);
    return [...document.querySelectorAll("[aria-label]")].find((one) => one.ariaLabel === area && isVisible(one));
  }

  const names = (element) => [element.textContent, element.ariaLabel ?? "", element.title].map(clean);

  /** Presses a button or follows a link by its text. Returns false while there is none that can be pressed. */
  function press(name, area) {
    const found = [...(scope(area)?.querySelectorAll("button, a, summary, [role=row]") ?? [])].find((element) =>
      names(element).includes(name) && isVisible(element) && !element.disabled && element.ariaDisabled !== "true");
    found?.click();
    return Boolean(found);
  }

  function control(label, area) {
    const labels = [...(scope(area)?.querySelectorAll("label") ?? [])];
    return labels.find((one) => clean(one.textContent).startsWith(label))?.control;
  }

  /** Types a text into a field, or chooses an option by its text, or sets a check box. */
  function fill(label, value, area) {
    const field = control(label, area);
    if (!field || field.disabled) return false;
    if (field.type === "checkbox") {
      if (field.checked !== value) field.click();
      return field.checked === value;
    }
    field.focus();
    field.value = field.options ? [...field.options].find((one) => clean(one.text) === value)?.value : value;
    field.dispatchEvent(new Event(field.options ? "change" : "input", { bubbles: true }));
    return true;
  }

  /** A value of the dialog that shows secrets once. */
  const secret = (name) =>
    [...scope().querySelectorAll("dt")].find((one) => clean(one.textContent).startsWith(name))?.parentElement
      .querySelector("pre").textContent;

  /** The visible text of an area. */
  const text = (area) => clean(scope(area)?.innerText ?? "");

  /** The texts of all buttons and links that can be seen. */
  const offers = () => [...document.querySelectorAll("main button, main a.button, main [type=submit]")]
    .filter(isVisible).map((element) => clean(element.textContent) || element.title);

  globalThis.hands = { control, fill, offers, press, scope, secret, text };
}

/** The script that puts the functions into a page. */
export const hands = `(${makeHands})()`;
