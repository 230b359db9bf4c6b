// SPDX-License-Identifier: Apache-2.0

/** The distance from the end within which the list follows, in pixels. */
const followDistance = 60;
/** The distance from an edge within which more is read, in pixels. */
const nearEdge = 500;

/**
 * The reader's place in a box whose rows, elements with `data-id`, come and go at both ends. The first row in sight
 * stays where it is; a reader at the end stays at the end.
 */
export class ScrollPlace {
  #anchor;
  #isFollowing = true;
  #lastTop = 0;
  #shownTarget;

  /** @param {HTMLElement} box */
  constructor(box) {
    this.box = box;
  }

  /** Takes down the place. To be called when the reader has scrolled, and before rows change. */
  remember() {
    const top = this.box.getBoundingClientRect().top;
    const row = this.#rows.find((one) => one.getBoundingClientRect().bottom > top);
    this.#anchor = row && { id: row.dataset.id, offset: row.getBoundingClientRect().top - top };
    // Only the reader leaves the end. Content that grows does not.
    if (this.box.scrollTop !== this.#lastTop) this.#isFollowing = this.#below < followDistance;
    this.#lastTop = this.box.scrollTop;
  }

  /**
   * Goes back to the place after rows have changed, or to a row that was asked for.
   * @param {{canFollow: boolean, target?: string}} options `canFollow`: the last row is the end of the list
   */
  keep({ canFollow, target }) {
    if (target && target !== this.#shownTarget) return this.#show(target);
    const anchor = this.#row(this.#anchor?.id);
    if (canFollow && this.#isFollowing) {
      this.box.scrollTop = this.box.scrollHeight;
    } else if (anchor) {
      const offset = anchor.getBoundingClientRect().top - this.box.getBoundingClientRect().top;
      this.box.scrollTop += offset - this.#anchor.offset;
    }
    this.#lastTop = this.box.scrollTop;
  }

  #show(target) {
    this.#shownTarget = target;
    this.#row(target)?.scrollIntoView({ block: "nearest" });
    this.#isFollowing = false;
    this.#lastTop = this.box.scrollTop;
    this.remember();
  }

  /** The next time that rows change, the end is shown. */
  goToEnd() {
    this.#isFollowing = true;
    this.#lastTop = this.box.scrollTop;
  }

  get isNearStart() {
    return this.box.scrollTop < nearEdge;
  }

  get isNearEnd() {
    return this.#below < nearEdge;
  }

  get #below() {
    return this.box.scrollHeight - this.box.scrollTop - this.box.clientHeight;
  }

  get #rows() {
    return [...this.box.querySelectorAll("[data-id]")];
  }

  #row(id) {
    return this.#rows.find((one) => one.dataset.id === id);
  }
}
