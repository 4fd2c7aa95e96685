import { contract } from "./contract/contract.js";
import { postgres } from "./contract/engines.js";

await contract(await postgres());
