import { contract } from "./contract.js";
import { postgres } from "./engines.js";
import { frameworks } from "./frameworks.js";

await contract(await postgres(), frameworks);
