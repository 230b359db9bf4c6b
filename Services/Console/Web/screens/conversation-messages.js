// SPDX-License-Identifier: Apache-2.0
import { Button } from "../forms.js";
import { counted, dayText, number } from "../format.js";
import { Icon } from "../icons.js";
import { typingText } from "../model/live.js";
import { Empty, Failure } from "../parts.js";
import { html, useEffect, useLayoutEffect, useRef } from "../vendor/preact-htm.js";
import { Message } from "./message.js";
import { ScrollPlace } from "./scroll-place.js";

/**
 * Keeps the reader's place while messages come and go, and reads on near an edge.
 * @returns {{box: object, scroll: () => void, goToEnd: () => void}} `box`: the reference of the element that scrolls
 */
function useScroll({ messages, isAtNewest: canFollow, isLoading, error, target, older, newer }) {
  const box = useRef(null);
  const place = useRef(null);
  const rendered = useRef(messages);
  const latest = useRef();
  latest.current = { canFollow, target };
  // The document still has the earlier messages here, and the reader may have scrolled since.
  if (rendered.current !== messages) place.current?.remember();
  rendered.current = messages;
  useLayoutEffect(() => {
    place.current ??= new ScrollPlace(box.current);
    place.current.keep(latest.current);
  }, [messages]);
  // Images and opened details change the height between two renderings.
  useEffect(() => {
    const observer = new ResizeObserver(() => place.current.keep(latest.current));
    observer.observe(box.current.querySelector("ol"));
    return () => observer.disconnect();
  }, []);
  const readOn = () => {
    if (place.current.isNearStart) older();
    else if (place.current.isNearEnd) newer();
  };
  // The reader may have come to an edge while a page was being read.
  useEffect(() => {
    if (!isLoading && !error && messages.length) readOn();
  }, [messages, isLoading]);
  const scroll = () => {
    place.current.remember();
    readOn();
  };
  return { box, scroll, goToEnd: () => place.current.goToEnd() };
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
  const { messages, isAtNewest, window, unseen, isLoading, error, target } = list;
  const { box, scroll, goToEnd } = useScroll(list);
  const back = () => {
    goToEnd();
    list.newest();
  };
  const text = typingText(typing, nameOf);
  return html`<div class="messages">
    <div class="messages-box" ref=${box} tabindex="0" role="log" aria-label="Messages" aria-live="off"
      onScroll=${scroll}>
      ${window.hasOlder && messages.length > 0 && html`<p class="messages-edge">
        <button type="button" class="plain" onClick=${list.older}>
          ${isLoading ? "Loading" : "Older messages"}</button></p>`}
      ${!window.hasOlder && messages.length > 0 && html`<p class="messages-edge quiet">The first message</p>`}
      ${messages.length === 0 && !isLoading && !error && html`<${Empty} title="No messages yet" icon="conversations">
        They appear here as they are sent.<//>`}
      <ol>${entries(messages).map(({ day, message }) => (day
        ? html`<li key=${`day ${day}`} class="day"><span>${day}</span></li>`
        : html`<${Message} key=${message.id} ...${{ app, conversation, message, nameOf }}
          isTarget=${message.id === target} />`))}</ol>
    </div>
    ${error && html`<${Failure} error=${error} retry=${messages.length ? list.older : list.newest} />`}
    <footer class="messages-foot">
      <p class="typing" role="status">${text && html`<i class="typing-dots" aria-hidden="true"></i>${text}`}</p>
      ${!isAtNewest && html`<${Button} onClick=${back}><${Icon} name="down" />
        ${unseen ? counted(unseen, "new message") : "Newest message"}<//>`}
      ${messages.length > 0 && html`<p class="quiet">
        ${counted(messages.length, "message")} shown${total >= messages.length && ` of ${number(total)}`}</p>`}
    </footer>
  </div>`;
}
