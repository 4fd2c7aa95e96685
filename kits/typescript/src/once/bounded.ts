// The time limit of work.

import { runTooLong } from "../errors.js";

/** bounded waits for fn for at most so long. What fn does after that finds its transaction closed. */
export async function bounded<T>(ms: number, fn: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = runTooLong();
      controller.abort(error);
      reject(error);
    }, ms);
  });
  try {
    return await Promise.race([fn(controller.signal), over]);
  } finally {
    clearTimeout(timer);
  }
}
