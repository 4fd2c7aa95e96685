// See check-cloudformation.
const fs = require("fs"), http = require("http"), os = require("os"), path = require("path");
const { spawn, spawnSync } = require("child_process");
const cdk = require("aws-cdk-lib");
const { CfnInclude } = require("aws-cdk-lib/cloudformation-include");
const { AwsSolutionsChecks, NagSuppressions } = require("cdk-nag");

// What cdk-nag finds and the template means, with the reason of each.
const answered = [
  { id: "AwsSolutions-IAM5", reason: "X-Ray's two actions know no resources", appliesTo: ["Resource::*"] },
  { id: "AwsSolutions-IAM4", reason: "in a VPC, AWS's own policy for network interfaces", appliesTo: [{ regex: "/AWSLambdaENIManagementAccess/" }] },
  { id: "AwsSolutions-SQS3", reason: "it is the dead-letter queue, of Scheduler and of Lambda's destination, which the rule does not know" },
];

// findings are the errors and warnings of the construct tree.
function findings(app) {
  const out = [];
  for (const node of app.node.findAll()) {
    for (const m of node.node.metadata) if (/^aws:cdk:(error|warning)$/.test(m.type)) out.push(`${node.node.path}: ${m.data}`);
  }
  return out;
}

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
  NagSuppressions.addStackSuppressions(stack, answered);
  cdk.Aspects.of(app).add(new AwsSolutionsChecks({ verbose: true }));
  const out = app.synth().getStackByName("Stack").template;
  for (const [id, r] of Object.entries(template.Resources)) {
    const was = Object.keys(r.Properties).sort().join(), is = Object.keys(out.Resources[id].Properties ?? {}).sort().join();
    if (was !== is) throw new Error(`${id}: ${was} became ${is}: a property that the type does not have`);
  }
  const found = findings(app);
  if (found.length > 0) throw new Error(`${path.basename(file)}: cdk-nag finds\n${found.join("\n")}`);
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
  if (v["Fn::If"]) return plain(v["Fn::If"][2]); // the parameters' defaults: every condition is false
  if (v.Ref === "AWS::NoValue") return undefined;
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
