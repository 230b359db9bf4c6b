// SPDX-License-Identifier: Apache-2.0

/** The largest page of the lists that are read. */
const pageSize = 100;
const lastID = (items) => items.at(-1)?.id;

/**
 * Reads all pages of a list.
 * @param {(target: string, query: object) => Promise<{items: object[], hasMore: boolean}>} page
 */
async function* pagesOf(page, target, query = {}) {
  for (let from; ;) {
    const { items, hasMore } = await page(target, { page_size: pageSize, ...query, from_id: from });
    yield items;
    if (!hasMore || !items.length) return;
    from = typeof items.at(-1) === "string" ? items.at(-1) : lastID(items);
  }
}

const text = (value) => JSON.stringify(value);

/** The lists of a user beside the conversations: their paths, and their names in the file. */
const lists = ["sessions", "blocks", "following", "announcements"];

/**
 * Writes all that the Server API shows of a user as one JSON document, piece by piece. A user without an identity has
 * null. Messages are those that the user can see, of each conversation the newest first.
 * @param {{user: string, now: string, one: (target: string) => Promise<object | null>,
 *   page: (target: string, query: object) => Promise<{items: object[], hasMore: boolean}>,
 *   onProgress?: (progress: {conversations: number, messages: number}) => void}} source
 *   `one`: an object, null if there is none; targets are below `/users/:user`
 * @returns {AsyncGenerator<string>}
 */
export async function* exportUser({ user, now, one, page, onProgress = () => {} }) {
  yield `{"format": "strata-user-export-1",\n"user_id": ${text(user)},\n"exported_at": ${text(now)}`;
  for (const [name, target] of [["user", ""], ["identity", "/identity"], ["badge", "/badge"]]) {
    yield `,\n${text(name)}: ${text(await one(target))}`;
  }
  for (const name of lists) yield* writeList(name, pagesOf(page, `/${name}`));
  yield* writeConversations(page, onProgress);
  yield "}\n";
}

async function* writeList(name, pages) {
  yield `,\n${text(name)}: [`;
  let isFirst = true;
  for await (const items of pages) {
    for (const item of items) {
      yield `${isFirst ? "\n" : ",\n"}${text(item)}`;
      isFirst = false;
    }
  }
  yield "]";
}

async function* writeConversations(page, onProgress) {
  const progress = { conversations: 0, messages: 0 };
  yield `,\n"conversations": [`;
  for await (const conversations of pagesOf(page, "/conversations", { sort_by: "created_at" })) {
    for (const conversation of conversations) {
      // `last_message` is among the messages.
      const { last_message: _, ...facts } = conversation;
      yield `${progress.conversations ? ",\n" : "\n"}{"conversation": ${text(facts)}`;
      progress.conversations += 1;
      const id = encodeURIComponent(conversation.id.split("/").at(-1));
      yield* writeList("messages", counted(pagesOf(page, `/conversations/${id}/messages`), progress, onProgress));
      yield "}";
    }
  }
  yield "]";
}

async function* counted(pages, progress, onProgress) {
  for await (const items of pages) {
    progress.messages += items.length;
    onProgress({ ...progress });
    yield items;
  }
}
