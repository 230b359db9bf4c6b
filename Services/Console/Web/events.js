// SPDX-License-Identifier: Apache-2.0

/** A parser of server-sent events that takes the stream in chunks of any size. Comments are ignored. */
export class EventParser {
  #rest = "";
  #type = "";
  #data = [];
  #dispatch;

  /** @param {(type: string, data: string) => void} dispatch */
  constructor(dispatch) {
    this.#dispatch = dispatch;
  }

  /** @param {string} chunk */
  add(chunk) {
    const text = this.#rest + chunk;
    // The second half of a line end may be in the next chunk.
    const end = text.endsWith("\r") ? text.length - 1 : text.length;
    const lines = text.slice(0, end).split(/\r\n|\n|\r/);
    this.#rest = lines.pop() + text.slice(end);
    for (const line of lines) this.#read(line);
  }

  #read(line) {
    if (line === "") return this.#finish();
    const [, field, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "event") this.#type = value ?? "";
    if (field === "data") this.#data.push(value ?? "");
  }

  #finish() {
    if (this.#data.length) this.#dispatch(this.#type || "message", this.#data.join("\n"));
    this.#type = "";
    this.#data = [];
  }
}
