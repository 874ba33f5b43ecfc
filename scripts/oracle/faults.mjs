// Known differences between our results and the browser's, with the program that is wrong and the
// reason.

const KNOWN = [{
  name: "jsoup/smh-biz-article-1",
  what: "title",
  fault: "the browser's: an undeclared page in UTF-8, which it must judge by its first bytes and " +
    "shows as windows-1252; held whole it is plainly UTF-8 (crates/core/webpage/src/charset.rs)",
}];

/** Returns the reason for this difference, or a note that nobody has explained it. */
export function faultOf(name, what) {
  const known = KNOWN.find((one) => name.includes(one.name) && (!one.what || one.what === what));
  return known ? known.fault : "unexplained";
}
