// See check-cloudformation.
const fs = require("fs"), http = require("http"), os = require("os"), path = require("path");
const { spawn, spawnSync } = require("child_process");
const cdk = require("aws-cdk-lib");
const { CfnInclude } = require("aws-cdk-lib/cloudformation-include");

function typed(file) {
  const template = JSON.parse(fs.readFileSync(file, "utf8"));
  // `aws cloudformation package` puts the zip's place in S3 here.
  template.Resources.Function.Properties.Code = { S3Bucket: "bucket", S3Key: "key" };
  const copy = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "cfn-")), "template.json");
  fs.writeFileSync(copy, JSON.stringify(template));
  const app = new cdk.App(), stack = new cdk.Stack(app, "Stack");
  const included = new CfnInclude(stack, "Included", { templateFile: copy });
  for (const [id, r] of Object.entries(template.Resources)) {
    const resource = included.getResource(id);
    if (resource.constructor.name === "CfnResource") throw new Error(`${id}: ${r.Type} has no typed class`);
  }
  const out = app.synth().getStackByName("Stack").template;
  for (const [id, r] of Object.entries(template.Resources)) {
    const was = Object.keys(r.Properties).sort().join(), is = Object.keys(out.Resources[id].Properties ?? {}).sort().join();
    if (was !== is) throw new Error(`${id}: ${was} became ${is}: a property that the type does not have`);
  }
  console.log(`${path.basename(file)}: ${Object.keys(template.Resources).length} typed resources`);
  return template;
}

// plain puts an ARN in the place of what CloudFormation would resolve.
function plain(v) {
  if (Array.isArray(v)) return v.map(plain);
  if (v === null || typeof v !== "object") return v;
  if (v["Fn::GetAtt"]) {
    const name = v["Fn::GetAtt"][0];
    return name.endsWith("Role") ? `arn:aws:iam::123456789012:role/${name}`
      : name === "DeadLetters" ? "arn:aws:sqs:eu-west-1:123456789012:dead" : "arn:aws:lambda:eu-west-1:123456789012:function:f";
  }
  if (v.Ref) return v.Ref;
  return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, plain(x)]));
}

function aws(args, env) {
  return new Promise((done) => {
    const p = spawn("aws", args, { env });
    let text = "";
    p.stdout.on("data", (d) => (text += d));
    p.stderr.on("data", (d) => (text += d));
    p.on("close", (code) => done({ code, text }));
  });
}

async function validated(templates) {
  if (spawnSync("aws", ["--version"]).error) return console.log("no AWS CLI here: its validation is not part of this check");
  const taken = [];
  const server = http.createServer((req, res) => {
    taken.push(`${req.method} ${req.url}`);
    req.resume();
    req.on("end", () => res.setHeader("Content-Type", "application/json").end('{"ScheduleArn":"arn:aws:scheduler:eu-west-1:123456789012:schedule/g/s"}'));
  });
  await new Promise((r) => server.listen(0, "127.0.0.1", r));
  const endpoint = `http://127.0.0.1:${server.address().port}`;
  const env = { ...process.env, AWS_ACCESS_KEY_ID: "none", AWS_SECRET_ACCESS_KEY: "none", AWS_EC2_METADATA_DISABLED: "true", AWS_PAGER: "" };
  let n = 0;
  for (const t of templates) {
    for (const [id, r] of Object.entries(t.Resources)) {
      if (r.Type !== "AWS::Scheduler::Schedule") continue;
      const input = JSON.stringify({ Name: id, ...plain(r.Properties) });
      const got = await aws(["scheduler", "create-schedule", "--region", "eu-west-1", "--endpoint-url", endpoint, "--cli-input-json", input], env);
      if (got.code !== 0) throw new Error(`${id}: the AWS CLI refuses it: ${got.text}`);
      n++;
    }
  }
  server.close();
  if (taken.length !== n) throw new Error(`${taken.length} requests for ${n} schedules`);
  console.log(`${n} schedules pass the AWS CLI's validation`);
}

const files = process.argv.slice(2);
if (files.length === 0) throw new Error("no templates");
validated(files.map(typed)).catch((e) => { console.error(e.message); process.exit(1); });
