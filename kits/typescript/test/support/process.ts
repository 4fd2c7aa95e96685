// Programs that the tests run, and start again when they die.

import { spawn, execFileSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

export const repository = fileURLToPath(new URL("../../../../../", import.meta.url));
export const conformService = fileURLToPath(new URL("../../examples/conform.js", import.meta.url));

/** goPrograms builds commands of the repository and returns their directory. */
export function goPrograms(...packages: string[]): string {
  const directory = mkdtempSync(join(tmpdir(), "cronce-kit-"));
  after(() => rmSync(directory, { recursive: true }));
  execFileSync("go", ["build", "-buildvcs=false", "-o", `${directory}/`, ...packages], {
    cwd: repository,
    stdio: "inherit",
  });
  return directory;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Supervised is a program that is started again whenever it ends. */
export interface Supervised {
  readonly starts: number;
  kill(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
}

export function supervise(command: string, args: string[], env: Record<string, string>): Supervised {
  let child: ChildProcess;
  let starts = 0;
  let stopping = false;
  let ended: () => void = () => {};
  const start = () => {
    starts++;
    child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "inherit"] });
    child.once("exit", () => (stopping ? ended() : setTimeout(start, 50)));
  };
  start();
  const supervised: Supervised = {
    get starts() {
      return starts;
    },
    kill: (signal) => void child.kill(signal),
    stop: () =>
      new Promise((resolve) => {
        ended = resolve;
        stopping = true;
        if (child.exitCode !== null || child.signalCode !== null) {
          resolve();
        }
        child.kill("SIGKILL");
      }),
  };
  after(() => supervised.stop());
  return supervised;
}

/** eventually tries until fn succeeds, for at most a minute. */
export async function eventually<T>(fn: () => Promise<T>): Promise<T> {
  const end = Date.now() + 60_000;
  for (;;) {
    try {
      return await fn();
    } catch (error) {
      if (Date.now() > end) {
        throw error;
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
