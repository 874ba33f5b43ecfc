// Whose fault a known difference between our answer and the browser's is, and why.

const KNOWN = [{
  name: "jsoup/smh-biz-article-1",
  what: "title",
  fault: "the browser's: an undeclared page in UTF-8, which it must judge by its first bytes and " +
    "shows as windows-1252; held whole it is plainly UTF-8 (crates/webpage/src/charset.rs)",
}];

/** The reason of a difference; one that nobody has explained says so. */
export function faultOf(name, what) {
  const known = KNOWN.find((one) => name.includes(one.name) && (!one.what || one.what === what));
  return known ? known.fault : "unexplained";
}
