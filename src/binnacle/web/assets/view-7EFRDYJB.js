import{e,g as t}from"./chunk-6PVB7EJ4.js";function i(){return e(t,{title:"This view is empty."})}export{i as default};
