// Waits for events, with one time limit that is reached only if a test hangs.

/** Far longer than anything here takes on a busy host. */
export const PATIENCE_MS = 240_000;
const LOOK_MS = 30;

/**
 * Resolves to the first true value of `look`. The error message contains `name` and the value to
 * which `describe` resolves.
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
