// Waiting for something observable, with a bound and a name for the failure message.
import { setTimeout as pause } from 'node:timers/promises';

import { slow } from './paths.mjs';

// Asks `probe` until it answers something truthy, which is returned. An exception counts as "not
// yet"; the last one is shown when the time is over.
export async function eventually(what, probe, milliseconds = 10_000) {
  const end = Date.now() + milliseconds * slow;
  let last;
  for (;;) {
    try {
      const value = await probe();
      if (value) return value;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() >= end) {
      throw new Error(`${what}: not within ${milliseconds * slow} ms` +
        (last ? ` (last: ${last.message})` : ''));
    }
    await pause(20);
  }
}

export async function within(what, milliseconds, promise) {
  let timer;
  const limit = new Promise((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${what}: not within ${milliseconds * slow} ms`)),
      milliseconds * slow);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}
