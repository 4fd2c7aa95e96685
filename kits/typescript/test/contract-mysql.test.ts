import { contract } from "./contract/contract.js";
import { mariaDB } from "./contract/engines.js";
import { frameworks } from "./contract/frameworks.js";

await contract(await mariaDB(), frameworks);
