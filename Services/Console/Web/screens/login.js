// SPDX-License-Identifier: Apache-2.0
import { post } from "../api.js";
import { Form, TextField } from "../forms.js";
import { useAction } from "../hooks.js";
import { Mark } from "../icons.js";
import { html, useEffect, useState } from "../vendor/preact-htm.js";

/**
 * The sign-in.
 * @param {{signIn: (session: object) => void, note?: string}} props `note`: why there is no session
 */
export function Screen({ signIn, note }) {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const action = useAction(async () => signIn(await post("/api/session", { name, password })));
  useEffect(() => {
    document.title = "Sign in · Strata console";
  }, []);
  const submit = async () => {
    if (await action.run()) return;
    setPassword("");
    document.querySelector("input[type=password]")?.focus();
  };
  return html`<main class="login">
    <div class="login-card">
      <p class="login-brand"><${Mark} /><b>Strata <span>console</span></b></p>
      <h1>Sign in</h1>
      ${note && html`<p class="note" role="status">${note}</p>`}
      <${Form} onSubmit=${submit} action=${action} submit="Sign in" isDisabled=${!name || !password}>
        <${TextField} label="Name" value=${name} onChange=${setName} name="name" autocomplete="username"
          autocapitalize="none" autofocus />
        <${TextField} label="Password" value=${password} onChange=${setPassword} name="password" type="password"
          autocomplete="current-password" />
      <//>
    </div>
    <p class="quiet">Operators are made on the server: <code>strata operator create</code></p>
  </main>`;
}
