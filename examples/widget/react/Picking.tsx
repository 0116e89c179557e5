import { useState } from "react";
import type { Notice } from "tallyman-inbox";
import type {} from "tallyman-inbox/react";

const bins = ["A-01", "A-04", "B-12"];

/** A screen of a WMS. Each key that is pressed in a field renders the screen again; the inbox does not mind. */
export function Picking({ server }: { server: string }) {
  const [field, setField] = useState("");
  const [token, setToken] = useState("");
  const [scan, setScan] = useState("");
  const [unread, setUnread] = useState(0);
  const [told, setTold] = useState<Notice>();

  /** A notice about a bin of this screen leads to its row; the widget unfolds all others. */
  const open = (event: CustomEvent<Notice>) => {
    if (bins.includes(String(event.detail.data["bin"]))) {
      event.preventDefault();
      setTold(event.detail);
    }
  };

  return (
    <>
      <header>
        <h1>Example WMS</h1>
        <nav aria-label="Screens">Picking, {unread} unread</nav>
        {token && (
          <tallyman-inbox
            server={server}
            warehouse="119240"
            tokenProvider={async () => token}
            ontallyman-unread={(event) => setUnread(event.detail.unread)}
            ontallyman-open={open}
          />
        )}
      </header>
      <main>
        <section aria-labelledby="wave">
          <h2 id="wave">Wave 77</h2>
          <label>
            Scan a bin{" "}
            <input
              value={scan}
              onChange={(event) => setScan(event.target.value)}
            />
          </label>
          <p role="status">{told?.title}</p>
          <ul>
            {bins.map((bin) => (
              <li
                key={bin}
                id={bin}
                className={told?.data["bin"] === bin ? "told" : ""}
              >
                {bin}
              </li>
            ))}
          </ul>
        </section>
        <section aria-labelledby="session">
          <h2 id="session">Session</h2>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              setToken(field.trim());
            }}
          >
            <label>
              Token{" "}
              <input
                type="password"
                autoComplete="off"
                value={field}
                onChange={(event) => setField(event.target.value)}
              />
            </label>
            <button>Sign in</button>
          </form>
        </section>
      </main>
    </>
  );
}
