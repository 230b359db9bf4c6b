// SPDX-License-Identifier: Apache-2.0

/** @typedef {"started" | "paused" | "finished"} TypingAction */

/** All times are in milliseconds. */
const pauseTime = 10_000;
const finishTime = 10_000;
/** The time before the same action is sent again. */
const repetitionTime = 2_500;
/** The time without a signal after which another user no longer types. */
const silenceTime = 25_000;

/**
 * Decides which typing signals are sent. The app calls it for every keystroke: 10 s after the last call it pauses, and
 * 10 s later it finishes. Without a connection only the state changes.
 */
export class TypingSender {
  #clock;
  #send;
  #isConnected = false;
  /** @type {Map<string, {action: TypingAction, sent: TypingAction | null, sentAt: number, timer: any}>} */
  #typing = new Map();

  /** @param {import("./clock.js").Clock} clock @param {(conversation: string, action: TypingAction) => void} send */
  constructor(clock, send) {
    this.#clock = clock;
    this.#send = send;
  }

  /**
   * Handles a call of the app.
   * @param {string} conversation
   * @param {TypingAction} action
   */
  call(conversation, action) {
    if (action !== "finished") return this.#enter(conversation, action);
    if (!this.end(conversation)) return;
    if (this.#isConnected) this.#send(conversation, "finished");
  }

  /** @param {string} conversation @param {TypingAction} action */
  #enter(conversation, action) {
    const now = this.#clock.now();
    const state = this.#typing.get(conversation) ?? { action, sent: null, sentAt: 0, timer: null };
    this.#clock.clear(state.timer);
    const isStarted = action === "started";
    state.action = action;
    state.timer = this.#clock.set(
      () => this.call(conversation, isStarted ? "paused" : "finished"),
      isStarted ? pauseTime : finishTime,
    );
    this.#typing.set(conversation, state);
    if (!this.#isConnected || (state.sent === action && now - state.sentAt < repetitionTime)) return;
    [state.sent, state.sentAt] = [action, now];
    this.#send(conversation, action);
  }

  /**
   * Ends typing without a signal, for example because a message does.
   * @param {string} conversation
   */
  end(conversation) {
    this.#clock.clear(this.#typing.get(conversation)?.timer);
    return this.#typing.delete(conversation);
  }

  /**
   * Handles a new or lost connection.
   * @param {boolean} isConnected
   */
  setConnected(isConnected) {
    this.#isConnected = isConnected;
    for (const [conversation, state] of this.#typing) {
      state.sent = null;
      if (!isConnected || state.action !== "started") continue;
      [state.sent, state.sentAt] = ["started", this.#clock.now()];
      this.#send(conversation, "started");
    }
  }

  /** Ends all typing without a signal. */
  stop() {
    for (const conversation of [...this.#typing.keys()]) this.end(conversation);
  }
}

/** The other users who type. A user stops by a signal, by a message, by leaving, and after 25 s of silence. */
export class TypingReceiver {
  #clock;
  #changed;
  /**
   * Actions and timers by conversation and user.
   * @type {Map<string, Map<string, {action: TypingAction, timer: any}>>}
   */
  #typists = new Map();

  /**
   * @param {import("./clock.js").Clock} clock
   * @param {(conversation: string, user: string, action: TypingAction) => void} changed
   */
  constructor(clock, changed) {
    this.#clock = clock;
    this.#changed = changed;
  }

  /**
   * Returns the users who type or pause, with their actions.
   * @param {string} conversation
   */
  in(conversation) {
    return new Map([...(this.#typists.get(conversation) ?? [])].map(([user, { action }]) => [user, action]));
  }

  /** @param {string} conversation @param {string} user @param {TypingAction} action */
  received(conversation, user, action) {
    if (action === "finished") return this.finish(conversation, user);
    const typists = this.#typists.get(conversation) ?? new Map();
    this.#clock.clear(typists.get(user)?.timer);
    typists.set(user, { action, timer: this.#clock.set(() => this.finish(conversation, user), silenceTime) });
    this.#typists.set(conversation, typists);
    this.#changed(conversation, user, action);
  }

  /** @param {string} conversation @param {string} user */
  finish(conversation, user) {
    const typists = this.#typists.get(conversation);
    this.#clock.clear(typists?.get(user)?.timer);
    if (!typists?.delete(user)) return;
    if (typists.size === 0) this.#typists.delete(conversation);
    this.#changed(conversation, user, "finished");
  }

  /** Ends the typing of all users. */
  finishAll() {
    for (const [id, typists] of [...this.#typists]) {
      for (const user of [...typists.keys()]) this.finish(id, user);
    }
  }
}
