// Owns how the page's tests wait: for an event, with one limit that only a hang reaches.

/** Maximum duration of any wait: far longer than anything here takes on a busy machine. */
export const PATIENCE_MS = 240_000;
/** Pause between two looks. */
const LOOK_MS = 30;

/**
 * Waits until `look` returns, or resolves to, a value that is true, and resolves to that value.
 * `name` is for the error message, and so is what `describe` resolves to.
 */
export async function until(name, look, describe = () => "") {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const value = await look();
    if (value) return value;
    if (Date.now() > end) throw new Error(`never came: ${name}${await describe()}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
