// Prints the part of a Terraform provider's schema that the configurations given
// as arguments use, from the types that @cdktf/provider-aws generates from that
// schema. See check-terraform.
const fs = require("fs"), path = require("path");
const root = path.dirname(require.resolve("@cdktf/provider-aws/package.json"));

const snake = (name) => name.replace(/[A-Z]/g, (c) => "_" + c.toLowerCase());

// interfaces are those of a declaration file: each property with its name in
// Terraform, its type, and whether it is required.
function interfaces(text) {
  const out = {};
  for (const [, name, body] of text.matchAll(/export interface (\w+)[^{]*\{([\s\S]*?)\n\}/g)) {
    out[name] = [...body.matchAll(/#(\w+) \w+#\w+\}[^/]*\*\/\s+readonly \w+(\??): ([^;]+(?:;\s*\})?)/g)]
      .map(([, attribute, optional, type]) => ({ attribute, type: type.trim(), required: optional === "" }));
  }
  return out;
}

function shape(all, name) {
  const out = {};
  for (const { attribute, type, required } of all[name]) out[attribute] = { ...kind(all, type), ...(required && { required }) };
  return out;
}

function kind(all, type) {
  const named = type.split(/\W+/).find((word) => all[word]);
  if (named) return { block: shape(all, named), ...(!/\[\]/.test(type) && { single: true }) };
  if (/\[key: string\]/.test(type)) return { type: "map" };
  if (/\[\]/.test(type)) return { type: "list" };
  return { type: /boolean/.test(type) ? "bool" : type.split(" ")[0] };
}

const types = new Set();
for (const file of process.argv.slice(2)) {
  const c = JSON.parse(fs.readFileSync(file, "utf8"));
  for (const type of Object.keys(c.resource)) types.add(type);
  for (const type of Object.keys(c.data)) types.add("data." + type);
}
const schema = {};
for (const type of [...types].sort()) {
  const folder = type.replace(/^data\.aws_/, "data-aws-").replace(/^aws_/, "").replaceAll("_", "-");
  const text = fs.readFileSync(path.join(root, "lib", folder, "index.d.ts"), "utf8");
  const all = interfaces(text);
  const config = Object.keys(all).find((name) => new RegExp(`export interface ${name} extends cdktf.TerraformMetaArguments`).test(text));
  const main = text.slice(text.lastIndexOf("export declare class"));
  const attributes = [...main.matchAll(/^ +get (\w+)\(\): (?:string|number|cdktf\.IResolvable);/gm)].map(([, name]) => snake(name)).filter((n) => !n.endsWith("_input"));
  schema[type] = { arguments: shape(all, config), attributes: [...new Set(attributes)].sort() };
}
const { version } = require("@cdktf/provider-aws/package.json");
const provider = /providers\/hashicorp\/aws\/([0-9.]+)/.exec(fs.readFileSync(path.join(root, "lib", "sqs-queue", "index.d.ts"), "utf8"))[1];
console.log(JSON.stringify({ source: `hashicorp/aws ${provider}, as the types of the npm package @cdktf/provider-aws ${version} have it`, types: schema }, null, 1));
