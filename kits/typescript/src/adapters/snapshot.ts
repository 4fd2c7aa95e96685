// Puts an object back as it was, with what its containers contain.

type Properties = Record<PropertyKey, unknown>;

/**
 * snapshotOf returns a function that puts the object's own properties back, and
 * what is in the maps, sets, lists and plain objects among them.
 */
export function snapshotOf(object: object): () => void {
  const restore = propertiesOf(object);
  const contents = Reflect.ownKeys(object).map((key) => contentsOf((object as Properties)[key]));
  return () => {
    restore();
    contents.forEach((put) => put());
  };
}

function propertiesOf(object: object): () => void {
  const before = { ...object } as Properties;
  return () => {
    for (const key of Reflect.ownKeys(object).filter((k) => !(k in before))) {
      delete (object as Properties)[key];
    }
    Object.assign(object, before);
  };
}

function contentsOf(value: unknown): () => void {
  if (Object.isFrozen(value)) {
    return () => {};
  }
  if (value instanceof Map || value instanceof Set) {
    const before = [...(value as Iterable<never>)];
    return () => {
      value.clear();
      before.forEach((one) => (value instanceof Map ? value.set(...(one as [unknown, unknown])) : value.add(one)));
    };
  }
  if (Array.isArray(value)) {
    const before = [...(value as unknown[])];
    return () => void value.splice(0, value.length, ...before);
  }
  const prototype: unknown = typeof value === "object" && value !== null && Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null ? propertiesOf(value as object) : () => {};
}
