import { TallymanInbox } from "./element";

// A page may load the file twice, and a server that renders pages has no elements.
if (globalThis.customElements && !customElements.get("tallyman-inbox")) {
  customElements.define("tallyman-inbox", TallymanInbox);
}
