import assert from "node:assert/strict";
import test from "node:test";
import { shownHost } from "../js/host-name.js";

const encoded = (host) => new URL(`https://${host}`).hostname;

test("a host is shown in its script where the script shows what it is", () => {
  for (const host of [
    "example.com", "www.bücher.de", "日本語.jp", "ελλάδα.gr", "президент.рф", "한국어.kr", "東京タワー.jp",
    "例え-abc.jp", "tシャツ通販.jp", "مثال.com", "उदाहरण.भारत", "ไทย.th", "აბგ.ge", "ısparta.com.tr",
    // All letters look like Latin ones, but the top-level domain has the same script.
    "аррӏе.рф",
  ]) {
    assert.equal(shownHost(encoded(host)), host);
  }
});

test("a host of mixed or confusable scripts is shown in Punycode", () => {
  for (const host of [
    "аррӏе.com", "pаypal.com", "gооgle.com", "ɡoogle.com", "соре.com", "ορια.com", "ノgoogle.com",
    "apple一.com", "x😀.ws", "mail.pаypal.com", "paypaı.com", "ǃogin.com", "ƿaypal.com",
  ]) {
    assert.equal(shownHost(encoded(host)), encoded(host), host);
  }
  assert.equal(shownHost(encoded("бank.рф")), "xn--ank-9cd.рф");
  assert.equal(shownHost(encoded("bücher.pаypal.com")), "bücher.xn--pypal-4ve.com");
});
