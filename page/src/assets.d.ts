/** Addresses of the style sheets of groups of views, which the build puts here. */
declare const STYLES: Readonly<Record<"work" | "system", string>>;
