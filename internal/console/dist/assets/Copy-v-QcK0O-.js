<<<<<<<< HEAD:internal/console/dist/assets/Copy-LWA3tuS5.js
import{Ct as e,St as t,n,p as r}from"./State-DKtL_HAs.js";import{_ as i,t as a}from"./index-CGT5WOIK.js";function o(o,s){e(s,!0);let c=r(s,`label`,19,()=>n(`copy`));async function l(){try{await navigator.clipboard.writeText(s.text),a.say(`good`,n(`copied`))}catch(e){a.fail(e)}}i(o,{kind:`quiet`,icon:`copy`,get"aria-label"(){return c()},get title(){return c()},onclick:()=>void l()}),t()}export{o as t};
========
import{Ct as e,St as t,n,p as r}from"./State-DKtL_HAs.js";import{_ as i,t as a}from"./index-DhksIze6.js";function o(o,s){e(s,!0);let c=r(s,`label`,19,()=>n(`copy`));async function l(){try{await navigator.clipboard.writeText(s.text),a.say(`good`,n(`copied`))}catch(e){a.fail(e)}}i(o,{kind:`quiet`,icon:`copy`,get"aria-label"(){return c()},get title(){return c()},onclick:()=>void l()}),t()}export{o as t};
>>>>>>>> 24284bd2 (Console: built):internal/console/dist/assets/Copy-v-QcK0O-.js
