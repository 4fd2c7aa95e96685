// What has to compile in CommonJS, also without the types of ES modules. Nothing of it runs.

import idempotency = require("@cronce/idempotency");
import adapter = require("@cronce/idempotency/express");
import stores = require("@cronce/idempotency/pg");

const route = (pool: import("pg").Pool) => {
  const kit = new idempotency.Kit(new stores.PgStore(pool));
  const idempotent = adapter.expressIdempotency(kit, { principal: adapter.singlePrincipal("shop") });
  return idempotent({ scope: "pay" }, async (request, response, tx) => {
    await tx.query("SELECT $1", [request.params["id"]]);
    response.status(201).end();
  });
};

export = route;
