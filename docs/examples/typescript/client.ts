/**
 * Sends requests to a crawl service with fetch. The other programs in this directory import it.
 *
 * The environment has the service's address and the key: API=http://127.0.0.1:8088 KEY=et_..._...
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

const { API, KEY } = process.env;
const TRIES = 5;
/** A daily quota may be used up for hours. Report this instead of waiting. */
const PATIENCE_S = 120;
/** A request may wait for up to 60 seconds. */
const TIMEOUT_MS = 90_000;

/** An error response. docs/api.md lists the values of `code`. */
export class Problem extends Error {
  constructor(readonly code: string, detail: string) {
    super(`${code}: ${detail}`);
  }
}

/**
 * Sends a request, retries it after `Retry-After`, and returns the response's JSON.
 * Throws a Problem if the service rejects the request.
 */
export async function call<T>(method: "GET" | "POST", path: string, body?: object): Promise<T> {
  const headers = {
    Authorization: `Bearer ${KEY}`,
    "Content-Type": "application/json",
    // With this key, a POST whose response was lost is performed only once.
    "Idempotency-Key": randomUUID(),
  };
  for (let tries = 1; ; tries++) {
    let answer: Response;
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      answer = await fetch(API + path, { method, headers, body: JSON.stringify(body), signal });
    } catch (error) {
      // The service is unreachable. It may be restarting.
      if (tries === TRIES) throw error;
      await sleep(2_000);
      continue;
    }
    if (answer.ok) return (await answer.json()) as T;
    // Responses with 429 and 503 say when to retry.
    const pauseS = Number(answer.headers.get("Retry-After") ?? Infinity);
    if (tries === TRIES || !(pauseS <= PATIENCE_S)) throw await problemOf(answer);
    await answer.body?.cancel();
    await sleep(pauseS * 1_000);
  }
}

/** Converts a response to an error. A proxy may have sent it without a problem document. */
async function problemOf(answer: Response): Promise<Error> {
  if (answer.headers.get("Content-Type") !== "application/problem+json") {
    return new Error(`${answer.url}: ${answer.status} ${answer.statusText}`);
  }
  const problem = (await answer.json()) as { code: string; title: string; detail?: string };
  return new Problem(problem.code, problem.detail ?? problem.title);
}

/** Reports an error, and sets the exit code. Only a Problem is reported without its stack. */
export function fail(error: unknown): void {
  console.error(error instanceof Problem ? error.message : error);
  process.exitCode = 1;
}
