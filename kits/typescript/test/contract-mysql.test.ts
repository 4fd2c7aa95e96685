import { contract } from "./contract/contract.js";
import { mariaDB } from "./contract/engines.js";

await contract(await mariaDB());
