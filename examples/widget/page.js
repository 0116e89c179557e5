// A screen of a WMS that embeds the inbox. Nothing here is needed by the widget but wmsToken.

let token = "";
let signedIn;
const session = new Promise((resolve) => (signedIn = resolve));

// The widget asks for a token when it begins, before the token expires, and when the server refuses it.
window.wmsToken = async () => {
  await session;
  return token;
};

addEventListener("DOMContentLoaded", () => {
  const note = document.getElementById("note");

  document.getElementById("sign-in").addEventListener("submit", (event) => {
    event.preventDefault();
    token = document.getElementById("token").value.trim();
    signedIn();
  });

  // A notice about a bin of this screen leads to its row; the widget unfolds all others.
  addEventListener("tallyman-open", (event) => {
    const row = document.getElementById(event.detail.data.bin);
    if (row) {
      event.preventDefault();
      row.className = "told";
      note.textContent = event.detail.title;
    }
  });

  addEventListener("tallyman-unread", ({ detail: { unread, more } }) => {
    document.title =
      (unread ? `(${unread}${more ? "+" : ""}) ` : "") +
      "Picking – Example WMS";
  });
});
