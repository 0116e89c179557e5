import { TallymanInbox } from "./element";

// A page may load the file twice.
if (!customElements.get("tallyman-inbox")) {
  customElements.define("tallyman-inbox", TallymanInbox);
}
