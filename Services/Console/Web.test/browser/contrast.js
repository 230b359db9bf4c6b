// SPDX-License-Identifier: Apache-2.0

/**
 * Returns the visible texts of a page whose contrast is below WCAG AA: 4.5, or 3 for large texts. Disabled controls are
 * exempt. Runs in the page.
 */
export function faintTexts() {
  const context = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const isExempt = (element) => element.closest(":disabled, [aria-disabled=true], [aria-hidden=true], .unseen, .skip");

  /** A color of CSS as red, green, blue and alpha. */
  function parse(color) {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = context.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  }

  const blend = ([red, green, blue, alpha], under) =>
    [red, green, blue].map((value, index) => value * alpha + under[index] * (1 - alpha));

  function backgroundOf(element) {
    if (!element) return [255, 255, 255];
    const color = parse(getComputedStyle(element).backgroundColor);
    return color[3] === 1 ? color.slice(0, 3) : blend(color, backgroundOf(element.parentElement));
  }

  const opacityOf = (element) =>
    (element ? Number(getComputedStyle(element).opacity) * opacityOf(element.parentElement) : 1);

  const luminance = (color) => color.map((value) => value / 255)
    .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
    .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);

  function contrastOf(element) {
    const style = getComputedStyle(element);
    const back = backgroundOf(element);
    const [red, green, blue, alpha] = parse(element instanceof SVGElement ? style.fill : style.color);
    const front = blend([red, green, blue, alpha * opacityOf(element)], back);
    const [dark, light] = [luminance(front), luminance(back)].sort((one, other) => one - other);
    return (light + 0.05) / (dark + 0.05);
  }

  function limitOf(element) {
    const { fontSize, fontWeight } = getComputedStyle(element);
    return parseFloat(fontSize) >= (Number(fontWeight) >= 700 ? 18.66 : 24) ? 3 : 4.5;
  }

  const found = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.data.trim();
    if (!text || !element.checkVisibility() || isExempt(element)) continue;
    const contrast = contrastOf(element);
    if (contrast < limitOf(element)) found.set(`${element.className} “${text.slice(0, 30)}”`, contrast.toFixed(2));
  }
  return [...found].map((one) => one.join(": "));
}
