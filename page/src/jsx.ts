// What JSX is compiled to. The build puts it into every file.
export { Fragment, h } from "preact";
