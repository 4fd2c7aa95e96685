import type { Store } from "@cronce/idempotency";

/** intercepted is a store with one method of the test's own, which gets the store's. */
export function intercepted<Tx, M extends keyof Store<Tx>>(
  store: Store<Tx>,
  method: M,
  by: (call: () => ReturnType<Store<Tx>[M]>) => ReturnType<Store<Tx>[M]>,
): Store<Tx> {
  return new Proxy(store, {
    get(target, name) {
      const own = (Reflect.get(target, name) as (...args: unknown[]) => ReturnType<Store<Tx>[M]>).bind(target);
      return name === method ? (...args: unknown[]) => by(() => own(...args)) : own;
    },
  });
}
