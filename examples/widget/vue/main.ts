import "tallyman-inbox";
import { createApp } from "vue";
import "../page.css";
import Picking from "./Picking.vue";

createApp(Picking, { server: "http://127.0.0.1:8080" }).mount("#app");
