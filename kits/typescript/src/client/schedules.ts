// A client for the schedules that an application makes in cronce at run time. It needs
// nothing of Node.js but fetch. Every change may be repeated.

/** SchedulesOptions say which server is asked, and as whom. */
export interface SchedulesOptions {
  /** Of the server, such as https://cronce.example.com. */
  readonly url: string;
  /** A token of the role scheduler; none on the server's own machine. */
  readonly token?: string;
  /** Who acts, where no token proves it. */
  readonly by?: string;
  /** For how long a request is repeated that was not answered, in milliseconds; default 30 s. */
  readonly retryForMs?: number;
  /** Default: the global fetch. */
  readonly fetch?: typeof fetch;
}

/** Schedule is when cronce makes the call of a template for one key, and with which data. */
export interface Schedule {
  /** As in the registry: crontab fields, "@every 1h", or `at(…)` for one call. */
  readonly schedule: string;
  /** IANA name; default: the template's. */
  readonly timezone?: string;
  readonly dst?: "once" | "skip" | "wall";
  /** At most 16 KiB as JSON. */
  readonly data?: Readonly<Record<string, unknown>>;
  /** No later scheduled time runs; whole seconds. */
  readonly until?: Date;
  /**
   * A number of your own that rises with each change, such as the version of a row. A
   * change with a lower one than the stored is refused (`later_generation`), so that
   * changes may arrive in any order.
   */
  readonly generation?: number;
}

/** Change is one of {@link Schedules.putMany}. */
export type Change =
  ({ readonly key: string } & Schedule) | { readonly key: string; readonly delete: true; readonly generation?: number };

/** Stored is a schedule as the server has it. */
export interface Stored {
  readonly jobId: string;
  readonly key: string;
  readonly schedule: string;
  readonly timezone: string;
  readonly data?: Record<string, unknown>;
  readonly generation?: number;
  readonly revision: number;
  readonly state: "active" | "paused" | "ended" | "disabled" | "unfit" | "orphaned";
  /** RFC 3339; "": none. */
  readonly next: string;
}

/** Effect is what a change did. */
export type Effect = "created" | "changed" | "unchanged" | "deleted";

/** Result is what became of a {@link Change}. */
export type Result =
  | { readonly key: string; readonly result: Effect; readonly revision: number }
  | { readonly key: string; readonly error: { readonly code: string; readonly detail: string } };

/** ScheduleError is a request that the server refused. */
export class ScheduleError extends Error {
  override readonly name = "ScheduleError";

  constructor(
    /** Of HTTP. */
    readonly status: number,
    /** Stable: later_generation, too_many_schedules, unknown_schedule and others. */
    readonly code: string,
    detail: string,
  ) {
    super(detail);
  }
}

/**
 * at is the schedule of one call at a time. For a call after a delay, add the delay to a
 * time that you have stored: a repetition then says the same.
 */
export function at(time: Date): { schedule: string; timezone: string } {
  return { schedule: `at(${time.toISOString().slice(0, 19)})`, timezone: "UTC" };
}

/** Schedules changes the schedules of a cronce server. */
export class Schedules {
  readonly #base: string;
  readonly #options: SchedulesOptions;

  constructor(options: SchedulesOptions) {
    const url = new URL(options.url);
    if (url.username !== "" || url.search !== "") {
      throw new TypeError("url must be that of a cronce server, without user and query");
    }
    this.#base = options.url.replace(/\/$/, "");
    this.#options = options;
  }

  /**
   * put makes the schedule, or replaces it as a whole. It takes effect at once, and never
   * for the past. The same put again changes nothing.
   */
  async put(template: string, key: string, schedule: Schedule): Promise<Stored & { result: Effect }> {
    const body = JSON.stringify({ ...fields(schedule), ...this.#by() });
    return this.#ask("PUT", path(template, key), "application/json", body, (text) => JSON.parse(text));
  }

  /** get is a schedule, or undefined. */
  async get(template: string, key: string): Promise<Stored | undefined> {
    try {
      return await this.#ask("GET", path(template, key), "", undefined, (text) => JSON.parse(text));
    } catch (e) {
      if (e instanceof ScheduleError && e.code === "unknown_schedule") {
        return undefined;
      }
      throw e;
    }
  }

  /** delete deletes a schedule; its runs stay. */
  async delete(template: string, key: string, generation?: number): Promise<void> {
    const query = new URLSearchParams(this.#by());
    if (generation !== undefined) {
      query.set("generation", String(generation));
    }
    await this.#ask("DELETE", `${path(template, key)}?${query}`, "", undefined, (text) => JSON.parse(text));
  }

  /**
   * putMany makes many changes. The results are in their order; one that is refused changes
   * nothing of the others. If it throws, some may have been made: send all again.
   */
  async putMany(template: string, changes: readonly Change[]): Promise<Result[]> {
    const body = changes.map((c) => JSON.stringify("delete" in c ? c : { ...fields(c), key: c.key }) + "\n").join("");
    const query = new URLSearchParams(this.#by());
    return this.#ask("POST", `${path(template)}?${query}`, "application/x-ndjson", body, (text) => {
      const results = text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as Result);
      if (results.length !== changes.length) {
        throw new Error(`the answer has ${results.length} lines for ${changes.length} changes`);
      }
      return results;
    });
  }

  #by(): Record<string, string> {
    return this.#options.by === undefined ? {} : { by: this.#options.by };
  }

  /** ask repeats a request until it is answered for good or retryForMs is over. */
  async #ask<T>(
    method: string,
    address: string,
    media: string,
    body: string | undefined,
    read: (text: string) => T,
  ): Promise<T> {
    const until = performance.now() + (this.#options.retryForMs ?? 30_000);
    for (let wait = 200; ; wait = Math.min(2 * wait, 5000)) {
      try {
        return await this.#once(method, address, media, body, read);
      } catch (e) {
        const final = e instanceof ScheduleError && ![429, 502, 503, 504].includes(e.status);
        if (final || performance.now() + wait > until) {
          throw e;
        }
      }
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  async #once<T>(
    method: string,
    address: string,
    media: string,
    body: string | undefined,
    read: (text: string) => T,
  ): Promise<T> {
    const headers: Record<string, string> = {};
    if (media !== "") {
      headers["Content-Type"] = media;
    }
    if (this.#options.token !== undefined) {
      headers["Authorization"] = `Bearer ${this.#options.token}`;
    }
    const send = this.#options.fetch ?? fetch;
    const answer = await send(this.#base + address, {
      method,
      headers,
      redirect: "manual", // it could take the token elsewhere
      signal: AbortSignal.timeout(30_000),
      ...(body === undefined ? {} : { body }),
    });
    const text = await answer.text();
    if (!answer.ok) {
      throw refused(answer.status, text);
    }
    return read(text);
  }
}

/** fields are those of a change, with times as the API takes them. */
function fields(s: Schedule): Record<string, unknown> {
  const { schedule, timezone, dst, data, until, generation } = s;
  return { schedule, timezone, dst, data, until: until?.toISOString().replace(/\.\d+/, ""), generation };
}

function path(template: string, key?: string): string {
  const all = `/v1/jobs/${encodeURIComponent(template)}/schedules`;
  return key === undefined ? all : `${all}/${encodeURIComponent(key)}`;
}

function refused(status: number, text: string): ScheduleError {
  try {
    const problem = JSON.parse(text) as { code?: unknown; detail?: unknown };
    if (typeof problem.code === "string") {
      return new ScheduleError(status, problem.code, String(problem.detail));
    }
  } catch {
    // not an answer of the API
  }
  return new ScheduleError(status, "", `the server answered HTTP ${status}`);
}
