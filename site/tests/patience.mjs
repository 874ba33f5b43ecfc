// Owns how the page's tests wait: for an event, with one time limit that is reached only if a test
// hangs.

/** Maximum duration for any wait: far longer than anything here takes on a busy host. */
export const PATIENCE_MS = 240_000;
/** Pause between two checks. */
const LOOK_MS = 30;

/**
 * Waits until `look` returns, or resolves to, a true value, and resolves to this value. The error
 * message contains `name` and the value to which `describe` resolves.
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
