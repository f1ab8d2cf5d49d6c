import{a as t,c as r}from"./chunk-ZVXILOZH.js";var u=150;function c(e){let[s,n]=t(e);return r(()=>{let o=setTimeout(()=>n(e),u);return()=>clearTimeout(o)},[e]),s}export{c as a};
