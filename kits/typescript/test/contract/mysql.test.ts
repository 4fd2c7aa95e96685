// The adapters do not know the database: one framework of each kind is enough on this one.

import { contract } from "./contract.js";
import { mariaDB } from "./engines.js";
import { frameworks } from "./frameworks.js";

const kinds = ["node:http", "Fastify 5", "Hono 4", "fetch"];
await contract(await mariaDB(), Object.fromEntries(kinds.map((kind) => [kind, frameworks[kind]!])));
