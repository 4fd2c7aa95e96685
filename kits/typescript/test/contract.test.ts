import { contract } from "./contract/contract.js";
import { postgres } from "./contract/engines.js";
import { frameworks } from "./contract/frameworks.js";

await contract(await postgres(), frameworks);
