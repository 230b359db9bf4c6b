// SPDX-License-Identifier: Apache-2.0
import { Button } from "../forms.js";
import { counted, dayText, number } from "../format.js";
import { Icon } from "../icons.js";
import { typingText } from "../model/live.js";
import { Empty, Failure } from "../parts.js";
import { html, useEffect, useLayoutEffect, useRef } from "../vendor/preact-htm.js";
import { Message } from "./message.js";

/** The distance from an edge at which the next page is read, in pixels. */
const nearEdge = 500;
/** The distance from the end at which the list follows new messages, in pixels. */
const followDistance = 60;

const rowsOf = (box) => [...box.querySelectorAll("[data-id]")];

/** The first message in sight, and where it is, so that it can stay there while others come and go above it. */
function anchorOf(box) {
  const top = box.getBoundingClientRect().top;
  const row = rowsOf(box).find((one) => one.getBoundingClientRect().bottom > top);
  return row && { id: row.dataset.id, offset: row.getBoundingClientRect().top - top };
}

/** Keeps the reader's place when messages are added or dropped, and the end in sight if it was. */
function useScroll(box, { messages, isAtNewest, target, older, newer }) {
  const anchor = useRef(undefined);
  const isFollowing = useRef(true);
  const shownTarget = useRef(undefined);
  const remember = () => {
    const { scrollTop, clientHeight, scrollHeight } = box.current;
    isFollowing.current = isAtNewest && scrollHeight - scrollTop - clientHeight < followDistance;
    anchor.current = anchorOf(box.current);
  };
  useLayoutEffect(() => {
    const row = (id) => rowsOf(box.current).find((one) => one.dataset.id === id);
    if (target && target !== shownTarget.current) {
      shownTarget.current = target;
      row(target)?.scrollIntoView({ block: "center" });
    } else if (isFollowing.current && isAtNewest) {
      box.current.scrollTop = box.current.scrollHeight;
    } else if (anchor.current) {
      const { id, offset } = anchor.current;
      const top = box.current.getBoundingClientRect().top;
      const found = row(id);
      if (found) box.current.scrollTop += found.getBoundingClientRect().top - top - offset;
    }
    remember();
  }, [messages]);
  return {
    scroll() {
      remember();
      const { scrollTop, clientHeight, scrollHeight } = box.current;
      if (scrollTop < nearEdge) older();
      else if (scrollHeight - scrollTop - clientHeight < nearEdge) newer();
    },
    follow() {
      isFollowing.current = true;
    },
  };
}

/** The messages with a line between two days. */
function entries(messages) {
  let day;
  return messages.flatMap((message) => {
    const own = dayText(message.sent_at);
    const isNew = own !== day;
    day = own;
    return isNew ? [{ day: own }, { message }] : [{ message }];
  });
}

/**
 * The messages of a conversation, the newest last, and who is typing.
 * @param {{app: string, conversation: string, list: object, typing: Map<string, object>, total?: number,
 *   nameOf: (user: string) => string}} props `list`: of `useMessages`
 */
export function Messages({ app, conversation, list, typing, total, nameOf }) {
  const box = useRef(null);
  const { messages, isAtNewest, window, unseen, isLoading, error, target } = list;
  const { scroll, follow } = useScroll(box, list);
  const back = () => {
    follow();
    list.newest();
  };
  // A short page does not fill the box, so nothing scrolls.
  useEffect(() => {
    if (!isLoading && !error && window.hasOlder && box.current.scrollHeight <= box.current.clientHeight) list.older();
  }, [messages.length, isLoading]);
  const text = typingText(typing, nameOf);
  return html`<div class="messages">
    <div class="messages-box" ref=${box} tabindex="0" role="log" aria-label="Messages" aria-live="off" onScroll=${scroll}>
      ${window.hasOlder && messages.length > 0 && html`<p class="messages-edge">
        <button type="button" class="plain" onClick=${list.older}>${isLoading ? "Loading" : "Older messages"}</button></p>`}
      ${!window.hasOlder && messages.length > 0 && html`<p class="messages-edge quiet">The first message</p>`}
      ${messages.length === 0 && !isLoading && !error && html`<${Empty} title="No messages yet" icon="conversations">
        They appear here as they are sent.<//>`}
      <ol>${entries(messages).map(({ day, message }) => (day
        ? html`<li key=${`day ${day}`} class="day"><span>${day}</span></li>`
        : html`<${Message} key=${message.id} ...${{ app, conversation, message, nameOf }} isTarget=${message.id === target} />`))}</ol>
    </div>
    ${error && html`<${Failure} error=${error} retry=${messages.length ? list.older : list.newest} />`}
    <footer class="messages-foot">
      <p class="typing" role="status">${text && html`<i class="typing-dots" aria-hidden="true"></i>${text}`}</p>
      ${!isAtNewest && html`<${Button} onClick=${back}><${Icon} name="down" />
        ${unseen ? counted(unseen, "new message") : "Newest message"}<//>`}
      <p class="quiet">${counted(messages.length, "message")} shown${total !== undefined && ` of ${number(total)}`}</p>
    </footer>
  </div>`;
}
