import { contract } from "./contract.js";
import { mariaDB } from "./engines.js";
import { frameworks } from "./frameworks.js";

await contract(await mariaDB(), frameworks);
