import{e as t,g as e}from"./chunk-6PVB7EJ4.js";function i(){return t(e,{title:"This view is empty."})}export{i as default};
