// SPDX-License-Identifier: Apache-2.0
import { Leaves } from "./leaves.js";

/** Reads leaves page by page, one page at a time. */
export class LeafReader {
  leaves = new Leaves();
  isBusy = false;
  /** The tree that takes the place of `leaves` once it is read. */
  #fresh = null;
  #page;
  #show;

  /**
   * @param {(after?: string | null) => Promise<{items: object[], next?: string | null}>} page
   * @param {(change: {error?: Error, isLoading: boolean}) => void} show
   */
  constructor(page, show) {
    this.#page = page;
    this.#show = show;
  }

  more = () => this.leaves.isComplete || this.#run(async () => {
    const { leaves } = this;
    leaves.add(await this.#page(leaves.next));
  });

  /** Reads as much as was read before. */
  again = () => this.#run(async () => {
    const fresh = new Leaves();
    this.#fresh = fresh;
    do fresh.add(await this.#page(fresh.next));
    while (!fresh.isComplete && fresh.count < this.leaves.count);
    this.leaves = fresh;
  });

  /** Applies a change, also to what is being read. */
  apply(change) {
    this.leaves.apply(change);
    this.#fresh?.apply(change);
  }

  async #run(work) {
    if (this.isBusy) return;
    this.isBusy = true;
    let error;
    await work().catch((failure) => (error = failure));
    this.isBusy = false;
    this.#fresh = null;
    this.#show({ isLoading: false, error });
  }
}
