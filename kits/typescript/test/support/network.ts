// A network between the kit and its database that fails at a chosen chunk.

import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { after } from "node:test";

/** Fault is what happens at the nth chunk in a direction, counted from when it is set. */
export interface Fault {
  readonly at: number;
  readonly to: "server" | "client";
  readonly how: "cut" | "stall";
}

/** Network forwards connections to a server. */
export class Network {
  fault: Fault | undefined;
  /** The fault has happened. */
  struck = false;
  #chunks = 0;
  readonly #sockets = new Set<Socket>();

  private constructor(readonly port: number) {}

  static async start(host: string, port: number): Promise<Network> {
    const server = createServer((client) => {
      const upstream = connect(port, host);
      network.#join(client, upstream, "server");
      network.#join(upstream, client, "client");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const network = new Network((server.address() as AddressInfo).port);
    after(() => {
      server.close();
      network.#sockets.forEach((socket) => socket.destroy());
    });
    return network;
  }

  /** fail sets the next fault; undefined heals the network for new connections. */
  fail(fault: Fault | undefined): void {
    this.fault = fault;
    this.struck = false;
    this.#chunks = 0;
  }

  #join(from: Socket, to: Socket, direction: Fault["to"]): void {
    this.#sockets.add(from);
    let stalled = false;
    from.on("data", (chunk) => {
      const { fault } = this;
      if (fault?.to === direction && !this.struck && ++this.#chunks === fault.at) {
        this.struck = true;
        stalled = fault.how === "stall";
        if (!stalled) {
          from.destroy();
          to.destroy();
        }
      }
      if (!stalled && !to.destroyed) {
        to.write(chunk);
      }
    });
    from.on("error", () => {});
    from.on("close", () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
