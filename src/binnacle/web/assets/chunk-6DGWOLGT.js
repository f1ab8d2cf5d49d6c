import{r as n}from"./chunk-ZVXILOZH.js";function t(r){return r instanceof n?r:new n("E_PAGE",String(r),"reload the page",0)}export{t as a};
