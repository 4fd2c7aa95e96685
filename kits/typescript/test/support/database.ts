// A fresh schema on a real server for each test file.

import { randomBytes } from "node:crypto";
import { after } from "node:test";
import { keysTable, PgStore } from "@cronce/idempotency/pg";
import { mysqlKeysTable, MysqlStore } from "@cronce/idempotency/mysql2";
import { createPool, type RowDataPacket } from "mysql2/promise";
import pg from "pg";

export function testURL(name: "TEST_POSTGRES_URL" | "TEST_MYSQL_URL"): string {
  const url = process.env[name];
  if (!url) {
    throw new Error(
      `${name} is not set: run make test-node, or name a server with an account that may create databases`,
    );
  }
  return url;
}

/** Database is a schema with the table of the keys and one of effects. */
export interface Database {
  readonly url: string;
  readonly schema: string;
  readonly pool: pg.Pool;
  readonly store: PgStore;
  /** Counts the effects of an operation, or all. */
  effects(operation?: string): Promise<number>;
}

export async function database(): Promise<Database> {
  const url = testURL("TEST_POSTGRES_URL");
  const schema = `node_${randomBytes(6).toString("hex")}`;
  const pool = new pg.Pool({ connectionString: url, options: `-c search_path=${schema}`, max: 12 });
  pool.on("error", () => {}); // a test may end idle connections
  await pool.query(`CREATE SCHEMA ${schema}; ${keysTable({ schema })};
    CREATE TABLE ${schema}.effects (operation text NOT NULL)`);
  after(async () => {
    await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    await pool.end();
  });
  return {
    url,
    schema,
    pool,
    store: new PgStore(pool, { schema }),
    effects: async (operation) => {
      const sql = "SELECT count(*) AS n FROM effects WHERE $1::text IS NULL OR operation = $1";
      return Number((await pool.query<{ n: string }>(sql, [operation ?? null])).rows[0]!.n);
    },
  };
}

export const insert = "INSERT INTO effects VALUES ($1)";

/** connection reads a DSN of go-sql-driver, user:password@tcp(host:port)/, or a URL. */
function connection(): { host: string; port: number; user: string; password: string } {
  const dsn = testURL("TEST_MYSQL_URL");
  const [, user, password, host, port] = /^(?:mysql:\/\/)?([^:@]*):?([^@]*)@(?:tcp\()?([^:)/]+):?(\d*)/.exec(dsn) ?? [];
  return { host: host!, port: Number(port || 3306), user: user!, password: password ?? "" };
}

/** mysqlDatabase is a database with the table of the keys and one of effects. */
export async function mysqlDatabase() {
  const name = `node_${randomBytes(6).toString("hex")}`;
  const admin = createPool({ ...connection(), connectionLimit: 1 });
  await admin.query(`CREATE DATABASE ${name}`);
  const pool = createPool({ ...connection(), database: name, connectionLimit: 10 });
  await pool.query(mysqlKeysTable().trim().replace(/;$/, ""));
  await pool.query("CREATE TABLE effects (operation VARCHAR(100) NOT NULL) ENGINE = InnoDB");
  after(async () => {
    await pool.end();
    await admin.query(`DROP DATABASE ${name}`);
    await admin.end();
  });
  const effects = async (operation: string) => {
    const sql = "SELECT count(*) AS n FROM effects WHERE operation = ?";
    return Number((await pool.query<RowDataPacket[]>(sql, [operation]))[0][0]!["n"]);
  };
  return { pool, config: { ...connection(), database: name }, store: new MysqlStore(pool), effects };
}
