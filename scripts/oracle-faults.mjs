// Whose fault a known difference between our answer and the browser's is, and why.

const KNOWN = [];

/** The reason of a difference; one that nobody has explained says so. */
export function faultOf(name, what) {
  const known = KNOWN.find((one) => name.includes(one.name) && (!one.what || one.what === what));
  return known ? known.fault : "unexplained";
}
