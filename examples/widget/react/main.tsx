import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
// Before React renders, or React cannot know the element's properties.
import "tallyman-inbox";
import "../page.css";
import { Picking } from "./Picking";

createRoot(document.getElementById("app")!).render(
  <StrictMode>
    <Picking server="http://127.0.0.1:8080" />
  </StrictMode>,
);
