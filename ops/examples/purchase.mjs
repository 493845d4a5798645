#!/usr/bin/env node
// Registers a purchase, waits for its result, and reads what the customer may use: purchase.mjs CUSTOMER TRANSACTION
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

async function call(method, path, body, more = {}) {
  const headers = { "X-Publisher-Token": process.env.PUBLISHER_TOKEN, "Content-Type": "application/json", ...more };
  for (let attempt = 0; attempt < 20; attempt++) {
    // The server is busy (429) or cannot answer (503, no answer): the same request again.
    const signal = AbortSignal.timeout(10_000);
    const answer = await fetch(process.env.API_URL + path, { method, headers, body, signal }).catch(() => undefined);
    if (answer?.ok || answer?.status === 409) return { answer, json: await answer.json() };
    if (answer && ![429, 503].includes(answer.status))
      throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    await sleep(1000 * (answer?.headers.get("Retry-After") ?? 1));
  }
  throw new Error(`${method} ${path}: no answer after 20 attempts ${more["Correlation-Id"] ?? ""}`);
}

const [customerId, transactionId] = process.argv.slice(2);
if (!transactionId) throw new Error("purchase.mjs CUSTOMER TRANSACTION");
// Each attempt has the same id, so the purchase is registered once. After a 409, another registration of it is running.
const registered = await call("POST", "/storekit2/purchases", JSON.stringify({ customerId, transactionId }),
  { "Correlation-Id": randomUUID() });
const location = registered.json.instance ?? registered.answer.headers.get("Location");
let status = await call("GET", location);
for (; status.json.status !== "finalized"; status = await call("GET", location))
  await sleep(1000 * status.answer.headers.get("Retry-After"));
console.log(status.json.result);
const { json } = await call("GET", `/customers/${encodeURIComponent(customerId)}/entitlements`);
for (const { offerId, accessGranted } of json.entitlements)
  console.log(offerId, accessGranted ? "may be used" : "may not be used");
