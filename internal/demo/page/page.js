// The choices of the example page; the widget follows its attributes and the page's language.
const choose = (id, apply) => {
  const choice = document.getElementById(id);
  apply(choice.value);
  choice.addEventListener("change", () => apply(choice.value));
};

choose("warehouse", (warehouse) => document.querySelector("tallyman-inbox").setAttribute("warehouse", warehouse));
choose("language", (language) => (document.documentElement.lang = language));

addEventListener("tallyman-unread", ({ detail: { unread, more } }) => {
  document.title = (unread ? `(${unread}${more ? "+" : ""}) ` : "") + "Example WMS";
});
