<<<<<<<< HEAD:internal/console/dist/assets/query-DFqhFdBT.js
import{m as e}from"./index-CGT5WOIK.js";var t={get(t){return e.toURLSearchParams().get(t)??``},set(t){for(let[n,r]of Object.entries(t))r?e.set(n,r,{replace:!0}):e.delete(n,void 0,{replace:!0})}};export{t};
========
import{m as e}from"./index-DhksIze6.js";var t={get(t){return e.toURLSearchParams().get(t)??``},set(t){for(let[n,r]of Object.entries(t))r?e.set(n,r,{replace:!0}):e.delete(n,void 0,{replace:!0})}};export{t};
>>>>>>>> 24284bd2 (Console: built):internal/console/dist/assets/query-BmKU3vc3.js
