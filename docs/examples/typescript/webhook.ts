/**
 * Receives webhooks from a crawl service, verifies them, and prints each event as a line of JSON.
 *
 *     SECRET=whsec_... node build/webhook.js 127.0.0.1:9000
 *
 * Use a reverse proxy for TLS. An event may arrive more than once with the same id, so store the ids
 * of processed events.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

const SECRET = Buffer.from((process.env.SECRET ?? "").replace(/^whsec_/, ""), "base64");
/** An older request may be a copy that an attacker recorded. */
const TOLERANCE_S = 300;
const MAX_BYTES = 1 << 20;

/** Returns whether the request was signed with the secret within the last minutes. */
function isGenuine(headers: IncomingHttpHeaders, body: Buffer): boolean {
  const header = (name: string): string => String(headers[name] ?? "");
  const sentAt = header("webhook-timestamp");
  if (!(Math.abs(Date.now() / 1000 - Number(sentAt || NaN)) <= TOLERANCE_S)) return false;
  const hmac = createHmac("sha256", SECRET);
  hmac.update(`${header("webhook-id")}.${sentAt}.`).update(body);
  const right = Buffer.from(`v1,${hmac.digest("base64")}`);
  // There are two signatures while the secret is being rotated.
  const given = header("webhook-signature").split(" ").map((one) => Buffer.from(one));
  return given.some((one) => one.length === right.length && timingSafeEqual(one, right));
}

/** Reads the body's bytes. Returns null if there are too many. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > MAX_BYTES) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** Prints a genuine event and returns 204. Returns 401 for others. */
async function receive(request: IncomingMessage): Promise<number> {
  const body = await bodyOf(request);
  if (body === null) return 413;
  if (!isGenuine(request.headers, body)) return 401;
  const event = JSON.parse(body.toString());
  console.log(JSON.stringify({ id: request.headers["webhook-id"], ...event }));
  return 204;
}

const server = createServer((request, response) => {
  receive(request).then(
    (status) => response.writeHead(status, { Connection: "close" }).end(),
    // The connection broke, or the body is not JSON. The sender will retry.
    () => response.destroy(),
  );
});
const [, host, port] = /^(.*):(\d+)$/.exec(process.argv[2]) ?? [];
server.listen(Number(port), host, () => {
  const { address, port } = server.address() as AddressInfo;
  console.error(`listening on ${address}:${port}`);
});
