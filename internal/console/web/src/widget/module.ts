import "./main";

export { TallymanInbox } from "./element";
