// SPDX-License-Identifier: Apache-2.0
import { get, onSignedOut, post, remove, setToken } from "./api.js";
import { useData, Session } from "./hooks.js";
import { watchInput } from "./idle.js";
import { Failure, Page } from "./parts.js";
import { match } from "./router.js";
import { Sidebar } from "./sidebar.js";
import { Screen as Login } from "./screens/login.js";
import { Toasts, toast } from "./toasts.js";
import { html, render, useEffect, useState } from "./vendor/preact-htm.js";

/** The address's route, renewed when the address changes. */
function useRoute() {
  const [route, setRoute] = useState(() => match(location.hash));
  useEffect(() => {
    const changed = () => setRoute(match(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

/** Loads a route's screen. The earlier screen is shown until then. */
function useScreen(route) {
  const [shown, setShown] = useState(null);
  useEffect(() => {
    let isCurrent = true;
    const show = (made) => isCurrent && setShown({ ...made, route });
    if (route.screen === "missing") show({ Screen: Missing });
    else import(`./screens/${route.screen}.js`).then(show, (error) => show({ error }));
    return () => (isCurrent = false);
  }, [route]);
  return shown;
}

const Missing = () => html`<${Page} title="No such screen">
  <p class="prose">The address leads nowhere. Go to the <a href="#/overview">overview</a>.</p><//>`;

/** Moves the focus to the heading of a screen that was navigated to, and to its start. */
function useFocus(path) {
  const [first] = useState(path);
  useEffect(() => {
    if (path === undefined || path === first) return;
    document.querySelector("main h1")?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [path]);
}

/** Moves the focus to the search field of the screen at `/`, unless a text is being typed. */
function useSearchKey() {
  useEffect(() => {
    const pressed = (event) => {
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target.closest("input, textarea, select, [contenteditable], dialog")) return;
      const field = document.querySelector("main [data-search]");
      if (!field) return;
      event.preventDefault();
      field.focus();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

function Shell({ session, signOut }) {
  const shown = useScreen(useRoute());
  const path = shown?.route.path;
  useFocus(path);
  useSearchKey();
  const skip = (event) => {
    event.preventDefault();
    document.querySelector("main h1")?.focus();
  };
  return html`<${Session.Provider} value=${session}>
    <a class="skip" href="#content" onClick=${skip}>Skip to the content</a>
    <div class="shell">
      <${Sidebar} route=${shown?.route ?? match("")} session=${session} signOut=${signOut} />
      <main>${shown && (shown.error
        ? html`<${Failure} error=${shown.error} retry=${() => location.reload()} />`
        : html`<${shown.Screen} key=${path} params=${shown.route.params} query=${shown.route.query} />`)}</main>
    </div>
    <${Toasts} />
  <//>`;
}

/** Uses up the sign-in link that the address of the page is. Returns the session, or why there is none. */
async function useLink(token) {
  try {
    return await post("/api/session/link", { token });
  } catch (error) {
    if (error.status !== 401) throw error;
    return { refusal: error.message };
  }
}

/** Reads the present session: null if nobody is signed in, `refusal` if a link signs nobody in. */
async function readSession(signal) {
  const [, token] = location.pathname.match(/^\/console\/link\/([^/]+)$/) ?? [];
  const made = token && (await useLink(token));
  if (token) history.replaceState(null, "", "/console/");
  if (made?.csrf) return made;
  return (await readCookie(signal)) ?? made ?? null;
}

async function readCookie(signal) {
  try {
    return await get("/api/session", undefined, signal);
  } catch (error) {
    if (error.status === 401) return null;
    throw error;
  }
}

function Console() {
  const { data: session, error, reload, set } = useData(readSession, []);
  const [note, setNote] = useState("");
  useEffect(() => setToken(session?.csrf ?? ""), [session]);
  useEffect(() => onSignedOut(() => {
    setNote("Your session has ended. Sign in to continue where you were.");
    set(null);
  }), []);
  const signIn = (made) => {
    setNote("");
    set(made);
  };
  const signOut = async () => {
    try {
      await remove("/api/session");
    } catch (failure) {
      if (failure.status !== 401) return toast(failure.message, "bad");
    }
    set(null);
  };
  if (session?.csrf) return html`<${Shell} session=${session} signOut=${signOut} />`;
  if (session !== undefined) return html`<${Login} signIn=${signIn} note=${note || session?.refusal} />`;
  return error && html`<main class="alone"><${Failure} error=${error} retry=${reload} /></main>`;
}

watchInput(document);
render(html`<${Console} />`, document.querySelector("#console"));
