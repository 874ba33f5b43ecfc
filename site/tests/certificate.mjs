// Makes a self-signed certificate for servers on loopback.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** With TLS browsers use HTTP/2, as with a CDN, and can frame pages. */
export function makeCertificate() {
  const folder = mkdtempSync(join(tmpdir(), "everytab-certificate-"));
  const file = (name) => join(folder, name);
  const made = spawnSync("openssl", [
    "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
    "-days", "2", "-subj", "/CN=127.0.0.1", "-keyout", file("key"), "-out", file("cert"),
  ], { stdio: "ignore" });
  if (made.status !== 0) throw new Error("openssl could not make a certificate");
  const tls = { key: readFileSync(file("key")), cert: readFileSync(file("cert")) };
  rmSync(folder, { recursive: true });
  return tls;
}
