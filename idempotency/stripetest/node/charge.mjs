// Makes charges with stripe-node, eight at once, and prints of each what it was
// told: a line of JSON with the operation, and the charge or the error.
import Stripe from "stripe";

const { url, apiKey, retries, operations } = JSON.parse(process.argv[2]);
const { protocol, hostname, port } = new URL(url);
const stripe = new Stripe(apiKey, {
  protocol: protocol.slice(0, -1), host: hostname, port,
  maxNetworkRetries: retries, timeout: 300_000, telemetry: false,
});
// No pause between the retries.
stripe.getInitialNetworkRetryDelay = () => 0;
stripe.getMaxNetworkRetryDelay = () => 0;

async function charge({ operation, amount, key }) {
  try {
    const { id } = await stripe.charges.create({ amount, currency: "eur", description: operation }, key ? { idempotencyKey: key } : {});
    return { operation, id };
  } catch (e) {
    return { operation, error: { type: e.type, code: e.code, status: e.statusCode, message: e.message } };
  }
}

const next = operations.values();
await Promise.all(Array.from({ length: 8 }, async () => {
  for (const operation of next) {
    console.log(JSON.stringify(await charge(operation)));
  }
}));
// The answers that were not read, since their calls were repeated, hold their connections open.
process.exit();
