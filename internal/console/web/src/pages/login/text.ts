import { texts } from "../../lib/preferences.svelte";

export const t = texts({
  en: {
    title: "Log in",
    token: "Token",
    hint: "An API token, or a JWT of your identity provider. The token stays in this tab and is gone when the tab is closed.",
    login: "Log in",
    refused: "The server does not accept this token. The token may be mistyped, expired or revoked.",
    ended: "Your token has expired or was revoked. Log in again to return to your page.",
    help: "An administrator creates tokens with: tallyman tokens create",
  },
  zh: {
    title: "登录",
    token: "令牌",
    hint: "API 令牌，或身份提供方签发的 JWT。令牌只保存在此标签页中，关闭即清除。",
    login: "登录",
    refused: "服务器不接受此令牌：可能输入有误、已过期或已被吊销。请核对，或向管理员索取新令牌。",
    ended: "您的令牌已过期或已被吊销。请重新登录，登录后回到原来的页面。",
    help: "管理员可用以下命令创建令牌：tallyman tokens create",
  },
});
