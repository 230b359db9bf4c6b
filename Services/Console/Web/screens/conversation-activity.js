// SPDX-License-Identifier: Apache-2.0
import { report } from "../api.js";
import { Button } from "../forms.js";
import { number } from "../format.js";
import { changeText, kindTitles, namesActor, withChanges } from "../model/live.js";
import { Badge, Empty, Failure, Panel, Time } from "../parts.js";
import { html, useEffect, useRef, useState } from "../vendor/preact-htm.js";
import { useFeed, useThrottled } from "./conversation-live.js";
import { UserLink } from "./message.js";

/** The newest changes that are shown while the list follows. */
const kept = 100;
const pageSize = 50;

const tones = {
  message_created: "accent", message_deleted: "bad", conversation_deleted: "bad", metadata_changed: "good",
  participants_changed: "warn", conversation_created: "good",
};

/** Reads changes: the newest ones, which follow the feed, or a page of older ones. */
function useChanges(app, conversation, feed) {
  const [state, setState] = useState({ items: [], next: null, isLive: true, isLoading: true });
  const isLive = useRef(true);
  const read = async (after) => {
    try {
      const { items, next } = await report("changes", { app, conversation, after, limit: pageSize });
      setState((old) => ({
        items: after ? items : withChanges(old.isLive ? old.items : [], items, kept),
        next, isLive: !after, isLoading: false,
      }));
      isLive.current = !after;
    } catch (error) {
      setState((old) => ({ ...old, error, isLoading: false }));
    }
  };
  const newest = useThrottled(() => read(), 1000);
  useEffect(newest, []);
  useFeed(feed, {
    lost: () => isLive.current && newest(),
    changed(changes) {
      if (isLive.current) setState((old) => ({ ...old, items: withChanges(old.items, changes, kept) }));
    },
  });
  const older = () => read(state.isLive ? String(state.items.at(-1)?.position ?? "") : state.next);
  return { ...state, newest, older };
}

function Change({ app, change, show }) {
  const { kind, actor, position, at, message_id: message } = change;
  const text = changeText(change);
  return html`<li class="change">
    <span class="change-position">#${number(position)}</span>
    <span><${Badge} tone=${tones[kind]}>${kindTitles[kind] ?? kind}<//></span>
    <span class="quiet change-time"><${Time} at=${at} /></span>
    <p class="change-text">${!(text && namesActor(change)) && html`<${UserLink} app=${app} user=${actor} /> `}${text}
      ${show && message && kind !== "message_deleted"
        && html` <button type="button" class="link" onClick=${() => show(message)}>Show</button>`}</p>
  </li>`;
}

/**
 * The changes of a conversation as they come, the newest first.
 * @param {{app: string, conversation: string, feed: object, show?: (message: string) => void}} props
 *   `show`: leads to a message; undefined: there are none
 */
export function Activity({ app, conversation, feed, show }) {
  const { items, next, isLive, isLoading, error, newest, older } = useChanges(app, conversation, feed);
  const hasOlder = items.at(-1)?.position > 1 && (isLive || next);
  return html`<${Panel} title="Changes" isFlush note=${isLive ? "As they come" : "Older ones"}
    actions=${!isLive && html`<${Button} onClick=${newest}>Newest<//>`}>
    ${error && html`<${Failure} error=${error} retry=${newest} />`}
    ${items.length === 0 && !isLoading && !error && html`<${Empty} title="The log has no changes any more">
      Entries go after the time for which the log is kept.<//>`}
    <ol class="changes" tabindex="0" aria-label="Changes">
      ${items.map((change) => html`<${Change} key=${change.position} ...${{ app, change, show }} />`)}</ol>
    ${hasOlder && html`<footer class="pager"><p></p><${Button} onClick=${older}>Older changes<//></footer>`}
  <//>`;
}
