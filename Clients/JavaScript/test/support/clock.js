// SPDX-License-Identifier: Apache-2.0

/** A clock that moves only when a test says so. */
export class TestClock {
  time = 0;
  value = 0.5;
  #timers = new Map();
  #next = 0;

  now = () => this.time;
  random = () => this.value;

  set = (run, delay) => {
    this.#timers.set(++this.#next, { run, due: this.time + delay });
    return this.#next;
  };

  clear = (timer) => void this.#timers.delete(timer);

  get timers() {
    return this.#timers.size;
  }

  /** Runs the timers of the next milliseconds, in order. */
  advance(time) {
    const end = this.time + time;
    for (;;) {
      const due = [...this.#timers].filter(([, timer]) => timer.due <= end).sort((one, other) =>
        one[1].due - other[1].due)[0];
      if (!due) break;
      this.#timers.delete(due[0]);
      this.time = Math.max(this.time, due[1].due);
      due[1].run();
    }
    this.time = end;
  }
}

/** Returns a generator of numbers in 0..<1, the same for the same seed. */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 4294967296;
  };
}

/** Runs the microtasks that wait. */
export const microtasks = () => new Promise((resolve) => setImmediate(resolve));
