import { mount } from "svelte";
import App from "./App.svelte";
import { preferences } from "./lib/preferences.svelte";
import { keepVisible } from "./lib/visible";
import "./style/tokens.css";
import "./style/base.css";

preferences.apply();
const target = document.getElementById("app");
if (!target) throw new Error("index.html has no #app");
keepVisible(document.documentElement);
mount(App, { target });
